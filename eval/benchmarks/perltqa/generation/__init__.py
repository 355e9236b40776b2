"""Make personas' memory banks, and questions about them, with a chat model (PerLTQA, Du et al. 2024)."""
