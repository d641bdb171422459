"""Rows in transit between stages and to the client: buffers, routing, transports and codecs.

Imports `fused` for the columns of a kernel's result, and the layers below it.
"""

from __future__ import annotations
