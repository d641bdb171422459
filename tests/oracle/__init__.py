"""Tests of the oracle, its wire client and the comparison."""
