"""Make the questions of a show from its script by a chat model, as LongDialQA's were (Kim et al. 2024, section 3.1)."""
