"""The histories of published benchmarks."""
