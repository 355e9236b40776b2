"""LoCoMo: adapter, official F1 and published figures."""
