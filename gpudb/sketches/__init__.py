"""Sketches: summaries of many values from which aggregates are estimated. Columns are NumPy arrays.

It imports only `exact`.
"""
