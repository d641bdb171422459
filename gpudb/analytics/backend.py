"""The library that computes: cuML where a GPU and cuml are there, else scikit-learn, whose API cuML mirrors.

Nothing else knows which one it is: both take and return NumPy arrays.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any

from gpudb.analytics.devices import GPU
from gpudb.analytics.libraries import load_library


@dataclass(frozen=True, slots=True)
class Library:
    """The classes of estimators of one library."""

    name: str
    KMeans: Any
    DBSCAN: Any
    PCA: Any
    Ridge: Any
    LogisticRegression: Any
    NearestNeighbors: Any


@cache
def load_estimators() -> Library:
    """Returns cuML or scikit-learn; 0A000 if neither is installed."""
    if GPU.exists() and find_spec("cuml") is not None:
        load_library("cuml").set_global_output_type("numpy")
        return _gather("cuml", "cluster", "decomposition", "linear_model", "neighbors")
    return _gather("sklearn", "cluster", "decomposition", "linear_model", "neighbors")


def _gather(package: str, *modules: str) -> Library:
    cluster, decomposition, linear, neighbors = (load_library(f"{package}.{each}") for each in modules)
    return Library(
        package,
        cluster.KMeans,
        cluster.DBSCAN,
        decomposition.PCA,
        linear.Ridge,
        linear.LogisticRegression,
        neighbors.NearestNeighbors,
    )


@contextmanager
def quiet() -> Iterator[None]:
    """Drops the library's warnings about data, such as fewer distinct rows than clusters: results show it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
