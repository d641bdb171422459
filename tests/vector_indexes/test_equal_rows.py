"""Graphs over columns where thousands of rows have the same vector."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpudb.vector_indexes.definition import IndexDefinition, Metric
from gpudb.vector_indexes.equal_rows import EqualRowsReader, find_distinct, round_directions
from gpudb.vector_indexes.graphs import Graph, build, make_graph

DRAWN = np.random.default_rng(3)
DIMENSIONS, K = 16, 10
SPREAD = DRAWN.standard_normal((1500, DIMENSIONS)).astype(np.float32)
COPIES = np.repeat(np.array([[0.001], [0.002], [0.003]], np.float32), DIMENSIONS, axis=1)
ORDER = DRAWN.permutation(4500)
MATRIX = np.concatenate((SPREAD, np.repeat(COPIES, 1000, axis=0)))[ORDER]
COPIES_OF_FIRST = {int(each) for each in np.flatnonzero((ORDER >= 1500) & (ORDER < 2500))}


@pytest.fixture(params=["memory", "file"])
def graph(request: pytest.FixtureRequest, tmp_path: Path) -> Graph:
    definition = IndexDefinition("hnsw", "l2", DIMENSIONS)
    numbers = np.arange(len(MATRIX))
    batches = [(numbers[:2000], MATRIX[:2000]), (numbers[2000:], MATRIX[2000:])]
    if request.param == "memory":
        return Graph(*make_graph(batches, definition), definition)
    assert build(batches, definition, str(tmp_path / "graph")) == len(MATRIX)
    return Graph.open(str(tmp_path / "graph"), definition)


def test_a_graph_finds_what_is_far_from_thousands_of_equal_rows(graph: Graph) -> None:
    assert graph.rows == len(MATRIX)
    shared = 0
    for query in 2 * DRAWN.standard_normal((20, DIMENSIONS)).astype(np.float32):
        distances = np.linalg.norm(MATRIX - query, axis=1)
        found = graph.search(query, 4 * K, 100)
        assert np.allclose(found.distances, distances[found.numbers], rtol=1e-5)
        assert len(set(found.numbers.tolist())) == len(found.numbers)
        shared += len(set(np.argsort(distances)[:K].tolist()) & set(found.numbers.tolist()))
    assert shared >= 0.9 * 20 * K


def test_a_graph_finds_all_equal_rows_or_none(graph: Graph) -> None:
    found = graph.search(COPIES[0], 40, 40)
    assert set(found.numbers.tolist()) == COPIES_OF_FIRST
    assert not found.is_whole
    assert len(graph.search(COPIES[0], len(MATRIX), 2000).numbers) > 4000


@pytest.mark.parametrize("metric", ["cosine", "ip"])
def test_equal_rows_of_other_distances(metric: Metric) -> None:
    definition = IndexDefinition("cagra", metric, DIMENSIONS)
    graph = Graph(*make_graph([(np.arange(len(MATRIX)), MATRIX)], definition), definition)
    query = SPREAD[7]
    distances = -(MATRIX @ query) / (1 if metric == "ip" else np.linalg.norm(MATRIX, axis=1))
    found = set(graph.search(query, 4 * K, 64).numbers.tolist())
    assert len(set(np.argsort(distances)[:K].tolist()) & found) >= 9


def test_vectors_of_one_direction_are_equal_by_cosine() -> None:
    """Thousands of vectors of three directions, each of another length, hide no other vector."""
    definition = IndexDefinition("hnsw", "cosine", DIMENSIONS)
    directions = DRAWN.standard_normal((3, DIMENSIONS)).astype(np.float32)
    lengths = DRAWN.uniform(0.01, 100, (3000, 1)).astype(np.float32)
    matrix = np.concatenate((SPREAD, np.repeat(directions, 1000, axis=0) * lengths))
    index, equal = make_graph([(np.arange(len(matrix)), matrix)], definition)
    assert len(index) < len(SPREAD) + 200  # a few of a direction are on two sides of a step
    assert len(index) + equal.extra == len(matrix)
    units = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    firsts, found = find_distinct(np, round_directions(np, units))
    assert len(firsts) == len(index)
    assert found.rows.tolist() == equal.rows.tolist()
    graph, shared = Graph(index, equal, definition), 0
    for query in DRAWN.standard_normal((20, DIMENSIONS)).astype(np.float32):
        distances = 1 - units @ query / np.linalg.norm(query)
        result = graph.search(query, 4 * K, 100)
        assert np.allclose(result.distances, distances[result.numbers], atol=1e-4)
        shared += len(set(np.argsort(distances)[:K].tolist()) & set(result.numbers.tolist()))
    assert shared >= 0.85 * 20 * K


def test_arrays_find_the_same_distinct_rows_as_batches() -> None:
    firsts, found = find_distinct(np, MATRIX)
    reader = EqualRowsReader()
    kept = [numbers for numbers, _ in reader.read([(np.arange(len(MATRIX)), MATRIX)])]
    assert firsts.tolist() == np.concatenate(kept).tolist()
    assert len(firsts) == 1503
    assert found.rows.tolist() == reader.found.rows.tolist()
    assert found.starts.tolist() == reader.found.starts.tolist()
    assert found.extra == len(MATRIX) - 1503


def test_rows_of_equal_hashes_stay_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpudb.vector_indexes.equal_rows._FACTOR", np.uint64(0))
    matrix = np.array([[1, 2], [1, 2], [3, 4], [5, 6]], np.float32)
    firsts, found = find_distinct(np, matrix)
    assert firsts.tolist() == [0, 2, 3]
    assert found.rows.tolist() == [0, 1]


def test_without_equal_rows_there_is_nothing_to_expand() -> None:
    firsts, found = find_distinct(np, SPREAD)
    assert len(firsts) == len(SPREAD)
    assert found.extra == 0
    assert found.expand(np.array([4, 2, 9]), 2)[0].tolist() == [4, 2]
    assert find_distinct(np, SPREAD[:0])[0].tolist() == []
