"""Compiles the bytes of a model into an ensemble of trees; a child process does it, with the model's library."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gpudb.analytics.trees.building import NotCompiled
from gpudb.analytics.trees.ensemble import TreeEnsemble
from gpudb.analytics.trees.forest_trees import read_forest
from gpudb.analytics.trees.lightgbm_trees import read_lightgbm
from gpudb.analytics.trees.xgboost_trees import read_xgboost

_READERS: Mapping[str, Callable[[bytes], TreeEnsemble]] = {
    "xgboost": read_xgboost,
    "lightgbm": read_lightgbm,
    "forest": read_forest,
}
FORMATS = frozenset(_READERS)
"""The formats of models that may be trees."""


def compile_trees(format: str, content: bytes) -> TreeEnsemble | None:
    """Returns the ensemble of a model of one of FORMATS; None if only its library scores rows."""
    try:
        return _READERS[format](content)
    except NotCompiled:
        return None
