"""Tests of sessions: transactions, cancellation, limits, settings, roles and concurrent clients."""
