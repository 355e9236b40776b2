"""The benchmarks' official files, downloaded where that is possible and explained where it is not."""
