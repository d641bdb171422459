"""The wire server: PostgreSQL's protocol 3.0 over TCP and TLS, on buenavista's server classes.

`messages` and `replies` parse and build bytes, `encode` makes DataRows, `conversation` is the protocol's
state machine without sockets, `auth` and `tls` let clients in, `handler` serves one client's socket, `server`
listens. Imports everything left of it and the session's face; nothing imports it but the command line.
"""
