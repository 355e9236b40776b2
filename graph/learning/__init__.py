"""Learn from finished sessions: facts, relations, events, feelings, scenes and a summary; and correct what was learned.

`from_rules` and `from_model` read a session, `model_items` checks what a model took from it, `learner` works through
the bank's queue of sessions, and `corrections` reads messages that correct or retract something.
"""
