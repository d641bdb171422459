"""The functions that child processes serve: training, scoring, trying models from files, and making arrays of trees."""

from __future__ import annotations

from gpudb.analytics.importing import import_model
from gpudb.analytics.scoring import score
from gpudb.analytics.training import train
from gpudb.analytics.trees.compiling import compile_trees

__all__ = ["compile_trees", "import_model", "score", "train"]
