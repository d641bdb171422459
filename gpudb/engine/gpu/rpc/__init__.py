"""Calls between the coordinator and its workers: connections, authentication, messages and errors.

Imports only `figures` of this package.
"""

from __future__ import annotations
