"""Results of libraries for microbenchmarks."""
