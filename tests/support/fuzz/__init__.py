"""Statements for fuzzing, drawn from a seed, and the comparison of their outcomes."""
