"""Approximate indexes of vectors in a GPU's memory, by cuVS: CAGRA's graphs, and inverted lists with and without
product quantisation.

pgvector's methods are the nearest ones of cuVS: hnsw is a graph, ivfflat are lists. Directions (cosine) are vectors of
length 1, whose Euclidean distances have the same order. L1 distances have no index.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import cupy
import numpy as np
import pylibcudf as plc

from gpudb.engine.gpu.backend.vector_indexes import Places
from gpudb.engine.gpu.cudf.columns.arrays import validity_mask, values_array, view_bytes
from gpudb.engine.gpu.cudf.memory.streams import current_stream
from gpudb.values.vector_keys import decode_numbers
from gpudb.vector_indexes.definition import IndexDefinition

_METRICS = {"l2": "sqeuclidean", "cosine": "sqeuclidean", "ip": "inner_product"}
_MAX_OF_GRAPH = 1024
"""Rows that a search of a graph returns at most."""
_MAX_OF_LISTS = 1 << 15
_DECODE = r"""
const unsigned int word = words[i];
const unsigned int bits = word << 24 | (word & 0xff00u) << 8 | (word >> 8 & 0xff00u) | word >> 24;
number = __uint_as_float(bits >> 31 ? bits ^ 0x80000000u : ~bits);
"""
_decode: Any = None


def build_on_gpu(column: Any, definition: IndexDefinition) -> CuvsIndex | None:
    """Builds the index of a libcudf column of vectors as bytes; None where cuVS lacks it or is not installed.

    The caller synchronizes the calling thread's stream.
    """
    if find_spec("cuvs") is None or definition.metric not in _METRICS:
        return None
    matrix, rows = _read_matrix(column, definition.dimensions)
    if definition.metric == "cosine":
        norms = cupy.linalg.norm(matrix, axis=1)
        kept = cupy.flatnonzero(norms)
        if len(kept) < len(matrix):
            matrix, norms = matrix[kept], norms[kept]
            rows = kept if rows is None else rows[kept]
        matrix /= norms[:, None]
    if len(matrix) < 2 * _shape_of_graph(definition)[1] if definition.is_graph else not len(matrix):
        return None
    cupy.cuda.get_current_stream().synchronize()  # cuVS has a stream of its own
    return CuvsIndex(matrix, None if rows is None else rows.get(), definition)


def _read_matrix(column: Any, dimensions: int) -> tuple[Any, Any | None]:
    """Returns the vectors of a column as a matrix of float32, and their rows; None for all of them."""
    global _decode
    if _decode is None:
        _decode = cupy.ElementwiseKernel("raw uint32 words", "float32 number", _DECODE, "decode_vectors")
    valid = validity_mask(column)
    if valid is not None:
        table = plc.stream_compaction.drop_nulls(plc.Table([column]), [0], 1, stream=current_stream())
        column = table.columns()[0]
    matrix = cupy.empty((column.size(), dimensions), np.float32)
    if len(matrix):
        offsets = values_array(column.child(0))[column.offset() : column.offset() + column.size() + 1]
        first, last = int(offsets[0]), int(offsets[-1])
        _decode(view_bytes(column.data(), last, column)[first:].view(np.uint32), matrix)
    return matrix, None if valid is None else cupy.flatnonzero(valid)


def _shape_of_graph(definition: IndexDefinition) -> tuple[int, int]:
    """Returns a graph's edges of each node, and those from which they are chosen."""
    if definition.method == "hnsw":
        degree = 2 * definition.get("m")  # on the lowest level of HNSW
        return degree, max(2 * degree, definition.get("ef_construction"))
    return definition.get("graph_degree"), definition.get("intermediate_graph_degree")


class CuvsIndex:
    """An index over the rows of a matrix in GPU memory; `rows` are their places in a column, None for all."""

    def __init__(self, matrix: Any, rows: Places | None, definition: IndexDefinition) -> None:
        self._definition, self._rows = definition, rows
        self._count = len(matrix)
        self._library, parameters = _prepare_build(definition, len(matrix))
        self._index = self._library.build(parameters, matrix)
        # A graph is searched over the matrix itself; lists have copies.
        self._matrix = matrix if definition.is_graph else None
        degree = _shape_of_graph(definition)[0] if definition.is_graph else 0
        width = definition.dimensions if definition.method != "ivf_pq" else definition.dimensions // 4
        self.size = 4 * len(matrix) * (width + degree)

    def search(self, query: bytes, count: int, breadth: int) -> Places | None:
        """See `VectorIndex`."""
        most = _MAX_OF_GRAPH if self._definition.is_graph else _MAX_OF_LISTS
        vector = cupy.asarray(decode_numbers(np.frombuffer(query, np.uint8)))[None]
        if self._definition.metric == "cosine":
            norm = float(cupy.linalg.norm(vector))
            if not norm:
                return None
            vector = vector / np.float32(norm)
        count = min(count, self._count)
        if count > most:
            return None
        cupy.cuda.get_current_stream().synchronize()
        _, found = self._library.search(self._prepare_search(count, breadth), self._index, vector, count)
        numbers = cupy.asarray(found).get()[0].astype(np.int64)
        # Where lists have fewer rows, the rest are no rows.
        numbers = np.unique(numbers[(numbers >= 0) & (numbers < self._count)])
        return numbers if self._rows is None else self._rows[numbers]

    def _prepare_search(self, count: int, breadth: int) -> Any:
        if self._definition.is_graph:
            return self._library.SearchParams(itopk_size=max(count, breadth))
        return self._library.SearchParams(n_probes=min(breadth, self._definition.get("lists")))


def _prepare_build(definition: IndexDefinition, rows: int) -> tuple[Any, Any]:
    """Returns cuVS's module of a method, and how it builds the index."""
    from cuvs.neighbors import cagra, ivf_flat, ivf_pq

    metric = _METRICS[definition.metric]
    if definition.is_graph:
        degree, candidates = _shape_of_graph(definition)
        return cagra, cagra.IndexParams(
            metric=metric, graph_degree=degree, intermediate_graph_degree=max(degree, candidates)
        )
    lists = min(definition.get("lists"), rows)
    if definition.method == "ivf_pq":
        return ivf_pq, ivf_pq.IndexParams(
            metric=metric, n_lists=lists, pq_dim=definition.get("pq_dim"), pq_bits=definition.get("pq_bits")
        )
    return ivf_flat, ivf_flat.IndexParams(metric=metric, n_lists=lists)
