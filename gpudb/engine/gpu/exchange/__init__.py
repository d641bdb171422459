"""Rows on their way between stages and to the client: buffers, routing, transports and codecs."""

from __future__ import annotations
