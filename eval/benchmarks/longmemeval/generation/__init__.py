"""Make LongMemEval's questions and evidence sessions with a chat model (Wu et al., ICLR 2025, section 3.2 and A.1).

    1 attributes.json   an ontology of what can be asked about a user
    2 user.py           the user's background for one attribute, and all questions about it
    3 questions.py      questions with answers of six types, and the statements that each answer follows from
    4 sessions.py       a chat of the user with the assistant for each statement, in which it comes up by the way
    5 checks.py         in place of the authors' editing: what is doubtful goes, and is listed for a person
    6 abstention.py     questions with a false premise
    7 folder.py         the benchmark's file, as its adapter reads it; `python -m eval compile` makes its histories long

Deviations: where three people chose, rewrote and edited (5 % of the questions and 30 % of the sessions are as a model
wrote them), nothing is rewritten: the model scores and answers, rules check, and what fails goes. One model writes all
types; the authors took a second one for three of them. What an assistant told is invented like the rest. Questions are
asked on days of a year, not on one. Our copy of the paper does not print its ontology and prompts: ours are our own.
"""
