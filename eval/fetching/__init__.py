"""Download the benchmarks' official files, or explain how to get them."""
