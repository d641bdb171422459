"""Tests of PL/Python, vectorised functions and PL/CUDA."""
