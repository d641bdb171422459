"""Seeded statements for fuzzing, and the comparison of their outcomes."""
