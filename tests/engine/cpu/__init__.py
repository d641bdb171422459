"""The CPU engine's own parts: loaded tables and the pruning of files."""
