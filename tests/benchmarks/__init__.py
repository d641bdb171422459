"""Tests of the benchmarks' basics: comparison of answers, result files and the report."""
