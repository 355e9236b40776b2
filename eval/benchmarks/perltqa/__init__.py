"""PerLTQA: its adapter and everything else that is its own."""
