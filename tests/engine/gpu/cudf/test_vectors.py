"""Vectors and bit strings in a GPU's memory, beside the host's: distances, first rows, rows at places, and cuVS's indexes."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

from gpudb.engine.gpu.backend.base import SortOrder
from gpudb.engine.gpu.backend.distance_calls import BIT_METRICS, METRICS, DistanceCall
from gpudb.engine.gpu.backend.host import HostBackend
from gpudb.values.bit_keys import encode_bits
from gpudb.values.half_vectors import to_half_column
from gpudb.values.vector_keys import encode_keys, encode_numbers
from gpudb.vector_indexes.definition import IndexDefinition, Metric

pytestmark = pytest.mark.gpu
ROWS, K = 9000, 10


def to_series(rows: np.ndarray, missing: np.ndarray, width: int = 4) -> pl.Series:
    lists = [None if gone else row for row, gone in zip(rows.tolist(), missing, strict=True)]
    held = pa.array(lists, pa.list_(pa.float32()))
    return pl.Series(pl.from_arrow(encode_keys(held) if width == 4 else to_half_column(held)))


def encode_one(row: np.ndarray, width: int) -> bytes:
    return encode_numbers(row.astype(f"f{width}")).tobytes()


def to_bits(rows: np.ndarray, missing: np.ndarray) -> pl.Series:
    texts = ["".join("01"[bit] for bit in row) for row in rows.astype(int)]
    held = pa.array([None if gone else text for text, gone in zip(texts, missing, strict=True)], pa.string())
    return pl.Series(pl.from_arrow(encode_bits(held, rows.shape[1])))


@pytest.mark.parametrize("dimensions", [3, 32, 100, 768])
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("width", [4, 2])
def test_distances_of_vectors(frames: Any, metric: str, dimensions: int, width: int) -> None:
    draw = np.random.default_rng(dimensions)
    left, right = draw.standard_normal((2, 300, dimensions)).astype(np.float32)
    missing = draw.random((2, 300)) < 0.1
    frame = pl.DataFrame({"a": to_series(left, missing[0], width), "b": to_series(right, missing[1], width)})
    on_gpu = frames.from_host(frame).lazy
    for other, to in (("b", None), (None, encode_one(right[5], width))):
        call = DistanceCall("d", metric, dimensions, "a", other, to, width)
        made = frames.compute_exact(on_gpu, [call]).to_polars()
        assert_frame_equal(made, HostBackend().compute_exact(frame.lazy(), [call]).to_polars(), rel_tol=1e-11)


@pytest.mark.parametrize("length", [7, 64, 200, 1024])
@pytest.mark.parametrize("metric", BIT_METRICS)
def test_distances_of_bits(frames: Any, metric: str, length: int) -> None:
    draw = np.random.default_rng(length)
    left, right = draw.random((2, 301, length)) < 0.3
    right[9] = left[9] = False
    frame = pl.DataFrame({"a": to_bits(left, draw.random(301) < 0.1), "b": to_bits(right, draw.random(301) < 0.1)})
    on_gpu = frames.from_host(frame).lazy
    for other, to in (("b", None), (None, to_bits(right[5:6], np.zeros(1, bool))[0])):
        call = DistanceCall("d", metric, length, "a", other, to)
        made = frames.compute_exact(on_gpu, [call]).to_polars()
        assert_frame_equal(made, HostBackend().compute_exact(frame.lazy(), [call]).to_polars(), check_exact=True)


@pytest.mark.parametrize("descending", [False, True])
def test_first_rows_of_a_column(frames: Any, descending: bool) -> None:
    draw = np.random.default_rng(1)
    values = pl.Series(draw.standard_normal(300_000)).set(pl.Series(draw.random(300_000) < 0.1), None)
    frame = pl.DataFrame({"n": np.arange(300_000), "x": values, "t": np.arange(300_000).astype(str)})
    order = SortOrder(descending, False)
    some = frames.prefilter_top(frames.from_host(frame).lazy, pl.col("x"), order, K, again=False)
    made = frames.compute(some).to_polars()
    assert made.height < 10_000
    wanted = frame.sort("x", descending=descending, nulls_last=True).head(K)
    assert_frame_equal(made.sort("x", descending=descending, nulls_last=True).head(K), wanted)


def test_rows_at_places(frames: Any) -> None:
    frame = pl.DataFrame({"n": [1, None, 3, 4], "t": ["a", "b", None, "d"]})
    made = frames.take_rows(frames.from_host(frame).lazy, np.array([0, 2, 3]))
    assert_frame_equal(made.to_polars(), frame[[0, 2, 3]])
    assert frames.take_rows(frames.from_host(frame).lazy, np.zeros(0, np.int64)).rows == 0


CASES: list[tuple[str, Metric, tuple[tuple[str, int], ...], int]] = [
    ("hnsw", "l2", (), 64),
    ("cagra", "cosine", (("graph_degree", 32),), 128),
    ("cagra", "ip", (), 128),
    ("ivfflat", "cosine", (("lists", 30),), 15),
    ("ivf_flat", "ip", (("lists", 30),), 15),
    ("ivf_pq", "l2", (("lists", 30), ("pq_dim", 32)), 20),
]


@pytest.mark.parametrize(("method", "metric", "options", "breadth"), CASES)
@pytest.mark.parametrize("half", [False, True])
def test_indexes_of_cuvs(
    frames: Any, method: str, metric: Metric, options: tuple[tuple[str, int], ...], breadth: int, half: bool
) -> None:
    pytest.importorskip("cuvs")
    draw = np.random.default_rng(2)
    centres = draw.standard_normal((20, 32)) * 2
    matrix = (centres[draw.integers(0, 20, ROWS)] + draw.standard_normal((ROWS, 32))).astype(np.float32)
    missing = draw.random(ROWS) < 0.05
    matrix[4] = 0
    width = 2 if half else 4
    matrix = matrix.astype(f"f{width}").astype(np.float32)
    frame = pl.DataFrame({"v": to_series(matrix, missing, width)})
    definition = IndexDefinition(method, metric, 32, options, half)
    index = frames.build_vector_index(frames.from_host(frame).lazy, definition)
    assert index is not None
    assert index.size > 0
    present = np.flatnonzero(~missing)
    found = total = 0
    for query in (centres[:15] + draw.standard_normal((15, 32))).astype(np.float32):
        places = index.search(encode_one(query, width), 4 * K, breadth)
        assert places is not None
        assert len(set(places.tolist())) == len(places) <= 4 * K
        assert not missing[places].any()
        rows = matrix[present].astype(np.float64)
        with np.errstate(invalid="ignore"):
            distances = {
                "l2": ((rows - query) ** 2).sum(1),
                "ip": -(rows @ query),
                "cosine": 1 - rows @ query / np.linalg.norm(rows, axis=1),
            }[metric]
        nearest = present[np.argsort(distances)[:K]]
        found += len(set(nearest.tolist()) & set(places.tolist()))
        total += K
    assert found >= 0.95 * total
