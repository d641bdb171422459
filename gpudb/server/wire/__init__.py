"""PostgreSQL's protocol 3.0 over TCP and TLS, on buenavista's server classes."""

from __future__ import annotations
