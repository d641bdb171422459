"""Statements that are made by rule, seeded: every operator and cast over edge values, typed expressions, queries.

Imports of gpudb only PostgreSQL's own tables of operators and casts.
"""
