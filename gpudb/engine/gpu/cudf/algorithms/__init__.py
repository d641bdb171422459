"""Algorithms over columns in GPU memory: sorts, ASOF joins, distinct rows, exact numbers, integers.

May import `columns` and `memory` of `cudf`.
"""

from __future__ import annotations
