"""Drawn trees of float operations over edge values: row by row the same value or SQLSTATE as PostgreSQL."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

import pytest

from tests.support.functions.evaluate import Evaluator
from tests.support.oracle.server import Oracle

VALUES = (
    "0", "-0", "1", "-1", "2.5", "-3.75", "1e-5", "7e10", "1e308", "-1.7e308", "1e200", "1e-200", "5e-324", "-3e-320",
    "1e-10", "Infinity", "-Infinity", "NaN", None,
)  # fmt: skip
SINGLES = ("0", "-0", "1", "-2.5", "3e38", "-3e38", "1e-45", "1e-30", "Infinity", "NaN", None)
CONSTANTS = (
    *(f"({value}::float8)" for value in ("2", "0.5", "-74.03", "714.28", "1e300", "1e-300", "0", "'Infinity'")),
    "1e30::float4",
)  # fmt: skip
OPERATIONS = ("({} + {})", "({} - {})", "({} * {})", "({} / {})")
FUNCTIONS = (
    "(- {})", "abs({})", "floor({})", "ceil({})", "round({})", "trunc({})", "sqrt({})", "exp({})", "ln({})", "log({})",
    "sin({})", "atan({})", "radians({})", "degrees({})", "asinh({})", "({})::float4", "({})::float8", "power({}, 2)",
    "power({}, -0.5::float8)", "power(1.5::float8, {})", "atan2({}, 1)",
)  # fmt: skip
SHAPES = (
    "(a + b) + c", "(a * b) + c", "c + (a * b)", "(a * b) * c", "a * (b * c)", "(a / b) / c", "a / (b / c)",
    "a / (b * c)", "(a + b) * (c - a)", "(a * b - c) * (a + r)", "floor((a - 74.03) * 714.28) * b", "r * r * a",
    "(r + r) * r / r", "sqrt((a - b) * (a - b) + (c - b) * (c - b))", "0 / (a + b)", "a * 0 / (b + c)",
    "power(a * b, 0)", "power(1, a * b)", "atan(a * b) * c", "exp(a - b) * c", "(a * b)::float4 + r", "-(a * b) - -c",
    "a * b * c * a * b * c * a * b * c * a * b * c * a * b * c * a * b * c * a * b", "a * '1e-300' * b", "a / '1e300' + b",
)  # fmt: skip
TRY = """
CREATE FUNCTION pg_temp.tried(expression text, row_id int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE result text;
BEGIN
    EXECUTE format('SELECT (%s)::float8::text FROM pg_temp.edges WHERE id = $1', expression) INTO result USING row_id;
    RETURN coalesce(result, 'null');
EXCEPTION WHEN others THEN RETURN 'error ' || SQLSTATE;
END $$
"""


@pytest.fixture(scope="module")
def evaluator() -> Iterator[Evaluator]:
    made = Evaluator()
    yield made
    made.close()


def _draw_rows(random_: random.Random, count: int) -> list[str]:
    """Returns rows a, b, c, r as SQL; about a third have no value but common ones."""

    def draw(values: tuple[str | None, ...], kind: str) -> str:
        value = random_.choice(values)
        return f"NULL::{kind}" if value is None else f"'{value}'::{kind}"

    rows = []
    for number in range(count):
        some = ("1", "2.5", "-3.75", "7e10", None) if number % 3 == 0 else VALUES
        rows.append(", ".join([*(draw(some, "float8") for _ in "abc"), draw(SINGLES, "float4")]))
    return rows


def _draw_tree(random_: random.Random, depth: int) -> str:
    if depth == 0 or random_.random() < 0.15:
        return random_.choice("aabbccr") if random_.random() < 0.7 else random_.choice(CONSTANTS)
    if random_.random() < 0.3:
        return random_.choice(FUNCTIONS).format(_draw_tree(random_, depth - 1))
    return random_.choice(OPERATIONS).format(_draw_tree(random_, depth - 1), _draw_tree(random_, depth - 1))


def _is_same(expected: str, found: str | None) -> bool:
    if found is None or expected == "null":
        return found is None and expected == "null"
    one, other = float(expected), float(found)
    same_sign = math.copysign(1, one) == math.copysign(1, other) or math.isnan(one)
    return str(one) == str(other) or (math.isclose(one, other, rel_tol=1e-12) and same_sign)


def _compare(expression: str, rows: list[str], oracle: Oracle, evaluator: Evaluator) -> list[str]:
    """Returns how an expression differs: over all rows that have a value, and over each row that PostgreSQL refuses."""
    quoted = expression.replace("'", "''")
    outcome = oracle.execute(f"SELECT pg_temp.tried('{quoted}', id) FROM pg_temp.edges ORDER BY id")
    assert outcome.sqlstate is None, outcome
    expected = [str(row[0]) for row in outcome.rows]
    good = [(row, value) for row, value in zip(rows, expected, strict=True) if not value.startswith("error")]
    wrong = []
    if good:
        values = ", ".join(f"({number}, {row})" for number, (row, _) in enumerate(good))
        found = evaluator.execute(f"SELECT ({expression})::float8 FROM (VALUES {values}) v(id, a, b, c, r) ORDER BY id")
        if found.sqlstate is not None:
            wrong.append(f"{expression}: {found.sqlstate} {found.message}")
        else:
            pairs = zip(good, found.rows, strict=True)
            wrong += [
                f"{expression} of {row}: {want}, not {got}" for (row, want), (got,) in pairs if not _is_same(want, got)
            ]
    bad = [(row, value) for row, value in zip(rows, expected, strict=True) if value.startswith("error")]
    for row, state in bad[:4]:
        # a second row keeps the values from being constants
        both = f"({row}, 1), (NULL::float8, NULL::float8, NULL::float8, NULL::float4, 2)"
        found = evaluator.execute(f"SELECT ({expression})::float8 FROM (VALUES {both}) v(a, b, c, r, n) WHERE n = 1")
        if found.sqlstate != state.removeprefix("error "):
            wrong.append(f"{expression} of {row}: {state}, not {found.sqlstate} {found.rows}")
    return wrong


@pytest.mark.parametrize("seed", range(2))
def test_trees_are_postgresqls(seed: int, oracle: Oracle, evaluator: Evaluator) -> None:
    random_ = random.Random(seed)
    rows = _draw_rows(random_, 50)
    drawn = [_draw_tree(random_, 2 + number % 3) for number in range(24)]
    oracle.execute("DROP TABLE IF EXISTS pg_temp.edges")
    values = ", ".join(f"({number}, {row})" for number, row in enumerate(rows))
    oracle.execute(f"CREATE TEMP TABLE edges AS SELECT * FROM (VALUES {values}) v(id, a, b, c, r)")
    oracle.execute("DROP FUNCTION IF EXISTS pg_temp.tried")
    assert oracle.execute(TRY).sqlstate is None
    wrong = [each for expression in (*SHAPES, *drawn) for each in _compare(expression, rows, oracle, evaluator)]
    oracle.execute("DROP FUNCTION pg_temp.tried")
    oracle.execute("DROP TABLE pg_temp.edges")
    assert not wrong, f"{len(wrong)} differ:\n" + "\n".join(wrong[:20])
