"""Loads where processes cannot be used: the server reads and writes the rows itself, and logs so once."""

from __future__ import annotations

import errno
import gzip
import logging
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from gpudb.processes.child import ProcessUnavailable
from gpudb.session.database import Database
from gpudb.session.session import Session
from gpudb.storage import row_processes
from gpudb.storage.row_processes import get_pool
from tests.support.copy_outcomes import run
from tests.support.load_processes import PROCESSES, list_processes, open_database
from tests.support.store_tables import files_under

COPY = "COPY t FROM STDIN (FORMAT csv)"
ROWS = 200_000
LINES = b"".join(b"%d,a text of some length that is in each of the rows\n" % number for number in range(ROWS))
"""Several blocks."""
SUMS = "SELECT count(*)::text || ' ' || sum(a) FROM t"
EXPECTED = f"{ROWS} {ROWS * (ROWS - 1) // 2}".encode()


@pytest.fixture
def database() -> Iterator[Database]:
    """A database whose loads start processes anew."""
    get_pool(PROCESSES).close()
    get_pool(PROCESSES, for_files=True).close()
    made = open_database()
    yield made
    made.close()


@pytest.fixture
def table(database: Database) -> Iterator[Session]:
    """A session with a table `t`."""
    session = database.session("gpudb")
    run(session, "CREATE TABLE t (a int, b text)")
    yield session
    session.close()


@pytest.fixture(params=["no program", "a program that serves nothing", "no room for a process"])
def without(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What keeps processes from being started."""
    if request.param == "no room for a process":

        def refuse(*_: object, **__: object) -> None:
            raise BlockingIOError(11, "Resource temporarily unavailable")

        monkeypatch.setattr(subprocess, "Popen", refuse)
    else:
        program = "/bin/false" if "serves" in request.param else "/does/not/exist"
        monkeypatch.setattr("sys.executable", program)


@pytest.mark.usefixtures("without")
def test_copy(database: Database, table: Session, caplog: pytest.LogCaptureFixture) -> None:
    """All rows, one warning, and no process; so does the next COPY."""
    with caplog.at_level(logging.WARNING):
        for number in (1, 2):
            assert run(table, COPY, LINES, 1 << 20)[0] == f"COPY {ROWS}", number
            assert run(table, SUMS)[1] == EXPECTED
            run(table, "TRUNCATE t")
    assert [each.name for each in caplog.records].count("gpudb.storage.row_processes") == 1
    assert not database.store.row_processes.count
    assert not list_processes()


def test_they_are_tried_again_after_a_pause(
    database: Database, table: Session, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A limit that held once, of open files say, holds nothing up for good; pauses grow while it lasts."""
    now, limited, tried = [1000.0], True, 0
    start = subprocess.Popen

    def refuse(*given: Any, **more: Any) -> Any:
        nonlocal tried
        tried += 1
        if limited:
            raise OSError(errno.EMFILE, "Too many open files")
        return start(*given, **more)

    monkeypatch.setattr(row_processes, "_read_clock", lambda: now[0])
    monkeypatch.setattr(subprocess, "Popen", refuse)
    processes = database.store.row_processes

    def load() -> None:
        assert run(table, COPY, LINES, 1 << 20)[0] == f"COPY {ROWS}"

    with caplog.at_level(logging.WARNING, row_processes.__name__):
        for waited, count in ((0.0, 0), (9.0, 0), (1.0, 0), (19.0, 0)):
            now[0] += waited
            before = tried
            load()
            assert (processes.count, tried > before) == (count, waited in (0.0, 1.0))
        limited = False
        now[0] += 1.0
        assert processes.count == PROCESSES
        load()
    assert processes.count == PROCESSES
    assert list_processes()
    told = [each.getMessage().partition(":")[0] for each in caplog.records if each.name == row_processes.__name__]
    assert told == [
        "the server reads and writes the rows of loads itself for a while",
        "processes read and write the rows of loads again",
    ]
    assert run(table, SUMS)[1] == f"{5 * ROWS} {5 * (ROWS * (ROWS - 1) // 2)}".encode()


@pytest.mark.usefixtures("without")
def test_compressed_file(table: Session, tmp_path: Path) -> None:
    """A file that a process would decompress is read once."""
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(LINES, 1))
    assert run(table, f"SELECT load_data('t', '{tmp_path}/a.csv.gz')")[1] == str(ROWS).encode()
    assert run(table, SUMS)[1] == EXPECTED


def test_files(database: Database, table: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are written by the server where processes have read the rows; nothing stays of those that were begun."""
    call, begun = database.store.row_processes.call, []

    def refuse_files(name: str, arguments: Sequence[object], wanted: object) -> object:
        if name != "write_files":
            return call(name, arguments, wanted)  # type: ignore[arg-type]
        directory, prefix = arguments[1], arguments[3]
        assert isinstance(directory, Path)
        begun.append(directory / f"{prefix}0001.parquet")
        begun[-1].write_bytes(b"PAR1")
        raise ProcessUnavailable("no process")

    monkeypatch.setattr(database.store.row_processes, "call", refuse_files)
    assert run(table, COPY, LINES, 1 << 20)[0] == f"COPY {ROWS}"
    assert run(table, SUMS)[1] == EXPECTED
    assert begun
    assert not set(begun) & files_under(database.store.directory)


def test_without_shared_memory(database: Database, table: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system has no files without a name, columns are sent."""

    def refuse(*_: object) -> int:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr("os.memfd_create", refuse)
    pool = get_pool(PROCESSES)
    monkeypatch.setattr(pool, "_shared", None)
    assert run(table, COPY, LINES, 1 << 20)[0] == f"COPY {ROWS}"
    assert run(table, SUMS)[1] == EXPECTED
    assert pool._shared is None
    assert database.store.row_processes.count == PROCESSES
    pool.close()
