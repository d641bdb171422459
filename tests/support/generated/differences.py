"""Reads the list of intended differences (differences.toml), and implements the rules beyond its patterns."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal, localcontext
from functools import cache
from pathlib import Path

from tests.support.generated.compare import Difference
from tests.support.oracle.wire import Outcome

LIST = Path(__file__).parents[2] / "differential" / "generated" / "differences.toml"

_NUMERICS = frozenset({1700, 1231})
_FLOATS = frozenset({700, 701})
_BPCHAR = 1042
_TEMPLATE = re.compile(r'"EEEE"|multiple decimal points|cannot use "|must be ahead of')
"""to_char's messages about a template, in syntax errors (42601) of the data."""
_DECIMALS = Decimal(1).scaleb(-20)


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the list."""

    row: str
    sql: str = ""
    oracle: str = ""
    gpudb: str = ""
    rule: str = ""

    def takes(self, found: Difference) -> bool:
        """Returns whether the entry covers a difference."""
        parts = ((self.sql, found.made.sql), (self.oracle, _told(found.oracle)), (self.gpudb, _told(found.gpudb)))
        return all(re.search(pattern, text) for pattern, text in parts) and (not self.rule or _RULES[self.rule](found))


@cache
def entries() -> tuple[Entry, ...]:
    """Returns the list."""
    return tuple(Entry(**each) for each in tomllib.loads(LIST.read_text(encoding="utf-8"))["difference"])


def reason(found: Difference) -> Entry | None:
    """Returns the entry that covers a difference; None if it is a fault."""
    return next((entry for entry in entries() if entry.takes(found)), None)


def _told(outcome: Outcome) -> str:
    if outcome.failed:
        return f"{outcome.sqlstate} {outcome.message}"
    return "rows: " + "; ".join(", ".join("NULL" if value is None else value for value in row) for row in outcome.rows)


def _same_cells(found: Difference, same: Callable[[str, str, int], bool]) -> bool:
    """Returns whether the rows agree, with `same` deciding on cells that differ."""
    one, other = found.oracle, found.gpudb
    if (
        one.failed
        or other.failed
        or (one.columns, one.oids, len(one.rows)) != (other.columns, other.oids, len(other.rows))
    ):
        return False
    rows = [sorted(side.rows, key=lambda row: _place(row, one.oids)) for side in (one, other)]
    return all(
        left == right or (left is not None and right is not None and same(left, right, oid))
        for left_row, right_row in zip(*rows, strict=True)
        for left, right, oid in zip(left_row, right_row, one.oids, strict=True)
    )


def _place(row: tuple[str | None, ...], oids: tuple[int, ...]) -> tuple[object, ...]:
    """A sort key that places slightly different rows at the same position on both sides: exact cells first."""
    exact = tuple((cell is None, (cell or "").strip()) for cell, oid in zip(row, oids) if oid not in _NUMERICS)
    numbers = ((cell is None, cell or "") for cell, oid in zip(row, oids) if oid == 1700)
    return exact, tuple((missing, Decimal(0 if missing else cell)) for missing, cell in numbers)


def _twenty_decimals(found: Difference) -> bool:
    """Returns whether the numbers differ only beyond the twentieth decimal."""

    def same(left: str, right: str, oid: int) -> bool:
        if oid not in _NUMERICS:
            return False
        with localcontext(prec=200, rounding=ROUND_HALF_UP):
            pairs = zip(left.strip("{}").split(","), right.strip("{}").split(","), strict=True)
            return all(
                abs(Decimal(a).quantize(_DECIMALS) - Decimal(b).quantize(_DECIMALS)) <= _DECIMALS for a, b in pairs
            )

    return _same_cells(found, same)


def _trailing_blanks(found: Difference) -> bool:
    """Returns whether the texts differ only in blanks, also as bytes and within LIKE."""
    if "bytea" in found.made.sql or "~~" in found.made.sql or "LIKE" in found.made.sql:
        return not found.oracle.failed and not found.gpudb.failed
    if _BPCHAR not in found.oracle.oids and "bpchar" not in found.made.sql:
        return False
    return _same_cells(found, lambda left, right, oid: left.replace(" ", "") == right.replace(" ", ""))


def _order_of_evaluation(found: Difference) -> bool:
    """A nested expression with data errors: each side raises one of them, or returns NULL without evaluating them."""
    if found.made.kind != "expression":
        return False
    sides = found.oracle, found.gpudb
    wrong = [(side.sqlstate or "")[:2] in {"21", "22", "0A"} or bool(_TEMPLATE.search(side.message)) for side in sides]
    unknown = [not side.failed and all(value is None for row in side.rows for value in row) for side in sides]
    if "21000" in {side.sqlstate for side in sides} and not (sides[0].failed and sides[1].failed):
        return True  # a subquery that the answer does not need
    if found.oracle.sqlstate == "22003" and not found.gpudb.failed and re.search("[<>=]|BETWEEN|IN ", found.made.sql):
        return True  # a compared sum: its constant is moved to the other side
    if found.oracle.failed and re.search(r"::reg\w+|\w+val\(", found.made.sql):
        return True  # a name that PostgreSQL looks up while parsing
    if unknown == [True, True] and re.search(r"generate_series|unnest", found.made.sql):
        return True  # a set-returning function in an operand beside NULL
    if wrong[0] and re.search(r"(ANY|ALL) \('\{\}'", found.made.sql):
        return True  # a comparison with an empty array
    # PostgreSQL evaluates constants in branches not taken, and only the operands that decide a condition.
    lazy = re.search(r"CASE|coalesce|BETWEEN|\bAND\b|\bOR\b|\bIN\b", found.made.sql) is not None
    return any(wrong) and all(
        bad or null or (lazy and not side.failed) for bad, null, side in zip(wrong, unknown, sides, strict=True)
    )


def _negative_zero(found: Difference) -> bool:
    """Returns whether the rows differ only in the sign of a float's zero."""
    return _same_cells(found, lambda left, right, oid: oid in _FLOATS and (left, right) == ("-0", "0"))


def _equal_numbers(found: Difference) -> bool:
    """Returns whether the rows differ only in trailing zeros of decimals, where equal numbers are merged."""
    one, other = found.oracle, found.gpudb
    if not re.search(r"\b(UNION|INTERSECT|EXCEPT|DISTINCT|GROUP BY|max|min|USING)\b", found.made.sql, re.I):
        return False
    if one.failed or other.failed or (one.columns, one.oids) != (other.columns, other.oids):
        return False

    def plain(value: str | None, oid: int) -> str | None:
        return value.rstrip("0").rstrip(".") if value is not None and oid == 1700 and "." in value else value

    rows = [sorted(str([*map(plain, row, one.oids)]) for row in side.rows) for side in (one, other)]
    return rows[0] == rows[1]


_RULES: dict[str, Callable[[Difference], bool]] = {
    "twenty decimals": _twenty_decimals,
    "trailing blanks": _trailing_blanks,
    "order of evaluation": _order_of_evaluation,
    "equal numbers": _equal_numbers,
    "negative zero": _negative_zero,
}
