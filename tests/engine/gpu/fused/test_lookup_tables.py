"""Lookup tables hold the rows of every key, built by NumPy and, on a GPU, by CuPy in device memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from gpudb.engine.gpu.fused.numpy_backend.hashing import probe_hash_table
from gpudb.engine.gpu.fused.translate.lookup_tables import (
    BuildColumn,
    LookupTable,
    build_lookup_table,
    column_from_device,
    column_from_series,
    index_keys,
)
from gpudb.engine.gpu.fused.translate.typed_values import NotFused
from gpudb.types import INT8, SqlType

Keys = Callable[[np.random.Generator], list[np.ndarray[Any, Any]]]
CASES: dict[str, Keys] = {
    "unique": lambda rng: [rng.permutation(5000) - 100],
    "several": lambda rng: [rng.integers(-7, 300, 5000)],
    "skewed": lambda rng: [np.where(rng.random(5000) < 0.9, 3, rng.integers(0, 1000, 5000))],
    "sparse": lambda rng: [rng.permutation(5000) * 10**12],
    "sparse, several": lambda rng: [rng.integers(0, 500, 5000) * 10**12],
    "two": lambda rng: [rng.integers(0, 90, 5000), rng.integers(0, 10**9, 5000)],
    "none": lambda rng: [np.zeros(0, np.int64)],
}


WIDE = np.array([-1, -2, 0, 1, 2**62, -(2**62)])
"""Payloads of 64 bits, among them those whose bits are all ones, or all but the last."""


def _check(keys: Keys, xp: Any, *, nulls: bool, distinct: bool, selective: bool, wide: bool = False) -> None:
    rng = np.random.default_rng(7)
    values = keys(rng)
    rows = len(values[0])
    valid = rng.random(rows) < 0.8 if nulls else None
    payload = rng.choice(WIDE, rows) if wide else rng.integers(-5, 10**6, rows)
    real = rng.random(rows)
    there = rng.random(rows) < 0.5

    def placed(array: Any) -> Any:
        return None if array is None else xp.asarray(array)

    held = [BuildColumn(placed(each), placed(valid), (0, 0)) for each in values]
    index = index_keys(held, distinct=distinct)
    bounds = (int(payload.min()), int(payload.max())) if rows else (0, 0)
    payloads = [] if distinct else [
        BuildColumn(placed(payload), placed(there), bounds), BuildColumn(real, None, None),
    ]  # fmt: skip
    made = build_lookup_table(index, payloads, selective=selective)
    wanted: dict[tuple[int, ...], list[Any]] = {}
    for row in range(rows):
        if valid is None or valid[row]:
            key = tuple(int(each[row]) for each in values)
            wanted.setdefault(key, []).append((int(payload[row]) if there[row] else None, float(real[row])))
    assert index.most == max((len(found) for found in wanted.values()), default=1) or distinct
    arrays = [each if isinstance(each, np.ndarray) else each.get() for each in made.arrays]
    asked = [*wanted, tuple(int(each.max(initial=0)) + 1 for each in values), (-(10**15),) * len(values)]
    for key in asked:
        found = _partners(made, arrays, key)
        if distinct:
            assert bool(found) == (key in wanted)
        else:
            assert sorted(map(repr, found)) == sorted(map(repr, wanted.get(key, [])))


def _partners(made: LookupTable, arrays: list[np.ndarray[Any, Any]], key: tuple[int, ...]) -> list[Any]:
    """Returns the payloads of a key's rows, as a kernel reads them."""
    left = iter(arrays)
    place = 0
    for each, low, size in zip(key, made.lows, made.sizes, strict=True):
        if not low <= each < low + size:
            return []
        place = place * size + each - low
    if made.hashed:
        slots, found = probe_hash_table(next(left), np.array([place]))
        if not found[0]:
            return []
        place = int(slots[0])
    places = [place]
    if not made.unique:
        starts = next(left)
        places = list(range(int(starts[place]), int(starts[place + 1])))
    elif made.presence and not next(left)[place >> 3] >> (place & 7) & 1:
        return []
    if not made.widths:
        return [()] * len(places)
    numbers, reals = left
    if not made.hashed and made.unique and not made.presence and not numbers[place]:
        return []
    nothing = made.biases[0] - 1
    return [
        (None if numbers[each] == nothing else int(numbers[each]) + made.bases[0] - made.biases[0], float(reals[each]))
        for each in places
    ]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("nulls", [False, True])
@pytest.mark.parametrize(("distinct", "selective"), [(False, False), (False, True), (True, False)])
def test_tables_hold_every_row(case: str, nulls: bool, distinct: bool, selective: bool) -> None:
    _check(CASES[case], np, nulls=nulls, distinct=distinct, selective=selective)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("selective", [False, True])
def test_payloads_of_64_bits_are_told_from_no_partner(case: str, selective: bool) -> None:
    _check(CASES[case], np, nulls=True, distinct=False, selective=selective, wide=True)


def test_integers_over_all_of_64_bits_leave_no_number_for_null() -> None:
    ends = np.array([-(2**63), 2**63 - 1])
    index = index_keys([BuildColumn(np.arange(2), None, (0, 1))], distinct=False)
    full = BuildColumn(ends, None, (-(2**63), 2**63 - 1))
    made = build_lookup_table(index, [full])
    assert made.presence
    assert made.biases == (0,)
    with pytest.raises(NotFused):
        build_lookup_table(index, [replace(full, valid=np.array([True, True]))])


@pytest.mark.gpu
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("nulls", [False, True])
@pytest.mark.parametrize(("distinct", "selective"), [(False, False), (False, True), (True, False)])
def test_tables_made_on_a_gpu_hold_every_row(case: str, nulls: bool, distinct: bool, selective: bool) -> None:
    import cupy

    _check(CASES[case], cupy, nulls=nulls, distinct=distinct, selective=selective)


@pytest.mark.parametrize("kind", [INT8, SqlType("float8"), SqlType("bool"), SqlType("date")])
def test_a_column_in_a_gpu_is_what_it_is_on_the_host(kind: SqlType) -> None:
    lane = {"int8": pl.Int64, "float8": pl.Float64, "bool": pl.Boolean, "date": pl.Date}[kind.name]
    series = pl.Series([1, None, 0, 5], dtype=pl.Int64).cast(lane)
    host = column_from_series(series, kind)
    raw = {"bool": np.uint8, "date": np.int32}.get(kind.name)
    values = np.array([1, 99, 0, 5])
    values = (values > 0).astype(raw) if kind.name == "bool" else values.astype(raw or values.dtype)
    there = column_from_device(
        (values.astype(np.float64) if kind.name == "float8" else values, np.array([1, 0, 1, 1], bool)), kind
    )
    assert there.bounds == host.bounds
    assert host.valid is not None
    assert there.valid.tolist() == host.valid.tolist()  # type: ignore[union-attr]
    assert there.values.tolist() == host.values.tolist()
