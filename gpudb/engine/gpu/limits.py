"""What counts as few rows, wherever they are; of no other module, so that kernels alone can know it."""

from __future__ import annotations

FEW = 1 << 16
"""So many rows are looked at on the host."""
