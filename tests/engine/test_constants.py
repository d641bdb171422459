"""SELECT of constants and parameters: the row built without an engine equals the engine's row."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

import pyarrow as pa
import pytest

from gpudb.engine import constants
from gpudb.session.database import Database
from gpudb.session.session import Session
from tests.support.lab import Lab


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    database = Database(None)
    made = database.session("gpudb")
    yield made
    made.close()
    database.close()


def rows(session: Session, sql: str, *parameters: object) -> list[tuple[object, ...]]:
    """A prepared statement's rows."""
    result = session.execute(session.prepare(sql), parameters)
    try:
        return [tuple(row.values()) for batch in result.batches for row in batch.to_pylist()]
    finally:
        result.close()
        session.sync()


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        ("boolean", True),
        ("smallint", -32768),
        ("integer", 2147483647),
        ("bigint", -9223372036854775808),
        ("double precision", 0.1),
        ("real", 0.5),
        ("text", "naïve ☂"),
        ("text", ""),
        ("varchar(9)", "abc"),
        ("bytea", b"\x00\xff"),
        ("text", None),
        ("integer", None),
        ("date", dt.date(2024, 2, 29)),
    ],
)
def test_one_parameter(session: Session, type_: str, value: object, monkeypatch: pytest.MonkeyPatch) -> None:
    sql = f"SELECT $1::{type_} AS a, 1 AS b"
    got = rows(session, sql, value)
    monkeypatch.setattr("gpudb.session.execution.requests.requests.constant_row", lambda query, parameters: None)
    assert got == rows(session, sql, value)


def test_an_infinite_date_goes_to_the_engine(session: Session) -> None:
    result = session.execute(session.prepare("SELECT $1::date AS a"), ("infinity",))
    days = [batch.column(0).view(pa.int32()).to_pylist() for batch in result.batches]
    result.close()
    session.sync()
    assert days == [[2**31 - 1]]


def test_rows_of_constants_are_made_once(session: Session, lab: Lab) -> None:
    query = lab.request("SELECT 1 AS a, 'x'::text AS b").query
    assert constants.constant_row(query, ()) is constants.constant_row(query, ()) is not None
    for _ in range(2):
        assert rows(session, "SELECT 1 AS a, 'x'::text AS b") == [(1, "x")]


def test_long_constants_are_not_kept(session: Session, lab: Lab) -> None:
    short, long = (lab.request(f"SELECT '{'x' * length}'::text AS a").query for length in (9, 9000))
    assert constants.constant_row(short, ()) is constants.constant_row(short, ())
    assert constants.constant_row(long, ()) is not constants.constant_row(long, ())
    assert rows(session, f"SELECT '{'x' * 9000}'::text AS a") == [("x" * 9000,)]
