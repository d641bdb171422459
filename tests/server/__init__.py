"""The wire server: its protocol on bytes, its sockets with real clients, and its patience with broken ones."""
