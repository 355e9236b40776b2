"""What is learned from talk that is over: facts, relations, events, how somebody felt and where, and a summary.

`rules` and `by_model` draw it, `corrections` hears what was wrong, `learner` goes through the bank's queue of sessions.
"""
