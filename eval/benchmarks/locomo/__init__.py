"""LoCoMo: adapter and published figures."""
