"""Packed columns: values as byte-aligned distances from a base, UTF-8 texts, zones of minima and maxima.

The layout that kernels and NumPy both read. Imports NumPy and `values.calendar` alone.
"""
