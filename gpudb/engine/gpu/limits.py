"""What counts as few rows, wherever they are; of no other module, so that kernels alone can know it."""

from __future__ import annotations

FEW = 1 << 16
"""So many rows are looked at on the host."""
FEW_BYTES = 1 << 16
"""Fewer bytes of rows that go from stage to stage are the host's, where few rows take less than on a GPU."""
