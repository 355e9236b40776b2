"""DialSim: adapter and presets."""
