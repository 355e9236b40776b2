"""LongMemEval: adapter, its own metric, presets and published figures; files for its judge script."""
