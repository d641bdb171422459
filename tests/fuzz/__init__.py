"""Random and broken input: gpudb answers each with a clear error and goes on."""
