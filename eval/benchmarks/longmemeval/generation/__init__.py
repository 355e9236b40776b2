"""Make LongMemEval's questions and evidence sessions with a chat model (Wu et al., ICLR 2025, section 3.2 and A.1).

`recipe` makes a user's background for one attribute of an ontology and all questions about it, `sessions` the chats in
which their evidence comes up by the way. `python -m eval compile` makes the histories long.

Deviations: where three people chose, rewrote and edited (5 % of the questions and 30 % of the sessions are as a model
wrote them), nothing is rewritten: the model scores and answers, rules check, and what fails goes. One model writes all
types; the authors took a second one for three of them. What an assistant told is invented like the rest. Questions are
asked on days of a year, not on one. Our copy of the paper does not print its ontology and prompts: ours are our own.
"""
