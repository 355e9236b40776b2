"""Learn from finished sessions: facts, relations, events, feelings, scenes and a summary; and correct what was learned.

`from_rules` and `from_model` read a session, `learner` works through the bank's queue of sessions, and `corrections`
carries out messages that correct or retract something.
"""
