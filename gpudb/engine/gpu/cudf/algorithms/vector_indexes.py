"""Approximate indexes of vectors in a GPU's memory, by cuVS: CAGRA's graphs, and inverted lists with and without
product quantisation.

pgvector's methods are the nearest ones of cuVS: hnsw is a graph, ivfflat are lists. Directions (cosine) are vectors of
length 1, whose Euclidean distances have the same order. L1 distances have no index. Graphs have equal vectors, or
directions, once.
"""

from __future__ import annotations

import logging
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import cupy
import numpy as np
import pylibcudf as plc

from gpudb.engine.gpu.backend.library_errors import is_out_of_memory
from gpudb.engine.gpu.backend.stopping import StatementEnded, check_stop
from gpudb.engine.gpu.backend.vector_indexes import Places
from gpudb.engine.gpu.cudf.columns.arrays import validity_mask, values_array, view_bytes
from gpudb.engine.gpu.cudf.memory.streams import current_stream
from gpudb.values.vector_keys import decode_numbers
from gpudb.vector_indexes.definition import IndexDefinition
from gpudb.vector_indexes.equal_rows import EqualRows, find_distinct, round_directions

_METRICS = {"l2": "sqeuclidean", "cosine": "sqeuclidean", "ip": "inner_product"}
_MAX_OF_GRAPH = 1024
"""Rows that a search of a graph returns at most."""
_MAX_OF_LISTS = 1 << 15
_LOG = logging.getLogger(__name__)
_MAX_PART = {True: (500_000, 400_000_000), False: (4_000_000, 1_600_000_000)}
"""Rows and numbers of a part of a graph, and of lists: what is built in seconds."""
_BEGINNINGS = (1, 8, 64, 256)
"""Rounds of random rows from which a search of a graph may begin.

A graph of clustered vectors is not connected: a search finds the clusters in which it begins.
"""
_CHECKED_QUERIES, _CHECKED_NEIGHBORS, _ENOUGH = 64, 10, 0.99
_DECODE = r"""
const unsigned int word = words[i];
const unsigned int bits = word << 24 | (word & 0xff00u) << 8 | (word >> 8 & 0xff00u) | word >> 24;
number = __uint_as_float(bits >> 31 ? bits ^ 0x80000000u : ~bits);
"""
_DECODE_HALF = r"""
const unsigned int word = words[i];
const unsigned int bits = (word << 8 | word >> 8) & 0xffffu;
const unsigned int half_bits = bits >> 15 ? bits ^ 0x8000u : ~bits & 0xffffu;
const float size = __uint_as_float((half_bits & 0x7fffu) << 13) * 5.192296858534828e33f;
number = half_bits >> 15 ? -size : size;
"""


def build_on_gpu(column: Any, definition: IndexDefinition) -> CuvsIndex | None:
    """Builds the index of a libcudf column of vectors as bytes; None where cuVS lacks it or is not installed.

    The caller synchronizes the calling thread's stream. Raises MemoryError where the GPU's memory is too small.
    """
    if find_spec("cuvs") is None or definition.metric not in _METRICS:
        return None
    matrix, rows = _read_matrix(column, definition)
    if definition.metric == "cosine":
        norms = cupy.linalg.norm(matrix, axis=1)
        kept = cupy.flatnonzero(norms)
        if len(kept) < len(matrix):
            matrix, norms = matrix[kept], norms[kept]
            rows = kept if rows is None else rows[kept]
        matrix /= norms[:, None]
    distinct = None
    if definition.is_graph and len(matrix):
        compared = round_directions(cupy, matrix) if definition.metric == "cosine" else matrix
        firsts, equal = find_distinct(cupy, compared)
        if equal.extra:
            matrix, distinct = matrix[firsts], (firsts.get(), equal)
    if len(matrix) < 2 * _shape_of_graph(definition)[1] if definition.is_graph else not len(matrix):
        return None
    cupy.cuda.get_current_stream().synchronize()  # cuVS has a stream of its own
    try:
        return CuvsIndex(matrix, None if rows is None else rows.get(), definition, distinct)
    except StatementEnded:
        raise
    except Exception as error:  # cuVS's own
        if is_out_of_memory(error):
            raise MemoryError(str(error)[:200]) from error
        _LOG.warning("cuVS builds no index by %s, and searches read all vectors: %s", definition.method, error)
        return None


@cache
def _make_decoder(half: bool) -> Any:
    """Returns the kernel that decodes the words of vectors (`values.vector_keys`; see kernels/vectors.cu)."""
    if half:
        return cupy.ElementwiseKernel("raw uint16 words", "float32 number", _DECODE_HALF, "decode_half_vectors")
    return cupy.ElementwiseKernel("raw uint32 words", "float32 number", _DECODE, "decode_vectors")


def _read_matrix(column: Any, definition: IndexDefinition) -> tuple[Any, Any | None]:
    """Returns the vectors of a column as a matrix of float32, and their rows; None for all of them."""
    valid = validity_mask(column)
    if valid is not None:
        table = plc.stream_compaction.drop_nulls(plc.Table([column]), [0], 1, stream=current_stream())
        column = table.columns()[0]
    matrix = cupy.empty((column.size(), definition.dimensions), np.float32)
    if len(matrix):
        offsets = values_array(column.child(0))[column.offset() : column.offset() + column.size() + 1]
        first, last = int(offsets[0]), int(offsets[-1])
        words = view_bytes(column.data(), last, column)[first:].view(np.uint16 if definition.half else np.uint32)
        _make_decoder(definition.half)(words, matrix)
    return matrix, None if valid is None else cupy.flatnonzero(valid)


def _shape_of_graph(definition: IndexDefinition) -> tuple[int, int]:
    """Returns a graph's edges of each node, and those from which they are chosen."""
    if definition.method == "hnsw":
        degree = 2 * definition.get("m")  # on the lowest level of HNSW
        return degree, max(2 * degree, definition.get("ef_construction"))
    return definition.get("graph_degree"), definition.get("intermediate_graph_degree")


class CuvsIndex:
    """An index over the rows of a matrix in GPU memory; `rows` are their places in a column, None for all.

    With `distinct` the matrix has each vector once: the numbers that its rows have, and which rows are equal, by which
    `rows` are numbered.

    It has several parts, since cuVS holds Python's interpreter while it builds one, and the worker must answer.
    """

    def __init__(
        self,
        matrix: Any,
        rows: Places | None,
        definition: IndexDefinition,
        distinct: tuple[Places, EqualRows] | None = None,
    ) -> None:
        self._definition, self._rows, self._distinct = definition, rows, distinct
        self._count = len(matrix)
        most = _MAX_PART[definition.is_graph]
        step = max(1, min(most[0], most[1] // definition.dimensions))
        parts = -(-len(matrix) // step)
        # Parts of equal sizes: a graph needs some rows.
        edges = [len(matrix) * part // parts for part in range(parts + 1)]
        self._library, parameters = _prepare_build(definition, len(matrix) // parts)
        self._parts: list[tuple[Any, int, int]] = []
        self._beginnings = 1
        for first, last in pairwise(edges):
            check_stop()
            index = self._library.build(parameters, matrix[first:last])
            self._parts.append((index, first, last))
            if definition.is_graph:
                self._beginnings = max(self._beginnings, self._choose_beginnings(index, matrix[first:last]))
        # A graph is searched over the matrix itself; lists have copies.
        self._matrix = matrix if definition.is_graph else None
        degree = _shape_of_graph(definition)[0] if definition.is_graph else 0
        width = definition.dimensions if definition.method != "ivf_pq" else definition.dimensions // 4
        self.size = 4 * len(matrix) * (width + degree)

    def _choose_beginnings(self, index: Any, matrix: Any) -> int:
        """Returns the least rounds of random rows with which searches for a graph's own rows find their neighbours."""
        queries = matrix[:: max(1, len(matrix) // _CHECKED_QUERIES)][:_CHECKED_QUERIES].copy()
        count = min(_CHECKED_NEIGHBORS, len(matrix))
        wanted = _find_exactly(queries, matrix, count, self._definition.metric)
        recalls = []
        for rounds in _BEGINNINGS:
            parameters = self._library.SearchParams(itopk_size=64, num_random_samplings=rounds)
            _, found = self._library.search(parameters, index, queries, count)
            same = (cupy.asarray(found)[:, :, None] == wanted[:, None, :]).any(axis=1)
            recalls.append(float(same.mean()))
            if recalls[-1] >= _ENOUGH:
                return rounds
        return next(rounds for rounds, each in zip(_BEGINNINGS, recalls, strict=True) if each >= max(recalls) - 0.01)

    def search(self, query: bytes, count: int, breadth: int) -> Places | None:
        """See `VectorIndex`."""
        most = _MAX_OF_GRAPH if self._definition.is_graph else _MAX_OF_LISTS
        numbers = decode_numbers(np.frombuffer(query, np.uint8), self._definition.precision)
        vector = cupy.asarray(numbers.astype(np.float32, copy=False))[None]
        if self._definition.metric == "cosine":
            norm = float(cupy.linalg.norm(vector))
            if not norm:
                return None
            vector = vector / np.float32(norm)
        if min(count, self._count) > most:
            return None
        cupy.cuda.get_current_stream().synchronize()
        found = [self._search_part(part, vector, count, breadth) for part in self._parts]
        distances, numbers = (np.concatenate(each) for each in zip(*found, strict=True))
        nearest = numbers[np.argsort(distances, kind="stable")[:count]]
        if self._distinct is not None:
            firsts, equal = self._distinct
            nearest, _ = equal.expand(firsts[nearest], count)
        nearest = np.unique(nearest)
        return nearest if self._rows is None else self._rows[nearest]

    def _search_part(self, part: tuple[Any, int, int], vector: Any, count: int, breadth: int) -> tuple[Any, Any]:
        """Returns the distances of the nearest rows of a part, the least first, and their numbers."""
        index, first, last = part
        given = self._prepare_search(count, breadth), index, vector, min(count, last - first)
        distances, found = (cupy.asarray(each).get()[0] for each in self._library.search(*given))
        numbers = found.astype(np.int64)
        # Where lists have fewer rows, the rest are no rows.
        known = (numbers >= 0) & (numbers < last - first)
        distances, numbers = distances[known], numbers[known]
        if len(distances) and distances[0] > distances[-1]:
            distances = -distances  # inner products: the greatest are the nearest
        return distances, first + numbers

    def _prepare_search(self, count: int, breadth: int) -> Any:
        if self._definition.is_graph:
            breadth = max(count, breadth)
            return self._library.SearchParams(itopk_size=breadth, num_random_samplings=self._beginnings)
        return self._library.SearchParams(n_probes=min(breadth, self._definition.get("lists")))


def _find_exactly(queries: Any, matrix: Any, count: int, metric: str) -> Any:
    """Returns the numbers of the rows nearest to each query, (queries, count), in any order."""
    far = -(queries @ matrix.T)
    if metric != "ip":
        far = 2 * far + (matrix * matrix).sum(axis=1)[None]
    return cupy.argpartition(far, count - 1, axis=1)[:, :count]


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
