"""Tests of the wire server: the protocol on bytes, sockets with real clients, and malformed messages."""
