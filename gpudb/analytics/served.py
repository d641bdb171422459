"""The functions that child processes serve: training, scoring, and trying models from files."""

from __future__ import annotations

from gpudb.analytics.importing import import_model
from gpudb.analytics.scoring import score
from gpudb.analytics.training import train

__all__ = ["import_model", "score", "train"]
