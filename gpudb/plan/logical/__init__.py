"""A bound query as a logical plan, block by block."""

from __future__ import annotations
