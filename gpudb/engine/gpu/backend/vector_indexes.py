"""Approximate indexes of the vectors in a worker's memory; see `gpudb.vector_indexes` for what they are."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from gpudb.values.vector_keys import decode_numbers, split_keys
from gpudb.vector_indexes.definition import IndexDefinition
from gpudb.vector_indexes.file_indexes import explain_lack
from gpudb.vector_indexes.graphs import Graph, make_graph
from gpudb.vector_indexes.lists import Lists, make_lists
from gpudb.vector_indexes.rows import find_indexable

Places = npt.NDArray[np.int64]


class VectorIndex(Protocol):
    """An index of a column of vectors."""

    @property
    def size(self) -> int:
        """The bytes that it takes in memory."""

    def search(self, query: bytes, count: int, breadth: int) -> Places | None:
        """Returns the places of about `count` nearest rows to a vector, given as `values.vector_keys` has it.

        `breadth` is how far the search looks (`SearchEffort`). None for more rows than the index can find at once, and
        for a vector that it knows no distance of.
        """


class HostVectorIndex:
    """An index in this process's memory, by usearch or as inverted lists."""

    def __init__(self, index: Graph | Lists, definition: IndexDefinition) -> None:
        self._index, self._definition = index, definition
        self.size = index.bytes

    def search(self, query: bytes, count: int, breadth: int) -> Places | None:
        """See `VectorIndex`."""
        vector = decode_numbers(np.frombuffer(query, np.uint8), self._definition.precision).astype(np.float32)
        if not find_indexable(vector[None], self._definition)[0]:
            return None
        return self._index.search(vector, count, breadth).numbers


def build_on_host(vectors: pl.Series, definition: IndexDefinition) -> HostVectorIndex | None:
    """Builds the index of a column of vectors; None if no library builds it here."""
    if explain_lack(definition) is not None or definition.of_bits:
        return None
    held = vectors.to_arrow()
    keys = (held.combine_chunks() if isinstance(held, pa.ChunkedArray) else held).cast(pa.large_binary())
    lengths, numbers = split_keys(keys, definition.precision)
    places = np.flatnonzero(lengths)
    matrix = numbers.astype(np.float32, copy=False).reshape(-1, definition.dimensions)
    kept = find_indexable(matrix, definition)
    batches = [(places[kept], matrix[kept])]
    index: Graph | Lists
    if definition.is_graph:
        index = Graph(*make_graph(batches, definition), definition)
    else:
        index = Lists(pa.BufferReader(make_lists(batches, definition)), definition)
    return HostVectorIndex(index, definition)
