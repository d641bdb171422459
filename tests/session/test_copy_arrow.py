"""COPY TO in the format arrow: the stream's types and values, files, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

from gpudb.errors import GpudbError
from gpudb.session.database import Database
from gpudb.session.session import Session
from tests.support.copy_outcomes import run

QUERY = """SELECT i, i::int2 AS s, i / 2.0::float8 AS f, i::numeric(8, 2) AS n, 'text ' || i AS t, i % 2 = 0 AS b,
    date '2024-01-01' + i AS d, timestamptz '2024-01-01 00:00+00' AS z, ARRAY[i, NULL] AS a, nullif(i, 1) AS missing,
    i / 3.0 AS quotient, '1.2.3.4'::inet AS address, 'x'::char(3) AS padded
FROM generate_series(1, {rows}) AS i ORDER BY i"""


@pytest.fixture
def session(database: Database) -> Iterator[Session]:
    opened = database.session("gpudb", {"TimeZone": "UTC"})
    yield opened
    opened.close()


def _table(session: Session, query: str) -> pa.Table:
    tag, data = run(session, f"COPY ({query}) TO STDOUT (FORMAT arrow)")
    found = pa.ipc.open_stream(data).read_all()
    assert tag == f"COPY {found.num_rows}"
    return found


def test_types_and_values(session: Session) -> None:
    found = _table(session, QUERY.format(rows=2))
    assert [str(field.type) for field in found.schema] == [
        "int32", "int16", "double", "decimal128(8, 2)", "string", "bool", "date32[day]", "timestamp[us, tz=UTC]",
        "list<item: int32>", "int32", "string", "string", "string",
    ]  # fmt: skip
    assert found.schema.field("n").metadata == {b"oid": b"1700", b"typmod": b"524294"}
    assert found.select(["i", "f", "t", "a", "missing", "quotient", "address", "padded"]).to_pylist() == [
        {
            "i": number,
            "f": number / 2,
            "t": f"text {number}",
            "a": [number, None],
            "missing": None if number == 1 else number,
            "quotient": quotient,
            "address": "1.2.3.4",
            "padded": "x  ",
        }
        for number, quotient in ((1, "0.33333333333333333333"), (2, "0.66666666666666666667"))
    ]


def test_many_rows_come_in_batches(session: Session) -> None:
    _, data = run(session, "COPY (SELECT i FROM generate_series(1, 200000) AS i ORDER BY i) TO STDOUT (FORMAT arrow)")
    batches = list(pa.ipc.open_stream(data))
    assert max(batch.num_rows for batch in batches) <= 65_536
    assert [row for batch in batches for row in batch.column(0).to_pylist()] == list(range(1, 200_001))


def test_no_rows(session: Session) -> None:
    assert _table(session, "SELECT 1 AS a WHERE false").schema.names == ["a"]


def test_a_file_that_others_read(session: Session, tmp_path: Path) -> None:
    path = tmp_path / "rows.arrow"
    assert run(session, f"COPY ({QUERY.format(rows=3)}) TO '{path}' (FORMAT arrow)")[0] == "COPY 3"
    assert pa.ipc.open_file(path).read_all()["i"].to_pylist() == [1, 2, 3]
    assert pl.read_ipc(path)["t"].to_list() == ["text 1", "text 2", "text 3"]


@pytest.mark.parametrize(
    ("statement", "sqlstate", "message"),
    [
        ("COPY (SELECT 1) TO STDOUT (FORMAT arrow, DELIMITER ',')", "42601", "cannot specify DELIMITER in ARROW mode"),
        ("COPY (SELECT 1) TO STDOUT (FORMAT arrow, HEADER)", "0A000", "cannot specify HEADER in ARROW mode"),
        ("COPY (SELECT) TO STDOUT (FORMAT arrow)", "0A000", "rows without columns have no form in Arrow"),
        ("COPY (SELECT 1 / 0) TO STDOUT (FORMAT arrow)", "22012", "division by zero"),
        ("COPY pg_class FROM STDIN (FORMAT arrow)", "0A000", "COPY FROM in the format arrow is not supported"),
        ("COPY (SELECT 1) TO STDOUT (FORMAT feather)", "22023", 'COPY format "feather" not recognized'),
    ],
)
def test_errors(session: Session, statement: str, sqlstate: str, message: str) -> None:
    with pytest.raises(GpudbError) as caught:
        run(session, statement)
    session.sync()
    assert (caught.value.sqlstate, caught.value.message) == (sqlstate, message)
