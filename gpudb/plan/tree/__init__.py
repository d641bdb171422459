"""The plan's nodes, logical and of stages, and what traverses, rebuilds and analyses them."""

from __future__ import annotations
