"""ON_ERROR ignore: skips rows with unreadable values, counts them, and stops at REJECT_LIMIT."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gpudb.errors import GpudbError
from gpudb.session.database import Database
from gpudb.session.session import Session
from tests.support.copy_outcomes import run


@pytest.fixture
def session(database: Database) -> Iterator[Session]:
    opened = database.session("gpudb")
    run(opened, "CREATE TABLE t (a int NOT NULL, b date)")
    try:
        yield opened
    finally:
        opened.sync()
        run(opened, "DROP TABLE t")
        opened.close()


DATA = b'1,2020-01-01\nx,2020-01-01\n2,"soon\n"\n3,\n'


def test_rows_are_left_out_and_counted(session: Session) -> None:
    tag, _ = run(session, "COPY t FROM STDIN (FORMAT csv, ON_ERROR ignore)", DATA)
    assert tag == "COPY 2"
    assert run(session, "COPY t TO STDOUT")[1] == b"1\t2020-01-01\n3\t\\N\n"
    assert [notice.message for notice in session.take_notices()] == [
        "2 rows were skipped due to data type incompatibility"
    ]


def test_each_row_is_told_of(session: Session) -> None:
    run(session, "COPY t FROM STDIN (FORMAT csv, ON_ERROR 'ignore', LOG_VERBOSITY verbose)", DATA)
    assert [notice.message for notice in session.take_notices()] == [
        'skipping row due to data type incompatibility at line 2 for column "a": "x"',
        'skipping row due to data type incompatibility at line 4 for column "b": "soon\n"',
        "2 rows were skipped due to data type incompatibility",
    ]


@pytest.mark.parametrize(
    ("options", "data", "sqlstate"),
    [
        ("ON_ERROR ignore", b"1,2020-01-01\n2\n", "22P04"),
        ("ON_ERROR ignore", b"x,2020-01-01\n,2020-01-01\n", "23502"),
        ("ON_ERROR ignore, REJECT_LIMIT 1", DATA, "22P02"),
        ("ON_ERROR stop", DATA, "22P02"),
        ("ON_ERROR maybe", DATA, "22023"),
        ("REJECT_LIMIT 5", DATA, "22023"),
        ("ON_ERROR ignore, REJECT_LIMIT 0", DATA, "22023"),
        ("LOG_VERBOSITY loud", DATA, "22023"),
    ],
)
def test_what_still_stops(session: Session, options: str, data: bytes, sqlstate: str) -> None:
    with pytest.raises(GpudbError) as failed:
        run(session, f"COPY t FROM STDIN (FORMAT csv, {options})", data)
    assert failed.value.sqlstate == sqlstate
    session.sync()
    assert run(session, "COPY t TO STDOUT")[1] == b""


def test_a_limit_that_is_kept(session: Session) -> None:
    assert run(session, "COPY t FROM STDIN (FORMAT csv, ON_ERROR ignore, REJECT_LIMIT 2)", DATA)[0] == "COPY 2"
