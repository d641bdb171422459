"""Types: names as written, conversions, domains."""

from __future__ import annotations
