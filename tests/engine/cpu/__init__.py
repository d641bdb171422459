"""Tests of the embedded engine: loaded tables, file pruning, restarts and cached SQL."""
