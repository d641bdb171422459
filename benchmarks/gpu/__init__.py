"""Measurements of several GPUs besides `benchmarks.compare`: loading, start-up and many clients."""
