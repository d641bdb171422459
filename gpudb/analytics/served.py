"""The functions that child processes serve: training, and scoring."""

from __future__ import annotations

from gpudb.analytics.scoring import score
from gpudb.analytics.training import train

__all__ = ["score", "train"]
