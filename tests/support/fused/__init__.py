"""Queries, data and runners for fused kernels."""
