"""A fake of NVML's package."""
