"""ON_ERROR ignore: skips rows with unreadable values, counts them, and stops at REJECT_LIMIT."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

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


def test_how_much_is_told(session: Session) -> None:
    """Nothing if silent; by default the number of rows; of long texts the first 100 bytes."""
    assert run(session, "COPY t FROM STDIN (FORMAT csv, ON_ERROR ignore, LOG_VERBOSITY silent)", DATA)[0] == "COPY 2"
    assert session.take_notices() == []
    run(session, "COPY t FROM STDIN (FORMAT csv, ON_ERROR ignore, LOG_VERBOSITY default)", b"1,2020-01-01\nx,\n")
    assert [notice.message for notice in session.take_notices()] == [
        "1 row was skipped due to data type incompatibility"
    ]
    long = b"x" * 101 + b",2020-01-01\n"
    run(session, "COPY t FROM STDIN (FORMAT csv, ON_ERROR ignore, LOG_VERBOSITY verbose)", long)
    assert session.take_notices()[0].message.endswith(f'at line 1 for column "a": "{"x" * 100}..."')


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


# ---- the rejects table


@pytest.fixture
def rejects(session: Session) -> Iterator[None]:
    run(
        session,
        "CREATE TABLE rejects (at timestamptz DEFAULT now(), source text, line bigint, column_name varchar, value text)",
    )
    yield
    session.sync()
    run(session, "DROP TABLE rejects")


_REJECTS = (
    "COPY (SELECT source, line, column_name, value, at IS NOT NULL FROM rejects ORDER BY 1, 2) TO STDOUT (FORMAT csv)"
)


def test_rejected_rows_are_kept(session: Session, rejects: None) -> None:
    options = "FORMAT csv, ON_ERROR ignore, REJECTS_TABLE 'public.rejects'"
    assert run(session, f"COPY t FROM STDIN ({options})", DATA)[0] == "COPY 2"
    assert run(session, _REJECTS)[1] == b'COPY t,2,a,x,t\nCOPY t,4,b,"soon\n",t\n'


def test_rejected_rows_belong_to_the_transaction(session: Session, rejects: None) -> None:
    run(session, "BEGIN")
    run(session, "COPY t FROM STDIN (FORMAT csv, ON_ERROR ignore, REJECTS_TABLE 'rejects')", DATA)
    run(session, "ROLLBACK")
    assert run(session, _REJECTS)[1] == b""
    with pytest.raises(GpudbError):
        data = DATA + b",2020-01-01\n"
        run(session, "COPY t FROM STDIN (FORMAT csv, ON_ERROR ignore, REJECTS_TABLE 'rejects')", data)
    session.sync()
    assert run(session, _REJECTS)[1] == b""


def test_files_of_a_glob_are_one_copy(session: Session, rejects: None, tmp_path: Path) -> None:
    """Each has its header, quoted newlines, and its lines in the rejects table."""
    for number in range(3):
        rows = "".join(f'{number},"2020-01-0{number + 1}"\n' for _ in range(2000))
        (tmp_path / f"part-{number}.csv").write_text(f'a,b\n{rows}"x\ny",2020-01-01\n', encoding="utf-8")
    options = "FORMAT csv, HEADER, ON_ERROR ignore, REJECTS_TABLE 'rejects'"
    assert run(session, f"COPY t FROM '{tmp_path}/part-*.csv' ({options})")[0] == "COPY 6000"
    assert run(session, "COPY (SELECT a, count(*), min(b) FROM t GROUP BY 1 ORDER BY 1) TO STDOUT")[1] == (
        b"0\t2000\t2020-01-01\n1\t2000\t2020-01-02\n2\t2000\t2020-01-03\n"
    )
    expected = "".join(f'"file ""{tmp_path}/part-{number}.csv""",2003,a,"x\ny",t\n' for number in range(3))
    assert run(session, _REJECTS)[1].decode() == expected
    (tmp_path / "part-3.csv").write_text("a,b\n1\n", encoding="utf-8")
    with pytest.raises(GpudbError) as failed:
        run(session, f"COPY t FROM '{tmp_path}/part-*.csv' ({options})")
    assert failed.value.where == f'file "{tmp_path}/part-3.csv", line 2: "1"'
    session.sync()
    assert run(session, "COPY (SELECT count(*) FROM t) TO STDOUT")[1] == b"6000\n"


@pytest.mark.parametrize(
    ("options", "sqlstate"),
    [
        ("REJECTS_TABLE 'rejects'", "22023"),
        ("ON_ERROR ignore, REJECTS_TABLE 'nothing'", "42P01"),
        ("ON_ERROR ignore, REJECTS_TABLE 't'", "42703"),
        ("ON_ERROR ignore, REJECTS_TABLE 'a.b.c'", "42602"),
    ],
)
def test_a_rejects_table_that_cannot_be(session: Session, rejects: None, options: str, sqlstate: str) -> None:
    with pytest.raises(GpudbError) as failed:
        run(session, f"COPY t FROM STDIN (FORMAT csv, {options})", DATA)
    assert failed.value.sqlstate == sqlstate
