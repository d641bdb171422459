"""Fused kernels at the size that they are for: pipelines planned on any machine, run on one with a GPU."""
