"""Sessions: transactions, cancelling, limits, settings, roles, and many clients at once."""
