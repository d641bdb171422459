"""Packed columns: values as byte-aligned distances from a base, raw text, zones of minima and maxima.

Kernels and NumPy read the same layout. Imports NumPy and `values.calendar` alone, besides `unsupported`.
"""
