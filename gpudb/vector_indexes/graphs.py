"""Graphs of near neighbours (HNSW), by usearch."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from gpudb.analytics.libraries import load_library
from gpudb.vector_indexes.definition import IndexDefinition
from gpudb.vector_indexes.rows import Found, Matrix, Numbers

METRICS = {"l2": "l2sq", "ip": "ip", "cosine": "cos", "hamming": "hamming", "jaccard": "tanimoto"}
"""usearch's names of the distances that it has."""
_TOGETHER = 1 << 11


def make_graph(batches: Iterable[tuple[Numbers, Matrix]], definition: IndexDefinition) -> Any:
    """Returns usearch's index of rows."""
    degree, breadth = _shape(definition)
    index = load_library("usearch.index").Index(
        ndim=definition.dimensions,
        metric=METRICS[definition.metric],
        dtype="b1" if definition.of_bits else "f32",
        connectivity=degree,
        expansion_add=breadth,
    )
    for numbers, matrix in batches:
        # usearch holds the interpreter while it adds
        for start in range(0, len(numbers), _TOGETHER):
            part = slice(start, start + _TOGETHER)
            index.add(numbers[part].astype(np.uint64), matrix[part], threads=os.cpu_count() or 1)
    return index


def build(batches: Iterable[tuple[Numbers, Matrix]], definition: IndexDefinition, target: str) -> int:
    """Writes a graph of rows to a file; returns their number."""
    index = make_graph(batches, definition)
    index.save(target)
    return len(index)


def _shape(definition: IndexDefinition) -> tuple[int, int]:
    """Returns how many neighbours a node has, and how many are considered for it."""
    if definition.method == "hnsw":
        return definition.get("m"), definition.get("ef_construction")
    # CAGRA counts all edges of a node; a level of HNSW has twice its m.
    return max(2, definition.get("graph_degree") // 2), definition.get("intermediate_graph_degree")


class Graph:
    """A graph in memory, or in a file, which is mapped into memory."""

    def __init__(self, index: Any, definition: IndexDefinition) -> None:
        self._index = index
        self._metric = definition.metric
        self.rows = len(index)

    @classmethod
    def open(cls, path: str, definition: IndexDefinition) -> Graph:
        """Opens a file that `build` has written."""
        return cls(load_library("usearch.index").Index.restore(path, view=True), definition)

    @property
    def bytes(self) -> int:
        """The bytes that it takes in memory."""
        return int(self._index.memory_usage)

    def search(self, query: Matrix, count: int, breadth: int) -> Found:
        """Returns the nearest rows to one vector."""
        if not self.rows:
            return Found(np.zeros(0, np.int64), np.zeros(0), is_whole=True)
        self._index.expansion_search = max(count, breadth)
        matches = self._index.search(query, min(count, self.rows), threads=1)
        distances = np.asarray(matches.distances).astype(np.float64)
        if self._metric == "l2":
            distances = np.sqrt(np.maximum(distances, 0))
        elif self._metric == "ip":
            distances -= 1  # of 1 - inner product
        return Found(np.asarray(matches.keys).astype(np.int64), distances, is_whole=len(distances) >= self.rows)
