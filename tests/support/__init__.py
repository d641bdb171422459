"""Shared helpers of tests: the oracle, clients, servers, labs, workloads, generators and comparisons.

Test modules import helpers from here, never from another test module.
"""
