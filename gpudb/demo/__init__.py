"""Demonstration data, seeded and of any size: taxi rides of New York, and the star schema benchmark.

Imports no other room of gpudb.
"""
