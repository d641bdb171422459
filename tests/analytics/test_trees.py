"""Ensembles of trees as arrays: NumPy and kernels score rows as the libraries of the models do."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpudb.analytics import formats
from gpudb.analytics.fitting import FITTERS, Sample
from gpudb.analytics.trees.compiling import compile_trees
from gpudb.analytics.trees.ensemble import TreeEnsemble
from gpudb.analytics.trees.evaluation import score_rows
from gpudb.engine.gpu.fused.codegen.building_blocks import load_headers
from gpudb.engine.gpu.fused.codegen.kernel import generate_kernel
from gpudb.engine.gpu.fused.codegen.trees import render_kernel
from gpudb.engine.gpu.fused.columns.packed_column import PackedColumn, pack
from gpudb.engine.gpu.fused.cuda import nvrtc
from gpudb.engine.gpu.fused.ir.pipeline import (
    BOOLEAN,
    Accumulator,
    Compare,
    Field,
    Filter,
    GroupSink,
    Literal,
    Pipeline,
    RowSink,
    TreeScore,
)
from gpudb.engine.gpu.fused.numpy_backend import executor
from gpudb.engine.gpu.fused.numpy_backend.executor import Outcome, Segment
from tests.support.fused.hosted import COMPILER, Hosted, HostedFile

ROWS = 600
OBJECTIVES = {"xgboost": "count:poisson", "lightgbm": "poisson"}
CASES = [
    (kind, task)
    for kind in ("xgboost", "lightgbm", "random_forest")
    for task in ("numbers", "counts", "two", "three")
    if kind in OBJECTIVES or task != "counts"
]
Model = tuple[formats.Scorer, TreeEnsemble]


def draw(rows: int, seed: int, width: float = 1) -> np.ndarray[Any, Any]:
    """Returns features: four numbers, some of them missing or zero, and a category."""
    draws = np.random.default_rng(seed)
    numbers = draws.normal(size=(rows, 4)) * width
    numbers[draws.random(numbers.shape) < 0.1] = np.nan
    numbers[draws.random(numbers.shape) < 0.1] = 0
    categories = draws.integers(0, 40, rows).astype(float)
    categories[::50] = np.nan
    return np.column_stack([numbers, categories])


@pytest.fixture(scope="module")
def models() -> Mapping[tuple[str, str], Model]:
    """A model of each kind and task, as its library has it and as arrays."""
    matrix = draw(ROWS, 1)
    target = np.nan_to_num(matrix[:, 0]) * 3 + np.nan_to_num(matrix[:, 1]) ** 2 + 3 * np.isin(matrix[:, 4], [1, 4, 33])
    targets = {"numbers": (target, 0), "counts": (np.abs(target), 0), "two": (target > 1, 2)}
    targets["three"] = (target > 1).astype(int) + (target > 3), 3
    made = {}
    for kind, task in CASES:
        wanted, classes = targets[task]
        options = {"trees": 12, "depth": 5} | ({"objective": OBJECTIVES[kind]} if task == "counts" else {})
        rows = matrix if kind == "lightgbm" else matrix.astype(np.float32)
        texts = () if kind == "random_forest" else (4,)
        name = "classification" if classes else "regression"
        fitted = FITTERS[kind](Sample(rows, wanted, classes, name, options, texts))
        ensemble = compile_trees(fitted.format, fitted.content)
        scorer = formats.open_content(fitted.format, fitted.content)
        assert ensemble is not None
        assert not isinstance(scorer, formats.OnnxModel)
        made[kind, task] = scorer, ensemble
    return made


@pytest.mark.parametrize(("kind", "task"), CASES)
def test_numpy_scores_as_the_library(models: Mapping[tuple[str, str], Model], kind: str, task: str) -> None:
    scorer, ensemble = models[kind, task]
    extreme = [[value] * 5 for value in (np.inf, -np.inf, 1e300, -1e300, 1e-36, -0.5, -1, 39, 40, 64, 2**24, np.nan)]
    matrix = np.vstack([draw(400, 2, 5), draw(400, 3), np.array(extreme)])
    wanted = scorer.score(matrix)
    found = score_rows(ensemble.shape, ensemble.tables, matrix, "label" if task == "three" else "value")
    if task == "three":
        assert found.tolist() == wanted.argmax(axis=1).tolist()
    else:
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
        labels = score_rows(ensemble.shape, ensemble.tables, matrix, "label")
        assert labels.tolist() == (wanted > 0.5).tolist()
    empty = score_rows(ensemble.shape, ensemble.tables, matrix[:0], "value")
    assert len(empty) == 0


def make_pipelines(ensemble: TreeEnsemble, columns: list[PackedColumn]) -> list[Pipeline]:
    """Rows with their scores, and the count and sum of those whose score is great."""
    args = tuple(Field(None, column.encoding.nullable, place) for place, column in enumerate(columns))
    several = ensemble.shape.classes > 1
    score = TreeScore((0, ensemble.shape.classes - 1) if several else None, False, args, ensemble.shape, 0)
    limit = Literal((1, 1), False, 1) if several else Literal(None, False, 0.5, is_parameter=True)
    kept = Filter(Compare(BOOLEAN, False, ">=", score, limit))
    counted = Accumulator("add", Literal((1, 1), False, 1)), Accumulator("add" if several else "fadd", score)
    encodings = tuple(column.encoding for column in columns)
    tables = tuple((each.itemsize, False) for each in ensemble.tables)
    return [
        Pipeline(encodings, (), RowSink((score,)), tables),
        Pipeline(encodings, (kept,), GroupSink((), counted, "one"), tables),
    ]


def pack_columns(matrix: np.ndarray[Any, Any]) -> list[PackedColumn]:
    """Packs features, NaN as NULL in the first two columns and as itself in others."""
    made = []
    for number, column in enumerate(matrix.T):
        valid = ~np.isnan(column) if number < 2 else None
        made.append(pack(np.ascontiguousarray(np.nan_to_num(column) if number < 2 else column), valid))
    return made


def assert_equal(wanted: Outcome, found: Outcome) -> None:
    """Asserts equal outcomes, but for the last bits of powers and the order of rows."""
    if wanted.grouped is None:
        pairs = list(zip((values for values, _ in wanted.rows), (values for values, _ in found.rows), strict=True))
    else:
        assert found.grouped is not None
        pairs = list(zip(wanted.grouped.words, found.grouped.words, strict=True))
    for one, other in pairs:
        np.testing.assert_allclose(np.sort(other), np.sort(one), rtol=1e-12)


@pytest.mark.skipif(COMPILER is None, reason="needs g++")
@pytest.mark.timeout(300)
def test_kernels_score_as_numpy(models: Mapping[tuple[str, str], Model], tmp_path: Path) -> None:
    matrix = np.vstack([draw(43, 4, 3), np.full((1, 5), -0.5), np.full((1, 5), np.inf)])
    columns = pack_columns(matrix)
    segment = Segment(len(matrix), tuple(columns))
    made = {case: make_pipelines(ensemble, columns) for case, (_, ensemble) in models.items()}
    hosted = Hosted([each for pipelines in made.values() for each in pipelines], tmp_path)
    for case, pipelines in made.items():
        tables = [(each, None) for each in models[case][1].tables]
        for pipeline in pipelines:
            wanted = executor.run(pipeline, [segment], [], tables)
            assert_equal(wanted, hosted.run(pipeline, [segment], [], tables))


@pytest.mark.skipif(COMPILER is None, reason="needs g++")
def test_the_kernel_over_columns_scores_as_numpy(models: Mapping[tuple[str, str], Model], tmp_path: Path) -> None:
    matrix = draw(70, 5)
    known = [None, *(~np.isnan(column) for column in matrix.T[1:])]
    columns = [np.ascontiguousarray(column) for column in matrix.T]
    for number, case in enumerate((("xgboost", "two"), ("random_forest", "three"))):
        ensemble, label = models[case][1], case[1] == "three"
        folder = tmp_path / f"{number}"
        folder.mkdir()
        kernel = HostedFile(render_kernel(ensemble.shape, label=label), ["score"], folder)
        found = np.zeros(len(matrix), np.int32 if label else np.float64)
        addresses = np.array([each.ctypes.data for each in columns], np.uint64)
        valid = np.array([0 if each is None else each.ctypes.data for each in known], np.uint64)
        kernel("score", 1, [addresses, valid, np.int64(len(matrix)), *ensemble.tables, found])
        wanted = score_rows(ensemble.shape, ensemble.tables, matrix, "label" if label else "value")
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_kernels_compile(models: Mapping[tuple[str, str], Model], tmp_path: Path) -> None:
    columns = pack_columns(draw(64, 6))
    for case in (("xgboost", "numbers"), ("xgboost", "three"), ("lightgbm", "counts"), ("random_forest", "three")):
        ensemble = models[case][1]
        fused = [generate_kernel(each).source for each in make_pipelines(ensemble, columns)]
        for source in (*fused, render_kernel(ensemble.shape, label=case[1] == "three")):
            made = nvrtc.compile_source(source, load_headers(), "sm_90", folder=tmp_path)
            assert made.cubin[:4] == b"\x7fELF"


def test_other_trees_are_the_same_kernel(models: Mapping[tuple[str, str], Model]) -> None:
    columns = pack_columns(draw(64, 6))
    one, other = (models["xgboost", task][1] for task in ("numbers", "two"))
    assert one != other
    assert one == models["xgboost", "numbers"][1]
    sources = {generate_kernel(make_pipelines(each, columns)[0]).source for each in (one, one)}
    assert len(sources) == 1


def test_what_is_no_plain_ensemble_is_left_to_its_library() -> None:
    xgboost = pytest.importorskip("xgboost")
    lightgbm = pytest.importorskip("lightgbm")
    rows, target = draw(200, 7)[:, :4], np.arange(200)
    for options in ({"booster": "gblinear"}, {"booster": "dart"}, {"objective": "binary:hinge"}):
        data = xgboost.DMatrix(np.nan_to_num(rows), label=target % 2)
        content = bytes(xgboost.train(options, data, 3).save_raw("ubj"))
        assert compile_trees("xgboost", content) is None
    for options in ({"linear_tree": True}, {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.5}):
        booster = lightgbm.train({"verbosity": -1, **options}, lightgbm.Dataset(rows, target, params=options), 3)
        assert compile_trees("lightgbm", booster.model_to_string().encode()) is None
