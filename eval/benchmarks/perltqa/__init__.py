"""PerLTQA: adapter, presets and published figures."""
