"""Benchmarks of gpudb and its peers: data makers, queries, timed runs and their results."""
