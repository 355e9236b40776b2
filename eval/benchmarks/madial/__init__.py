"""MADial-Bench: adapter, its own metrics, presets and published figures."""
