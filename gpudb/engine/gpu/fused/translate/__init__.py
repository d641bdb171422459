"""Translates a plan's bound expressions, aggregates and build sides into the intermediate representation.

Imports `columns`, `ir` and `numpy_backend`; of the other rooms `lower` and `backend.base`.
"""
