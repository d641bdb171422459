"""Statements of clients on the system catalog: gpudb returns what PostgreSQL returns."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support import catalog_differences
from tests.support.catalog_sides import Side
from tests.support.oracle.wire import Outcome

STATEMENTS = json.loads(Path(__file__).with_name("statements.json").read_text(encoding="utf-8"))
_OID, _INTEGERS = 26, {20, 23}
_BOOTSTRAP_ROLE = "10"

Row = tuple[str | None, ...]


def _compared(outcome: Outcome, side: Side, ignored: set[str]) -> list[Row]:
    """The rows to compare: user objects' OIDs replaced by names, columns that may differ removed."""
    kept = [index for index, name in enumerate(outcome.columns) if name not in ignored]
    rows = []
    for row in outcome.rows:
        made = tuple(_labelled(row[index], outcome.oids[index], side) for index in kept)
        text = "|".join(cell or "" for cell in made)
        if not any(pattern.search(text) for pattern in catalog_differences.ROWS):
            rows.append(tuple("gpudb" if cell == catalog_differences.BOOTSTRAP else cell for cell in made))
    return rows


def _labelled(value: str | None, oid: int, side: Side) -> str | None:
    if value is None:
        return None
    if oid == _OID:
        return side.labels.get(value, "role gpudb" if value == _BOOTSTRAP_ROLE else value)
    return side.labels.get(value, value) if oid in _INTEGERS else re.sub(r"_(\d{5,10})$", "_own", value)


@pytest.mark.parametrize(
    "statement", STATEMENTS, ids=[f"{number}-{each['client']}-{each['what']}" for number, each in enumerate(STATEMENTS)]
)
def test_same_as_postgresql(statement: dict[str, Any], postgresql: Side, gpudb: Side) -> None:
    """Columns, types and rows agree; in order where the statement has ORDER BY."""
    expected, actual = postgresql.run(statement["sql"]), gpudb.run(statement["sql"])
    assert actual.sqlstate == expected.sqlstate, f"{statement['sql']}\n{actual.sqlstate} {actual.message}"
    assert actual.columns == expected.columns
    assert actual.oids == expected.oids, list(zip(expected.columns, expected.oids, actual.oids, strict=True))
    ignored = (
        catalog_differences.COLUMNS.keys()
        | catalog_differences.OF_STATEMENT.get((statement["client"], statement["what"]), {}).keys()
    )
    wanted, given = _compared(expected, postgresql, set(ignored)), _compared(actual, gpudb, set(ignored))
    ordered = statement.get("ordered", bool(re.search(r"ORDER BY[^)]*$", statement["sql"], re.I)))
    if not ordered:
        wanted, given = sorted(wanted, key=repr), sorted(given, key=repr)
    missing = [row for row in wanted if row not in given][:5]
    extra = [row for row in given if row not in wanted][:5]
    assert given == wanted, f"{statement['sql']}\nonly PostgreSQL: {missing}\nonly gpudb: {extra}"
