"""Columns and frames in GPU memory: as CuPy arrays, to and from the host, packed into one buffer, decoded from codes.

May import `memory` of `cudf`.
"""

from __future__ import annotations
