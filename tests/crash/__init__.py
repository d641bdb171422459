"""Crashes of the server program at random moments: acknowledged commits survive a restart, and none is partial."""
