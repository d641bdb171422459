"""What several GPUs are measured by, beside `benchmarks.compare`: loading, starting, and many clients."""
