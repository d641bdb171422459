"""Types: literals, type names, and conversions of scalars, arrays, rows and domains."""

from __future__ import annotations
