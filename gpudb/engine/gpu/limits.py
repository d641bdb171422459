"""Limits below which rows count as few. A module without imports, so that kernels can read it alone."""

from __future__ import annotations

HOST_ROWS = 1 << 16
"""Row limit for host execution."""
FEW_ROWS = 1 << 13
"""Row limit of all sources of a frame that is computed on the host in the midst of a stage."""
HOST_BYTES = 1 << 16
"""Byte limit for host execution of rows that go from stage to stage; a GPU takes longer for fewer bytes."""
