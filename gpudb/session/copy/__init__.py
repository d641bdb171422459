"""COPY, and functions that load files into tables or tables into workers' memory."""

from __future__ import annotations
