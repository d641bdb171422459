"""Tests of the embedded engine's own parts: loaded tables, file pruning, restarts and kept SQL."""
