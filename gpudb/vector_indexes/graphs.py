"""Graphs of near neighbours (HNSW), by usearch.

A file is usearch's, and behind it which rows have the same vector: their places, the rows, and how many there are.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from gpudb.analytics.libraries import load_library
from gpudb.processes.limits import count_processors
from gpudb.vector_indexes.definition import IndexDefinition
from gpudb.vector_indexes.equal_rows import EqualRows, EqualRowsReader
from gpudb.vector_indexes.rows import Found, Matrix, Numbers

METRICS = {"l2": "l2sq", "ip": "ip", "cosine": "cos", "hamming": "hamming", "jaccard": "tanimoto"}
"""usearch's names of the distances that it has."""
_TOGETHER = 1 << 11
_MARK = b"gpudb=rows"
_COUNTS = 2 * 8


def make_graph(batches: Iterable[tuple[Numbers, Matrix]], definition: IndexDefinition) -> tuple[Any, EqualRows]:
    """Returns usearch's index of rows, of which it has the first of each vector, and the others."""
    degree, breadth = _shape(definition)
    index = load_library("usearch.index").Index(
        ndim=definition.dimensions,
        metric=METRICS[definition.metric],
        dtype="b1" if definition.of_bits else "f16" if definition.half else "f32",
        connectivity=degree,
        expansion_add=breadth,
    )
    reader = EqualRowsReader(directions=definition.metric == "cosine")
    for numbers, matrix in reader.read(batches):
        # usearch holds the interpreter while it adds
        for start in range(0, len(numbers), _TOGETHER):
            part = slice(start, start + _TOGETHER)
            index.add(numbers[part].astype(np.uint64), matrix[part], threads=count_processors())
    return index, reader.found


def build(batches: Iterable[tuple[Numbers, Matrix]], definition: IndexDefinition, target: str) -> int:
    """Writes a graph of rows to a file; returns their number."""
    index, equal = make_graph(batches, definition)
    index.save(target)
    with Path(target).open("ab") as file:
        counts = np.array([len(equal.starts), len(equal.rows)], np.int64)
        file.write(b"".join((equal.starts.tobytes(), equal.rows.tobytes(), counts.tobytes(), _MARK)))
    return len(index) + equal.extra


def _read_equal_rows(path: str) -> EqualRows:
    """Reads which rows have the same vector from the end of a file; none of a file that does not say it."""
    with Path(path).open("rb") as file:
        end = file.seek(0, 2)
        tail = len(_MARK) + _COUNTS
        file.seek(max(0, end - tail))
        if not (read := file.read()).endswith(_MARK):
            return EqualRows()
        starts, rows = np.frombuffer(read[:_COUNTS], np.int64).tolist()
        file.seek(end - tail - 8 * (starts + rows))
        held = np.frombuffer(file.read(8 * (starts + rows)), np.int64)
    return EqualRows(held[starts:], held[:starts])


def _shape(definition: IndexDefinition) -> tuple[int, int]:
    """Returns how many neighbours a node has, and how many are considered for it."""
    if definition.method == "hnsw":
        return definition.get("m"), definition.get("ef_construction")
    # CAGRA counts all edges of a node; a level of HNSW has twice its m.
    return max(2, definition.get("graph_degree") // 2), definition.get("intermediate_graph_degree")


class Graph:
    """A graph in memory, or in a file, which is mapped into memory."""

    def __init__(self, index: Any, equal: EqualRows, definition: IndexDefinition) -> None:
        self._index, self._equal = index, equal
        self._metric = definition.metric
        self._vectors = len(index)
        self.rows = len(index) + equal.extra

    @classmethod
    def open(cls, path: str, definition: IndexDefinition) -> Graph:
        """Opens a file that `build` has written."""
        index = load_library("usearch.index").Index.restore(path, view=True)
        return cls(index, _read_equal_rows(path), definition)

    @property
    def bytes(self) -> int:
        """The bytes that it takes in memory."""
        return int(self._index.memory_usage) + self._equal.rows.nbytes

    def search(self, query: Matrix, count: int, breadth: int) -> Found:
        """Returns the nearest rows to one vector, and all that are equal to one of these."""
        if not self.rows:
            return Found(np.zeros(0, np.int64), np.zeros(0), is_whole=True)
        self._index.expansion_search = max(count, breadth)
        matches = self._index.search(query, min(count, self._vectors), threads=1)
        distances = np.asarray(matches.distances).astype(np.float64)
        if self._metric == "l2":
            distances = np.sqrt(np.maximum(distances, 0))
        elif self._metric == "ip":
            distances -= 1  # of 1 - inner product
        numbers, vectors = self._equal.expand(np.asarray(matches.keys).astype(np.int64), count)
        return Found(numbers, distances[vectors], is_whole=len(numbers) >= self.rows)
