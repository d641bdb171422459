"""Benchmarks of gpudb and its peers: data generators, queries, timed runs and their results."""
