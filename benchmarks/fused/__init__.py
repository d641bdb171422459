"""Fused kernels at full size: pipelines planned on any machine, run on one with a GPU."""
