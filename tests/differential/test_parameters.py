"""Numeric parameters beyond the digits of any column: prepared statements return PostgreSQL's answers."""

from __future__ import annotations

import pytest

from tests.support.oracle.compare import assert_same
from tests.support.oracle.server import Oracle
from tests.support.oracle.wire import WireClient

_WIDE = "1234567890123456789012.1234"
_SETUP = (
    "CREATE TABLE pw (k integer, v numeric(38,4), s numeric(8,2))",
    f"INSERT INTO pw VALUES (1, {_WIDE}, 2.5), (2, 7, 3)",
)
_STATEMENTS = [
    ("INSERT INTO pw VALUES (3, $1, 1)", _WIDE),
    ("INSERT INTO pw SELECT 4, $1, 3", _WIDE),
    ("UPDATE pw SET v = $1 WHERE k = 4", _WIDE),
    ("UPDATE pw SET v = v + $1 WHERE k = 4", _WIDE),
    ("SELECT k FROM pw WHERE v = $1", _WIDE),
    ("SELECT k FROM pw WHERE s < $1 AND v >= $1", _WIDE),
    ("SELECT k FROM pw WHERE v IN ($1, $2)", _WIDE, "7"),
    ("SELECT k FROM pw WHERE v BETWEEN $1 AND $2", "1", _WIDE),
    ("SELECT k FROM pw WHERE v = ANY ($1)", f"{{{_WIDE},2}}"),
    ("SELECT k FROM pw WHERE k < $1::numeric", _WIDE),
    ("SELECT v + $1, v - $1, $1 - v, coalesce(v, $1) FROM pw", _WIDE),
    ("SELECT $1::numeric, $1::numeric + 1, round($1::numeric, 2), $1::numeric::text, $1::numeric::float8", _WIDE),
    ("SELECT $1::numeric(38,4), $1::numeric(38,2), $1::numeric(38,4) + $2", _WIDE, "1.5"),
    ("SELECT $1::numeric", "10000000000000000000000000000000000000"),
    ("SELECT $1::numeric * 2, $1::numeric < 1", "0.0000000000000000000000012"),
    ("SELECT $1::numeric(38,4)", "1e35"),
    ("SELECT sum(v + $1), max($1) FROM pw WHERE v > $2", _WIDE, "8"),
]


@pytest.mark.parametrize(("sql", "values"), [(sql, values) for sql, *values in _STATEMENTS], ids=lambda each: str(each))
def test_same_as_postgresql(sql: str, values: list[str], oracle: Oracle, gpudb_server: str) -> None:
    with oracle.connect() as one, WireClient(gpudb_server) as other:
        for client in (one, other):
            for statement in ("BEGIN", *_SETUP):
                assert not client.execute(statement).failed
        expected, actual = (client.execute_extended(sql, values) for client in (one, other))
        assert_same(expected, actual, ordered=False)
        kept = [client.execute("SELECT * FROM pw") for client in (one, other)]
        if not expected.failed:
            assert_same(*kept, ordered=False)
        for client in (one, other):
            client.execute("ROLLBACK")


def test_a_plan_serves_narrow_values_after_wide_ones(gpudb_server: str) -> None:
    """EXECUTE keeps its column types for all values."""
    with WireClient(gpudb_server) as client:
        assert not client.execute("PREPARE pw_p (numeric) AS SELECT $1, $1 * 2").failed
        for value, twice in (
            (_WIDE, "2469135780246913578024.2468"),
            ("1.50", "3.00"),
            (_WIDE, "2469135780246913578024.2468"),
        ):
            assert client.execute(f"EXECUTE pw_p ({value})").rows == ((value, twice),)
