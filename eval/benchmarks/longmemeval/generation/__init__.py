"""Make LongMemEval's questions and evidence sessions with a chat model (Wu et al., ICLR 2025, section 3.2 and A.1).

    users.py       a user's background for one attribute of an ontology, `attributes.json`; questions of six types, the
                   statements that each answer follows from, questions with a false premise; the benchmark's file, as
                   its adapter reads it (`python -m eval compile` makes its histories long)
    sessions.py    the six types, and a question while it is made; a chat of the user with the assistant for each
                   statement, in which it comes up by the way; in place of the authors' editing: what is doubtful goes,
                   and is listed for a person

Deviations: where three people chose, rewrote and edited (5 % of the questions and 30 % of the sessions are as a model
wrote them), nothing is rewritten: the model scores and answers, rules check, and what fails goes. One model writes all
types; the authors took a second one for three of them. What an assistant told is invented like the rest. Questions are
asked on days of a year, not on one. Our copy of the paper does not print its ontology and prompts: ours are our own.
"""
