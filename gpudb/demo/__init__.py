"""Demonstration data: seeded taxi rides of New York, any number of them. Imports no other room of gpudb."""
