"""The console's page in a real browser."""
