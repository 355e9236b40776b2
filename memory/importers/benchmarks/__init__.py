"""Importers of the benchmarks' histories; their questions are read by `eval.benchmarks`."""
