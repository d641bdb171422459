"""PostgreSQL's protocol 3.0 over TCP and TLS, on buenavista's server classes.

`messages` parses and `replies` builds protocol messages, `encode` makes DataRows, `conversation` is the protocol's
state machine without sockets, `auth` and `tls` authenticate and encrypt, `handler` serves one client's socket, `server`
listens.
"""

from __future__ import annotations
