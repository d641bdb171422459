"""Rows in transit between stages and to the client: buffers, routing, transports and codecs.

Imports `rpc`, `cache`, `backend`, `lower` and what a kernel's result columns are from `fused`.
"""

from __future__ import annotations
