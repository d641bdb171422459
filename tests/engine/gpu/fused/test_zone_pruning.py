"""Zone pruning: no row is skipped that would be kept, and nearly all are of sorted columns."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.fused.outcomes import outcomes_equal
from gpudb.engine.gpu.fused.columns import zones
from gpudb.engine.gpu.fused.columns.packed_column import concatenate, pack
from gpudb.engine.gpu.fused.ir.pipeline import (
    BOOLEAN,
    Accumulator,
    Compare,
    DateField,
    Expr,
    Field,
    Filter,
    GroupSink,
    Literal,
    Logic,
    Lookup,
    Pipeline,
    RangeCheck,
    RowSink,
)
from gpudb.engine.gpu.fused.numpy_backend import executor
from gpudb.engine.gpu.fused.packed_cache.zone_pruning import ZonePruning, prune_segment

WIDE = (-(10**6), 10**6)
DAYS, NUMBERS = (Field(WIDE, True, place) for place in (0, 1))


def _is(op: str, left: Expr, right: int) -> Compare:
    return Compare(BOOLEAN, left.nullable, op, left, Literal((right, right), False, right))  # type: ignore[arg-type]


def _year(op: str, value: int) -> Expr:
    return _is(op, DateField((-3000, 5000), True, "year", DAYS, False), 1960 + value % 20)


CONDITIONS: tuple[Callable[[int], Expr], ...] = (
    lambda value: _is("<", DAYS, value),
    lambda value: _is(">=", DAYS, value),
    lambda value: _is("==", NUMBERS, value),
    lambda value: _is("!=", DAYS, value),
    lambda value: _year("==", value),
    lambda value: Logic(BOOLEAN, True, "OR", (_is("<", DAYS, value), _is(">", DAYS, value + 300))),
    lambda value: Logic(BOOLEAN, True, "AND", (_is(">", DAYS, value), _is("<=", DAYS, value + 100))),
    lambda value: Logic(BOOLEAN, True, "NOT", (_is("<=", DAYS, value),)),
    lambda value: Compare(BOOLEAN, True, "<", DAYS, NUMBERS),
)


def _segment(seed: int, rows: int, noise: int, cuts: list[int], nulls: float) -> executor.Segment:
    """Mostly ascending days, and numbers; packed batch by batch."""
    rng = np.random.default_rng(seed)
    made = []
    for values in (np.arange(rows) - 1000 + rng.integers(-noise, noise + 1, rows), rng.integers(-500, 2000, rows)):
        there = rng.random(rows) >= nulls
        there[: rows // 3] &= seed % 2 == 0
        pieces = np.split(np.arange(rows), sorted(min(cut, rows) for cut in cuts))
        made.append(concatenate([pack(values[piece], there[piece]) for piece in pieces if len(piece)]))
    return executor.Segment(rows, tuple(made))


def _pipeline(segment: executor.Segment, *steps: Filter | Lookup, rows: bool = True) -> Pipeline:
    count = Accumulator("add", Literal((1, 1), False, 1))
    sink = RowSink((DAYS, NUMBERS)) if rows else GroupSink((), (count,), "one")
    return Pipeline(tuple(column.encoding for column in segment.columns), steps, sink)


@given(
    st.integers(0, 99), st.integers(1, 3000), st.sampled_from((0, 5, 4000)), st.lists(st.integers(1, 3000), max_size=3),
    st.sampled_from((0.0, 0.3, 1.0)), st.lists(st.tuples(st.sampled_from(CONDITIONS), st.integers(-1100, 2100)), min_size=1, max_size=3),
    st.booleans(),
)  # fmt: skip
@settings(max_examples=150, deadline=None, derandomize=True)
def test_no_row_that_is_kept_is_skipped(
    seed: int,
    rows: int,
    noise: int,
    cuts: list[int],
    nulls: float,
    wanted: list[tuple[Callable[[int], Expr], int]],
    found: bool,
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(zones, "ZONE_ROWS", 70)
        segment = _segment(seed, rows, noise, cuts, nulls)
    steps: list[Filter | Lookup] = [Filter(make(value)) for make, value in wanted]
    there = np.arange(50) % 3 > 0
    if found:
        steps.insert(0, Lookup(0, "inner", (DAYS,), (200,), (50,), False, True, (), (), (), True))
    pipeline = _pipeline(segment, *steps)
    lookups = [[np.packbits(there, bitorder="little")]] if found else []
    whole = executor.run(pipeline, [segment], lookups, [])
    some = executor.run(pipeline, prune_segment(pipeline, segment), lookups, [])
    assert outcomes_equal(whole, some)


def test_of_sorted_rows_few_are_read() -> None:
    rows = 10 * zones.ZONE_ROWS
    segment = executor.Segment(rows, (pack(np.arange(rows)), pack(np.arange(rows) % 7)))
    start = Literal((0, 0), False, 3 * zones.ZONE_ROWS + 5)
    after = Filter(Compare(BOOLEAN, False, ">=", DAYS, start))
    few = prune_segment(_pipeline(segment, after, Filter(_is("<", DAYS, 4 * zones.ZONE_ROWS)), rows=False), segment)
    assert [part.rows for part in few] == [zones.ZONE_ROWS]
    assert int(few[0].columns[0].decode(0, 1)[0][0]) == 3 * zones.ZONE_ROWS
    assert prune_segment(_pipeline(segment, Filter(_is("<", DAYS, -1))), segment) == []
    # An expression that may fail is computed for every row, even if a later step drops it.
    fails = Filter(_is(">", RangeCheck((0, 5), False, DAYS, 1), 0))
    assert prune_segment(_pipeline(segment, fails, after), segment) == [segment]
    assert len(prune_segment(_pipeline(segment, after, fails), segment)) == 1
    # Many ranges are merged into few launches.
    odd = np.repeat(np.arange(40) % 2, 100)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(zones, "ZONE_ROWS", 100)
        striped = executor.Segment(len(odd), (pack(odd), pack(odd)))
    assert 1 < len(prune_segment(_pipeline(striped, Filter(_is("==", DAYS, 1))), striped)) <= 16


def test_what_is_read_is_found_anew_for_other_zones() -> None:
    rows = 4 * zones.ZONE_ROWS
    before = [executor.Segment(rows, (pack(np.arange(rows) + start),)) for start in (0, rows)]
    pipeline = _pipeline(before[0], Filter(_is("<", DAYS, zones.ZONE_ROWS)), rows=False)
    wanted = ZonePruning()
    for _ in range(2):
        assert [part.rows for part in wanted.prune(pipeline, before)] == [zones.ZONE_ROWS]
    # Another column of the same values, and another pipeline.
    again = [executor.Segment(rows, (pack(np.arange(rows)),))]
    assert [part.rows for part in wanted.prune(pipeline, again)] == [zones.ZONE_ROWS]
    (part,) = wanted.prune(pipeline, again)
    assert part.columns[0].data.base is again[0].columns[0].data
    assert [part.rows for part in wanted.prune(pipeline, [*before, *again])] == [zones.ZONE_ROWS] * 2
    other = _pipeline(before[0], Filter(_is("<", DAYS, 3 * zones.ZONE_ROWS)), rows=False)
    assert [part.rows for part in wanted.prune(other, before)] == [3 * zones.ZONE_ROWS]
    # A pipeline without columns has no zones.
    bare = [executor.Segment(5, ()), executor.Segment(6, ())]
    count = _pipeline(bare[0], rows=False)
    assert [part.rows for part in wanted.prune(count, bare)] == [5, 6]
    assert [part.rows for part in wanted.prune(count, bare[1:])] == [6]
