"""Demonstration data: seeded taxi rides of New York, as many as wanted. May import no other room of gpudb."""
