"""The server program killed at random moments: what it acknowledged is there after a restart, and nothing by halves."""
