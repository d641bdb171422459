"""Quotients, deviations and co-moments of columns equal those of Python's integers; the kernels' equal NumPy's."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpudb.engine.gpu.fused.codegen.building_blocks import load_headers, read_source
from gpudb.engine.gpu.fused.cuda import nvrtc
from gpudb.exact import quotients, words
from gpudb.exact.deviations import co_moments, deviations, deviations_of_groups
from gpudb.exact.numerics import Numerics
from tests.support.exact_numbers import LIMIT, find_deviation, pick
from tests.support.fused.hosted import COMPILER, HostedFile

ROWS = 400
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="needs g++")


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> HostedFile:
    return HostedFile(read_source("exact.cu"), (), tmp_path_factory.mktemp("exact"))


def _quotient_case(seed: int) -> tuple[list[int], int, list[int], int, list[int]]:
    draw = random.Random(seed)
    bits, other_bits = draw.choice((10, 60, 100, 126)), draw.choice((10, 31, 40, 63, 90, 126))
    scale, other_scale = draw.choice((0, 2, 8, 18, 30)), draw.choice((0, 2, 8, 18, 30))
    dividends, divisors = ([pick(draw, size) for _ in range(ROWS)] for size in (bits, other_bits))
    return dividends, scale, divisors, other_scale, [draw.randint(0, 20) for _ in range(ROWS)]


Row = tuple[int, int, bool] | None
"""A value, its display scale, and whether it has lost decimals; None for one of more than 38 digits."""


def _expect_quotient(a: int, scale: int, b: int, other: int, shown: int, carried: int) -> Row:
    found = quotients.divide_value(a, scale, b, other, shown, carried) if b else (0, 0, False)
    return found if abs(found[0]) < LIMIT else None


def _rows(made: Numerics) -> list[Row]:
    columns = made.shown.tolist(), made.overflow.tolist(), made.lost.tolist()
    rows = zip(words.to_integers(made.values), *columns, strict=True)
    return [None if overflow else (value, shown, lost) for value, shown, overflow, lost in rows]


def _layout(seed: int) -> int:
    """Returns the scale of results: every other time the usual one."""
    return (20, 16, 20, 28, 20, 6, 20, 34, 20, 0, 20, 38)[seed % 12]


@pytest.mark.parametrize("seed", range(40))
def test_quotients_are_those_of_integers(seed: int) -> None:
    a, scale, b, other, shown = _quotient_case(seed)
    carried = _layout(seed)
    made = quotients.divide(
        words.from_integers(a), scale, words.from_integers(b), other, np.array(shown), carried=carried
    )
    wanted = [_expect_quotient(x, scale, y, other, s, carried) for x, y, s in zip(a, b, shown, strict=True)]
    assert _rows(made) == wanted
    few = slice(0, quotients.FEW_ROWS)
    made = quotients.divide(
        words.from_integers(a[few]), scale, words.from_integers(b[few]), other, np.array(shown[few]), carried=carried
    )
    assert _rows(made) == wanted[few]


def test_no_rows_have_no_quotients() -> None:
    none = np.empty((0, 2), np.int64)
    made = quotients.divide(none, 2, none, 0, np.empty(0, np.int8))
    assert _rows(made) == []
    assert made.overflow.dtype == bool


def test_many_values_are_not_computed_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[int] = []
    for module, name in ((quotients, "divide_value"), (words, "to_integers"), (words, "from_integers")):
        monkeypatch.setattr(module, name, lambda *_: counted.append(1))
    some = np.arange(1, 2 * ROWS + 1).reshape(ROWS, 2)
    counts, shown = np.arange(ROWS) + 2, np.zeros(ROWS, np.int8)
    quotients.divide(some, 2, some[::-1], 1, shown)
    quotients.average(some, some[::-1], counts, 2, shown)
    deviations(counts, some, some, None, 2, sample=True, root=True)
    starts = np.arange(0, ROWS, 8)
    deviations_of_groups(some, starts, 2, shown[starts], sample=True, root=True, carried=20)
    assert counted == []


@pytest.mark.parametrize("seed", range(20))
def test_averages_of_sums_in_two_parts_are_those_of_integers(seed: int) -> None:
    draw = random.Random(seed)
    scale, carried = draw.choice((0, 2, 18)), _layout(seed)
    high, low = ([pick(draw, bits) for _ in range(ROWS)] for bits in (70, 90))
    counts, shown = [draw.randint(1, 10**6) for _ in range(ROWS)], [draw.randint(0, 20) for _ in range(ROWS)]
    parts = words.from_integers(high), words.from_integers(low)
    made = quotients.average(*parts, np.array(counts), scale, np.array(shown), carried=carried)
    sums = [a * quotients.HALF + b for a, b in zip(high, low, strict=True)]
    rows = zip(sums, counts, shown, strict=True)
    wanted = [_expect_quotient(total, scale, count, 0, least, carried) for total, count, least in rows]
    for found, row in zip(_rows(made), wanted, strict=True):
        assert found == row


@pytest.mark.parametrize("seed", range(24))
def test_deviations_of_groups_are_those_of_integers(seed: int) -> None:
    draw = random.Random(seed)
    bits, scale, sample, root = draw.choice((12, 60, 100, 126)), draw.choice((0, 2, 10, 20)), seed % 2 > 0, seed % 4 > 1
    groups = [[pick(draw, bits) for _ in range(draw.choice((1, 2, 3, 10)))] for _ in range(ROWS)]
    starts = np.cumsum([0, *(len(each) for each in groups[:-1])])
    values = words.from_integers([value for each in groups for value in each])
    shown, carried = np.full(ROWS, scale, np.int8), _layout(seed // 4)
    made = deviations_of_groups(values, starts, scale, shown, sample=sample, root=root, carried=carried)
    for group, result in zip(groups, _rows(made), strict=True):
        wanted = find_deviation(group, scale, sample=sample, root=root, carried=carried)
        if wanted is None:
            assert result == (0, 0, False)
        elif wanted[0] >= LIMIT:
            assert result is None or (result[2] and wanted[2])
        else:
            assert result == wanted


@pytest.mark.parametrize("seed", range(48))
def test_deviations_are_those_of_integers(seed: int) -> None:
    counts, totals, squares, high, groups, scale, sample, root = _deviation_case(seed)
    carried = _layout(seed // 4)
    made = deviations(counts, totals, squares, high, scale, sample=sample, root=root, carried=carried)
    for values, result in zip(groups, _rows(made), strict=True):
        wanted = find_deviation(values, scale, sample=sample, root=root, carried=carried)
        if wanted is None:
            assert result == (0, 0, False)
        elif wanted[0] >= LIMIT:
            assert result is None or (result[2] and wanted[2])
        else:
            assert result == wanted


def _deviation_case(seed: int) -> tuple[Any, Any, Any, Any, list[list[int]], int, bool, bool]:
    draw = random.Random(seed)
    bits, scale = draw.choice((4, 12, 30, 50, 63)), draw.choice((0, 2, 5, 10, 18))
    groups = []
    for _ in range(ROWS):
        size = draw.choice((1, 2, 3, 10, 40))
        values = [pick(draw, bits) for _ in range(size)]
        groups.append([values[0]] * size if draw.random() < 0.2 else values)
    totals = words.from_integers([sum(values) for values in groups])
    squares = [[value * value for value in values] for values in groups]
    if bits < 63:
        low, high = words.from_integers(list(map(sum, squares))), None
    else:
        low, high = (
            words.from_integers([sum(part(v) for v in values) for values in squares]) for part in (_low, _high)
        )
    return np.array([len(each) for each in groups]), totals, low, high, groups, scale, seed % 2 > 0, seed % 4 > 1


def _low(value: int) -> int:
    return value % 2**64


def _high(value: int) -> int:
    return value >> 64


@pytest.mark.parametrize("seed", range(6))
def test_co_moments_are_those_of_integers(seed: int) -> None:
    counts, x, y, products = _co_moment_case(seed)
    made = co_moments(np.array(counts), *map(words.from_integers, (x, y, products)))
    for found, n, a, b, c in zip(made.tolist(), counts, x, y, products, strict=True):
        assert found == pytest.approx(float(n * c - a * b), rel=1e-15, abs=0)


def _co_moment_case(seed: int) -> tuple[list[int], list[int], list[int], list[int]]:
    draw = random.Random(seed)
    x, y, products = ([pick(draw, bits) for _ in range(ROWS)] for bits in (70, 90, 120))
    return [draw.randint(0, 10**6) for _ in range(ROWS)], x, y, products


@needs_compiler
@pytest.mark.parametrize("seed", range(40))
def test_the_kernels_quotients_are_the_same(seed: int, kernels: HostedFile) -> None:
    a, scale, b, other, shown = _quotient_case(seed)
    dividends, divisors, least = words.from_integers(a), words.from_integers(b), np.array(shown, np.int32)
    valid = np.random.default_rng(seed).random(ROWS) < 0.9
    made = _Results()
    kernels(
        "quotients",
        2,
        (
            *(dividends, np.int32(scale), divisors, np.int32(other), least, np.int32(_layout(seed)), valid),
            *(np.int64(ROWS), *made.arguments),
        ),
    )
    wanted = quotients.divide(dividends, scale, divisors, other, least, carried=_layout(seed))
    made.check(wanted, valid & (words.to_integers(divisors) != np.array(0)))


@needs_compiler
@pytest.mark.parametrize("seed", range(48))
def test_the_kernels_deviations_are_the_same(seed: int, kernels: HostedFile) -> None:
    counts, totals, squares, high, _, scale, sample, root = _deviation_case(seed)
    made = _Results()
    carried = _layout(seed // 4)
    options = np.int32(scale), np.int32(sample), np.int32(root), np.int32(carried), np.int64(ROWS)
    kernels("deviations", 2, (counts, totals, squares, high, *options, *made.arguments))
    wanted = deviations(counts, totals, squares, high, scale, sample=sample, root=root, carried=carried)
    made.check(wanted, counts > sample)


@needs_compiler
@pytest.mark.parametrize("seed", range(6))
def test_the_kernels_co_moments_are_the_same(seed: int, kernels: HostedFile) -> None:
    counts, *sums = _co_moment_case(seed)
    operands = np.array(counts), *map(words.from_integers, sums)
    values, found, flags = np.empty(ROWS), np.empty(ROWS, np.uint8), np.zeros(2, np.uint32)
    kernels("co_moments", 2, (*operands, np.int64(ROWS), values, found, flags, np.int32(1)))
    assert np.array_equal(values, co_moments(*operands))
    assert np.array_equal(found > 0, operands[0] > 0)
    assert flags.tolist() == [0, int((operands[0] == 0).sum())]


class _Results:
    """The arrays that a kernel fills."""

    def __init__(self) -> None:
        self.values, self.shown = np.empty((ROWS, 2), np.int64), np.empty(ROWS, np.int8)
        self.found, self.flags = np.empty(ROWS, np.uint8), np.zeros(2, np.uint32)

    @property
    def arguments(self) -> tuple[Any, ...]:
        return self.values, self.shown, self.found, self.flags, np.int32(1)

    def check(self, wanted: Numerics, valid: np.ndarray[Any, Any]) -> None:
        """Compares the results with those of NumPy in the rows that have one."""
        assert np.array_equal(self.found > 0, valid)
        held = valid & ~wanted.overflow & ~wanted.lost
        assert np.array_equal(self.values[held], wanted.values[held])
        assert np.array_equal(self.shown[held], wanted.shown[held])
        failed = int(wanted.overflow[valid].any()) + 2 * int(wanted.lost[valid].any())
        assert self.flags.tolist() == [failed, int((~valid).sum())]


def test_the_kernels_compile(tmp_path: Path) -> None:
    made = nvrtc.compile_source(read_source("exact.cu"), load_headers(), "sm_90", folder=tmp_path)
    assert made.cubin[:4] == b"\x7fELF"
    assert made.spilled == 0


@pytest.mark.parametrize("seed", range(4))
def test_words_add_up_and_sort_as_integers(seed: int) -> None:
    draw = random.Random(seed)
    values = [pick(draw, bits) for bits in (30, 70, 120) for _ in range(200)]
    held = words.from_integers(values)
    assert words.to_integers(held) == values
    starts = np.array(sorted({0, *(draw.randrange(600) for _ in range(40))}))
    sums = words.to_integers(words.sum_groups(held, starts))
    ends = [*starts.tolist()[1:], 600]
    assert sums == [sum(values[first:last]) for first, last in zip(starts.tolist(), ends, strict=True)]
    order = {value: rank for rank, value in enumerate(sorted(set(values)))}
    assert words.rank(held).tolist() == [order[value] for value in values]
    assert words.magnitude_at_least(held, 10**25).tolist() == [abs(value) >= 10**25 for value in values]
    small = words.from_integers(values[:200])
    assert words.narrow(small).tolist() == values[:200]
    assert words.is_wide(words.narrow(held))


def test_parts_carry() -> None:
    parts = [np.array([2**40, 0, 5]), np.array([2**35, 1, 0]), np.array([3, 0, 0]), np.array([-7, -1, -1])]
    wanted = [sum(int(part[row]) << 32 * place for place, part in enumerate(parts)) for row in range(3)]
    assert words.to_integers(words.from_parts(parts)) == wanted
    assert words.to_integers(words.from_parts([np.array([-3, 2**63 - 1])])) == [-3, 2**63 - 1]
