"""Judgement of answers by a chat model, ours or LongMemEval's own script."""
