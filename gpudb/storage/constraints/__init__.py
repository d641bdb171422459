"""Keys and foreign keys, checked over the key columns alone."""

from __future__ import annotations
