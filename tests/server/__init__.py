"""The wire server: its protocol on bytes, its sockets with real clients, and its patience with broken ones.

`fake` is a database small enough to see through; the real one is used by `test_clients` beside it.
"""
