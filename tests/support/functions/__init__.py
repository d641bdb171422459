"""Calls of every documented function, and an embedded evaluator for them."""
