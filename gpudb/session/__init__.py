"""A client's session: statements are dispatched here, transactions, settings and prepared statements kept.

The Python API and the wire server are two faces of `Session`. Imports everything left of it, never the server.
"""
