"""Runs of benchmarks, kept as folders."""
