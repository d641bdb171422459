"""Bound queries: the engine computes them, and the session runs the calls that engines cannot, row by row where needed.

May import every other room of `execution`.
"""

from __future__ import annotations
