"""Make personas' memory banks, and questions about them, with a chat model (PerLTQA, Du et al. 2024, sections 3.1-3.2).

`bank` makes one persona's memories in six steps, `folder` the questions about them and the benchmark's files.
"""
