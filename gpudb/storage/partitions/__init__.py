"""Partitions of tables: which of them takes a row, which a condition leaves, and writing of rows into several.

`values` reads bounds and keys, `routing` finds rows' partitions, `pruning` those of a condition, `write` writes rows.
"""
