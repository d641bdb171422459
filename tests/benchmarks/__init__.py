"""Tests of what the benchmarks stand on: comparison of answers, result files, their report."""
