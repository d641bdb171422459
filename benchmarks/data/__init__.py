"""Generators of benchmark data: seeded, the same rows on any machine and for any partitioning. Imports no gpudb."""
