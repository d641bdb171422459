"""COPY and load_data: between tables and clients or server files."""

from __future__ import annotations
