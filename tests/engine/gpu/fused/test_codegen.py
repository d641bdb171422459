"""Source of generated kernels, compiled for the host: results equal the NumPy backend's, for groups and for rows."""

from __future__ import annotations

from dataclasses import replace
from itertools import cycle, islice, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.fused.outcomes import outcomes_equal
from gpudb.engine.gpu.fused.codegen.kernel import Options, generate_kernel
from gpudb.engine.gpu.fused.columns.packed_column import PackedColumn, pack
from gpudb.engine.gpu.fused.cuda.launch import grid_size
from gpudb.engine.gpu.fused.ir.pipeline import (
    BOOLEAN,
    Accumulator,
    Compare,
    Expr,
    Field,
    Filter,
    GroupSink,
    IsNull,
    Key,
    Literal,
    Lookup,
    Payload,
    Pipeline,
)
from gpudb.engine.gpu.fused.numpy_backend import executor
from gpudb.engine.gpu.fused.numpy_backend.executor import Segment
from gpudb.engine.gpu.fused.translate.lookup_tables import BuildColumn, build_lookup_table, index_keys
from tests.engine.gpu.fused import recorded_pipelines
from tests.support.fused.hosted import COMPILER, Hosted

pytestmark = [pytest.mark.skipif(COMPILER is None, reason="needs g++"), pytest.mark.timeout(300)]
ONE = Literal((1, 1), False, 1)
ALL = pytest.param(1, marks=pytest.mark.soak, id="all")
"""All of a product's combinations; without it one of so many, since a compiler takes a second for some."""


def field(columns: list[PackedColumn], place: int) -> Field:
    column = columns[place]
    assert column.low is not None
    assert column.high is not None
    return Field((column.low, column.high), column.encoding.nullable, place)


def counted(value: Expr) -> list[Accumulator]:
    """Accumulators of a value: its sum, minimum, maximum and count."""
    made = [Accumulator(op, value) for op in ("add", "min", "max")]
    return [*made, Accumulator("add", IsNull(BOOLEAN, False, value, True))] if value.nullable else made


def grouped(columns: list[PackedColumn], steps: tuple[Filter, ...] = (), *, sums: int = 1) -> Pipeline:
    """Groups by the first column, with all accumulators of the `sums` columns after it."""
    key = field(columns, 0)
    assert key.bounds is not None
    low, high = key.bounds
    size = high - low + 1 + key.nullable
    words = [Accumulator("add", ONE)] + [each for n in range(sums) for each in counted(field(columns, n + 1))]
    forms = tuple(column.encoding for column in columns)
    return Pipeline(forms, steps, GroupSink((Key(key, low, size),), tuple(dict.fromkeys(words)), "dense"))


def drawn(rows: int, groups: int, spans: tuple[int, ...], *, nulls: bool) -> list[PackedColumn]:
    """A key and values with a negative minimum."""
    draws = np.random.default_rng(rows + groups)
    made = [pack(draws.integers(-3, groups - 3, rows), draws.random(rows) > 0.1 if nulls else None)]
    for span in spans:
        values = draws.integers(0, span, rows, endpoint=True) - span // 3
        values[0], values[-1] = span - span // 3, -(span // 3)
        made.append(pack(values, draws.random(rows) > 0.2 if nulls else None))
    return made


SPANS = (200, 60_000, 2**16, 2**24 - 1, 2**32 - 2, 2**40)


@pytest.mark.parametrize("nulls", [False, True])
def test_sums_of_any_width_in_shared_memory(tmp_path: Path, nulls: bool) -> None:
    pipelines, given = [], []
    for rows, groups in ((1, 1), (7, 9), (64, 300), (4001, 1), (4001, 9), (4001, 700)):
        columns = drawn(rows, groups, SPANS if rows > 64 else SPANS[1:3], nulls=nulls and rows > 7)
        half = field(columns, 1)
        assert half.bounds is not None
        kept_rows = Filter(
            Compare(BOOLEAN, half.nullable, "<", half, Literal(half.bounds, False, sum(half.bounds) // 2))
        )
        for steps, few in (((), None), ((kept_rows,), None), ((kept_rows,), 0), ((kept_rows,), 1)):
            pipelines.append(replace(grouped(columns, steps, sums=len(columns) - 1), few_rows_after=few))
            given.append(Segment(rows, tuple(columns)))
    hosted = Hosted(pipelines, tmp_path)
    for pipeline, segment in zip(pipelines, given, strict=True):
        wanted = executor.run(pipeline, [segment], [], [])
        assert outcomes_equal(wanted, hosted.run(pipeline, [segment], [], [])), (segment.rows, pipeline)


@pytest.mark.parametrize(("groups", "tops"), [(500, (2**16 - 1,)), (380, (2**16 - 1, 2**24 - 1))])
def test_a_block_ends_before_a_cell_overflows(tmp_path: Path, groups: int, tops: tuple[int, ...]) -> None:
    rows = 600_000
    keys = np.full(rows, 123)
    keys[:groups] = np.arange(groups)
    columns = [pack(keys), *(pack(np.where(np.arange(rows) == 7, 0, top)) for top in tops)]
    sink = grouped(columns, sums=len(tops)).sink
    assert isinstance(sink, GroupSink)
    words = tuple(each for each in sink.accumulators if each.op == "add")
    pipeline = Pipeline(tuple(column.encoding for column in columns), (), GroupSink(sink.keys, words, "dense"))
    kernel, segment = generate_kernel(pipeline), Segment(rows, tuple(columns))
    assert "Distances" in kernel.source
    assert grid_size(kernel, 8, rows, 1) > 1
    given = Hosted([pipeline], tmp_path).run(pipeline, [segment], [], [], resident=1)
    assert outcomes_equal(executor.run(pipeline, [segment], [], []), given)


@pytest.mark.parametrize("together", [4, 16])
def test_the_last_rows_are_those_of_a_segment_and_no_more(tmp_path: Path, together: int) -> None:
    columns = drawn(4096, 9, (60_000,), nulls=True)
    pipeline = grouped(columns)
    hosted = Hosted([pipeline], tmp_path, Options(together))
    for rows in (1, together - 1, together, together + 1, 4095):
        # More rows follow in the same columns.
        part = Segment(rows, tuple(columns))
        assert outcomes_equal(executor.run(pipeline, [part], [], []), hosted.run(pipeline, [part], [], [])), rows


def looked_up(
    number: int, kind: Any, columns: list[PackedColumn], keys: tuple[int, ...], slots: int, shape: str
) -> tuple[Lookup, tuple[Any, ...], list[Accumulator]]:
    """A lookup in a build side of keys below `slots`, its arrays, and an accumulator of its payload."""
    draws = np.random.default_rng(slots + number)
    far = 10**12 if shape == "hashed" else 1
    of = [draws.permutation(np.append(draws.choice(slots, slots // 2), (0, slots - 1)))]
    of += [draws.integers(0, 5, len(of[0])) for _ in keys[1:]]
    of[0] *= far
    values = np.unique(np.stack(of), axis=1)
    index = index_keys([BuildColumn(each, None, (0, 0)) for each in values], distinct=False)
    bare = kind in {"semi", "anti"}
    payload = BuildColumn(draws.integers(-9, 90, values.shape[1]), draws.random(values.shape[1]) < 0.7, (-9, 90))
    made = build_lookup_table(index, [] if bare else [payload], selective=shape == "bitmap")
    fields = tuple(field(columns, key) for key in keys)
    step = Lookup(
        number, kind, fields, made.lows, made.sizes, made.hashed, made.unique, made.widths, made.biases, made.bases,
        made.presence,
    )  # fmt: skip
    return step, made.arrays, [] if bare else counted(Payload((-9, 90), True, number, 0))


@pytest.mark.parametrize("one_of", [5, ALL])
@pytest.mark.parametrize("options", [None, Options(8, keep_matches=True)])
@pytest.mark.parametrize("shape", ["bitmap", "payload", "hashed"])
def test_rows_with_and_without_a_partner(tmp_path: Path, shape: str, options: Options | None, one_of: int) -> None:
    draws, rows, many = np.random.default_rng(3), 1501, 10**12 if shape == "hashed" else 1
    pipelines, given = [], []
    every = product((2, 128, 1000), ("inner", "left", "semi", "anti"), ("left", "inner"))
    for (slots, kind, other), few in islice(zip(every, cycle((None, 1, 2)), strict=False), 0, None, one_of):
        # Keys below, among and above those of the build sides, and far from them.
        far = np.where(draws.random(rows) < 0.1, draws.integers(-(2**40), 2**40, rows), 0)
        known = draws.random(rows) < 0.9
        columns = [
            pack(draws.integers(-3, slots + 3, rows) * many, known),
            pack(draws.integers(-1, slots + 1, rows) * many + far),
            pack(draws.integers(-1, 6, rows)),
        ]
        one, arrays, words = looked_up(0, kind, columns, (0,), slots, shape)
        two, more, others = looked_up(1, other, columns, (1, 2), slots, shape)
        sink = GroupSink((), (Accumulator("add", ONE), *words, *others), "one")
        pipelines.append(Pipeline(tuple(column.encoding for column in columns), (one, two), sink, few_rows_after=few))
        given.append((Segment(rows, tuple(columns)), (arrays, more)))
    hosted = Hosted(pipelines, tmp_path, options)
    for pipeline, (segment, lookups) in zip(pipelines, given, strict=True):
        wanted = executor.run(pipeline, [segment], lookups, [])
        assert wanted.grouped is not None
        assert outcomes_equal(wanted, hosted.run(pipeline, [segment], lookups, [])), pipeline


def probing(number: int, kind: Any, key: Expr, keys: Any, values: Any, shape: str) -> tuple[Lookup, tuple[Any, ...]]:
    """A lookup of one key in a build side of distinct keys, and its arrays."""
    index = index_keys([BuildColumn(keys, None, (int(keys[0]), int(keys[-1])))], distinct=False)
    payload = BuildColumn(values, None, (int(values.min()), int(values.max())))
    made = build_lookup_table(index, [payload], selective=shape == "bitmap")
    step = Lookup(
        number, kind, (key,), made.lows, made.sizes, made.hashed, made.unique, made.widths, made.biases, made.bases,
        made.presence,
    )  # fmt: skip
    return step, made.arrays


@pytest.mark.parametrize("one_of", [5, ALL])
@pytest.mark.parametrize("options", [None, Options(4, keep_matches=True, large=True)])
def test_a_lookup_by_what_another_found(tmp_path: Path, options: Options | None, one_of: int) -> None:
    """Each row has its own matches in lookups, also in those that only later keys read."""
    draws, rows = np.random.default_rng(5), 1501
    pipelines, given = [], []
    every = product(("bitmap", "payload", "hashed"), ("inner", "left"), (None, 1, 2))
    for shape, kind, few in islice(every, 0, None, one_of):
        many = 10**12 if shape == "hashed" else 1
        columns = [pack(draws.integers(0, 60, rows) * many)]
        one, arrays = probing(0, kind, field(columns, 0), np.arange(50) * many, draws.permutation(50) % 30, shape)
        found = Payload((0, 29), kind == "left", 0, 0)
        two, more = probing(1, "inner", found, np.arange(25), draws.permutation(25) * 9, shape)
        sink = GroupSink((), (Accumulator("add", ONE), *counted(Payload((0, 216), False, 1, 0))), "one")
        pipelines.append(Pipeline((columns[0].encoding,), (one, two), sink, few_rows_after=few))
        given.append((Segment(rows, tuple(columns)), (arrays, more)))
    hosted = Hosted(pipelines, tmp_path, options)
    for pipeline, (segment, lookups) in zip(pipelines, given, strict=True):
        wanted = executor.run(pipeline, [segment], lookups, [])
        assert outcomes_equal(wanted, hosted.run(pipeline, [segment], lookups, [])), pipeline


def test_keys_of_32_bits_in_a_table_that_goes_beyond_them(tmp_path: Path) -> None:
    """A key does not match the key that is 2³² larger."""
    keys = np.arange(2**31 - 8, 2**31 + 12)
    columns = [pack(np.array([8 - 2**31, -(2**31), -5, 0, 2**31 - 8, 2**31 - 1]))]
    pipelines, given = [], []
    for shape in ("bitmap", "payload"):
        step, arrays = probing(0, "inner", field(columns, 0), keys, keys % 7, shape)
        pipelines.append(Pipeline((columns[0].encoding,), (step,), GroupSink((), (Accumulator("add", ONE),), "one")))
        given.append([arrays])
    hosted, segment = Hosted(pipelines, tmp_path), Segment(6, tuple(columns))
    for pipeline, lookups in zip(pipelines, given, strict=True):
        wanted = executor.run(pipeline, [segment], lookups, [])
        assert wanted.grouped is not None
        assert wanted.grouped.words[0].tolist() == [2]
        assert outcomes_equal(wanted, hosted.run(pipeline, [segment], lookups, []))


@pytest.mark.timeout(600)
@pytest.mark.parametrize("one_of", [10, ALL])
def test_kernels_of_the_corpus_equal_their_twin(tmp_path: Path, one_of: int) -> None:
    given = recorded_pipelines.recorded([2])[::one_of]
    hosted = Hosted([executor.specialize(p, each) for _, p, segments, *_ in given for each in segments], tmp_path)
    with np.errstate(all="ignore"):
        wrong = [name for name, *what in given if not outcomes_equal(executor.run(*what), hosted.run(*what))]
    assert not wrong
