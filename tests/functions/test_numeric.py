"""Exact arithmetic on seeded random operands, thousands for each operator, compared with PostgreSQL."""

from __future__ import annotations

import random
from collections.abc import Iterator
from decimal import Decimal

import pytest

from tests.support.functions.evaluate import Evaluator
from tests.support.oracle.compare import differences
from tests.support.oracle.server import Oracle

ROWS = 200
MOST_SCALE = 20


@pytest.fixture(scope="module")
def evaluator() -> Iterator[Evaluator]:
    made = Evaluator()
    yield made
    made.close()


def _number(chance: random.Random, digits: int) -> Decimal:
    whole, scale = chance.randint(0, digits), chance.randint(0, 6)
    value = Decimal(chance.randint(0, 10 ** (whole + scale))).scaleb(-scale)
    if chance.random() < 0.2:
        value = value.quantize(Decimal(1).scaleb(-chance.randint(0, 3))) if value < 10**9 else value
    return -value if chance.random() < 0.5 else value


def _rows(seed: int, digits: int) -> list[tuple[Decimal, Decimal]]:
    chance = random.Random(seed)
    pairs = [(_number(chance, digits), _number(chance, digits)) for _ in range(ROWS)]
    return [(a, b if b else Decimal(1)) for a, b in pairs]


def _compared(oracle: Oracle, evaluator: Evaluator, expressions: str, rows: list[tuple[Decimal, Decimal]]) -> None:
    listed = ", ".join(f"({a}, {b})" for a, b in rows)
    sql = f"SELECT a, b, {expressions} FROM (VALUES {listed}) v(a, b)"
    found = differences(oracle.execute(sql), evaluator.execute(sql), ordered=True)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("expressions", ["a + b, a - b, -a, abs(a)", "a * b", "a % b", "div(a, b)"])
def test_exact(expressions: str, seed: int, oracle: Oracle, evaluator: Evaluator) -> None:
    _compared(oracle, evaluator, expressions, _rows(seed, 11))


@pytest.mark.parametrize("seed", range(8))
def test_quotients(seed: int, oracle: Oracle, evaluator: Evaluator) -> None:
    """Operands whose result scale in PostgreSQL is within gpudb's limit."""
    rows = [(a, b) for a, b in _rows(seed, 9) if abs(a / b) >= Decimal("0.001")]
    assert len(rows) > ROWS // 3
    _compared(oracle, evaluator, "a / b, round(a / b, 3), a / b * 2, a / b + b", rows)


@pytest.mark.parametrize("seed", range(4))
def test_rounding(seed: int, oracle: Oracle, evaluator: Evaluator) -> None:
    expressions = "round(a), trunc(a), ceil(a), floor(a), round(a, 2), trunc(b, 1), round(b, -2), trunc(a, -1), sign(a)"
    _compared(oracle, evaluator, expressions, _rows(seed, 11))


@pytest.mark.parametrize("seed", range(4))
def test_averages(seed: int, oracle: Oracle, evaluator: Evaluator) -> None:
    rows = ", ".join(f"({n % 7}, {a}, {int(b)})" for n, (a, b) in enumerate(_rows(seed, 9)))
    sql = (
        "SELECT k, sum(a), avg(a), avg(b), sum(b), round(stddev(a), 6), round(variance(b), 6), min(b), max(b)"
        f" FROM (VALUES {rows}) v(k, a, b) GROUP BY k ORDER BY k"
    )
    found = differences(oracle.execute(sql), evaluator.execute(sql), ordered=True)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("seed", range(4))
def test_conversions(seed: int, oracle: Oracle, evaluator: Evaluator) -> None:
    expressions = "a::float8, b::float4, a::float8::numeric, a::text, (a / b)::text, a::numeric(30,2), round(a)::int8, a::float8::text"
    rows = [(a, b) for a, b in _rows(seed, 9) if abs(a / b) >= Decimal("0.001")]
    _compared(oracle, evaluator, expressions, rows)
