"""Makers of benchmark data: seeded, the same rows on any machine, however cut. Import nothing of gpudb."""
