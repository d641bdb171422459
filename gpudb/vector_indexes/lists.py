"""Inverted lists: rows by the nearest of some centres (k-means), of which a search reads the lists nearest to it.

A file is an Arrow table of the rows, list by list; its metadata have the centres and where each list begins. The
product quantisation of ivf_pq saves a GPU's memory; here its lists hold whole vectors.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gpudb.analytics.libraries import load_library
from gpudb.vector_indexes.definition import IndexDefinition
from gpudb.vector_indexes.rows import Found, Matrix, Numbers

_SAMPLES_OF_LIST = 64
_BLOCK = 1 << 14
Floats = npt.NDArray[np.float32]


def build(batches: Iterable[tuple[Numbers, Matrix]], definition: IndexDefinition, target: str) -> int:
    """Writes the lists of rows to a file; returns the number of rows."""
    made = make_lists(batches, definition)
    with pa.OSFile(target, "wb") as sink:
        sink.write(made)
    return Lists(pa.BufferReader(made), definition).rows


def make_lists(batches: Iterable[tuple[Numbers, Matrix]], definition: IndexDefinition) -> pa.Buffer:
    """Returns the lists of rows as a file has them."""
    parts = list(batches)
    width = -(-definition.dimensions // 8) if definition.of_bits else definition.dimensions
    matrix = np.concatenate([each for _, each in parts]) if parts else np.zeros((0, width), np.float32)
    numbers = np.concatenate([each for each, _ in parts]) if parts else np.zeros(0, np.int64)
    centres = _find_centres(matrix, definition)
    nearest = [
        _distances_to(_place(matrix[start : start + _BLOCK], definition), centres).argmin(axis=1)
        for start in range(0, len(matrix), _BLOCK)
    ]
    places = np.concatenate(nearest) if nearest else np.zeros(0, np.int64)
    order = np.argsort(places, kind="stable")
    starts = np.searchsorted(places[order], np.arange(len(centres) + 1)).astype(np.int64)
    ordered = np.ascontiguousarray(matrix[order], _held_type(definition))
    values = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(max(1, ordered.itemsize * width)), len(ordered), [None, pa.py_buffer(ordered)]
    )
    metadata = {"centres": centres.tobytes(), "starts": starts.tobytes()}
    schema = pa.schema([("row", pa.int64()), ("vector", values.type)], metadata)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, schema) as writer:
        writer.write_batch(pa.record_batch([pa.array(numbers[order]), values], schema=schema))
    return sink.getvalue()


def _find_centres(matrix: Matrix, definition: IndexDefinition) -> Floats:
    """Returns the centres of lists, by k-means over a sample; fewer where there are fewer rows."""
    count = min(definition.get("lists"), len(matrix))
    if not count:
        return np.zeros((0, definition.dimensions), np.float32)
    drawn = np.random.default_rng(0).permutation(len(matrix))[: count * _SAMPLES_OF_LIST]
    sample = _place(matrix[np.sort(drawn)], definition)
    means = load_library("sklearn.cluster").MiniBatchKMeans(count, random_state=0, n_init=1)
    return np.asarray(means.fit(sample).cluster_centers_, np.float32)


def _place(matrix: Matrix, definition: IndexDefinition) -> Floats:
    """Returns vectors as the points that centres are found for: directions by cosine, 0 and 1 for bits."""
    if definition.of_bits:
        return np.unpackbits(matrix, axis=1, count=definition.dimensions).astype(np.float32)
    if definition.metric == "cosine":
        return np.asarray(matrix / np.linalg.norm(matrix, axis=1, keepdims=True), np.float32)
    return matrix


def _distances_to(points: Floats, centres: Floats) -> Floats:
    """Returns for each point its squared distances to the centres, less the point's own square."""
    return np.asarray((centres * centres).sum(axis=1) - 2 * points @ centres.T)


class Lists:
    """Inverted lists in memory, or in a file, which is mapped into memory."""

    def __init__(self, source: pa.NativeFile, definition: IndexDefinition) -> None:
        batch = pa.ipc.open_file(source).get_batch(0)
        metadata = batch.schema.metadata
        self._definition = definition
        self._centres = np.frombuffer(metadata[b"centres"], np.float32).reshape(-1, definition.dimensions)
        self._starts = np.frombuffer(metadata[b"starts"], np.int64)
        self._numbers = np.asarray(batch.column(0).to_numpy())
        held = np.frombuffer(batch.column(1).buffers()[1] or b"", _held_type(definition))
        self.rows = len(self._numbers)
        self.bytes = batch.nbytes
        self._matrix: Matrix = held[: self.rows * (held.size // max(1, self.rows))].reshape(self.rows, -1)

    @classmethod
    def open(cls, path: str, definition: IndexDefinition) -> Lists:
        """Opens a file that `build` has written."""
        return cls(pa.memory_map(path), definition)

    def _read(self, places: Numbers) -> Matrix:
        rows = self._matrix[places]
        return rows.astype(np.float32) if self._definition.half else rows

    def search(self, query: Matrix, count: int, breadth: int) -> Found:
        """Returns the nearest rows to one vector of those in the nearest `breadth` lists.

        Where these have no more, they count as all rows.
        """
        if not self.rows:
            return Found(np.zeros(0, np.int64), np.zeros(0), is_whole=True)
        point = _place(query[None], self._definition)
        if self._definition.metric == "ip":
            order = np.argsort(-(self._centres @ point[0]))
        else:
            order = np.argsort(_distances_to(point, self._centres)[0])
        runs = [np.arange(self._starts[each], self._starts[each + 1]) for each in np.sort(order[:breadth])]
        places = np.concatenate(runs)
        distances = np.asarray(_MEASURES[self._definition.metric](self._read(places), query), np.float64)
        if len(places) <= count:
            return Found(self._numbers[places], distances, is_whole=True)
        nearest = np.argpartition(distances, count - 1)[:count]
        return Found(self._numbers[places[nearest]], distances[nearest], is_whole=False)


def _held_type(definition: IndexDefinition) -> np.dtype[Any]:
    """Returns the type of the numbers, or of eight bits each, that lists hold."""
    return np.dtype(np.uint8) if definition.of_bits else definition.precision


def _bits(rows: Matrix) -> Any:
    return np.bitwise_count(rows).sum(axis=-1, dtype=np.int64)


_MEASURES: dict[str, Any] = {
    "l2": lambda rows, query: np.sqrt(((rows - query) ** 2).sum(axis=1)),
    "ip": lambda rows, query: -(rows @ query),
    "cosine": lambda rows, query: 1 - rows @ query / np.linalg.norm(rows, axis=1) / np.linalg.norm(query),
    "l1": lambda rows, query: np.abs(rows - query).sum(axis=1),
    "hamming": lambda rows, query: _bits(rows ^ query),
    "jaccard": lambda rows, query: 1 - _bits(rows & query) / _bits(rows | query),
}
