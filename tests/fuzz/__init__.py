"""Random and malformed input: gpudb answers each with a clear error and continues."""
