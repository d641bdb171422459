"""What ends a process of loads ends one load: a crash, a cancel, the server's end. Nothing stays behind."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import psycopg
import pytest

from gpudb.errors import GpudbError
from gpudb.session.database import Database
from gpudb.session.session import Session
from gpudb.storage.row_processes import get_pool
from tests.support.copy_outcomes import run
from tests.support.load_processes import PROCESSES, is_running, list_processes, open_database
from tests.support.server_program import Program
from tests.support.sessions import wait_until
from tests.support.store_tables import files_under

COPY = "COPY t FROM STDIN (FORMAT csv)"
LINE = b"%d,a text of some length that is in each of the rows\n"
BLOCK = b"".join(LINE % number for number in range(1000))
"""One block, which one call reads."""
BLOCKS = b"".join(LINE % number for number in range(200_000))
"""Several."""


@pytest.fixture(scope="module")
def apart() -> Iterator[Database]:
    made = open_database()
    yield made
    made.close()


@pytest.fixture
def table(apart: Database) -> Iterator[Session]:
    """A session with a table `t`."""
    session = apart.session("gpudb")
    run(session, "CREATE TABLE t (a int, b text)")
    yield session
    session.sync()
    run(session, "DROP TABLE t")
    session.close()


class _Copy:
    """A COPY in a thread, and its outcome: its tag, or the error."""

    def __init__(self, database: Database, data: bytes) -> None:
        self.session = database.session("gpudb")
        self.outcome: str | GpudbError = ""
        self._thread = threading.Thread(target=self._run, args=(data,))
        self._thread.start()

    def _run(self, data: bytes) -> None:
        try:
            self.outcome = run(self.session, COPY, data, 1 << 20)[0]
        except GpudbError as error:
            self.outcome = error

    @property
    def has_ended(self) -> bool:
        return not self._thread.is_alive()

    def wait(self) -> str | GpudbError:
        """Waits for its end, and returns its outcome."""
        wait_until(lambda: self.has_ended, "the COPY has ended")
        self.session.sync()
        self.session.close()
        return self.outcome


@contextlib.contextmanager
def _stopped(session: Session) -> Iterator[Sequence[int]]:
    """Starts processes that stand still; those that still run go on at the end."""
    run(session, COPY, BLOCKS, 1 << 20)
    run(session, "TRUNCATE t")
    found = get_pool(PROCESSES).list_idle()
    assert found
    for pid in found:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield found
    finally:
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def _files(database: Database) -> set[Path]:
    return files_under(database.store.directory / "tables")


def _count(session: Session) -> bytes:
    return run(session, "SELECT count(*) FROM t")[1]


def test_a_killed_process_ends_its_copy(apart: Database, table: Session) -> None:
    """53200 for the COPY, of which nothing stays; the next one has other processes."""
    with _stopped(table) as processes:
        before = _files(apart)
        copy = _Copy(apart, BLOCKS)
        wait_until(lambda: not get_pool(PROCESSES).is_warm, "the processes have calls")
        for pid in processes:
            os.kill(pid, signal.SIGKILL)
        error = copy.wait()
    assert isinstance(error, GpudbError)
    assert (error.sqlstate, error.message) == ("53200", "a process of this statement has ended")
    assert _count(table) == b"0"
    assert _files(apart) == before
    assert run(table, COPY, BLOCKS)[0] == "COPY 200000"
    assert not set(get_pool(PROCESSES).list_idle()) & set(processes)


def test_other_copies_go_on(apart: Database, table: Session) -> None:
    """Of two COPYs, each in a process of its own, one ends with its process."""
    with _stopped(table) as processes:
        copies = [_Copy(apart, BLOCK * 20) for _ in range(PROCESSES)]
        wait_until(lambda: not get_pool(PROCESSES).is_warm, "the processes have calls")
        os.kill(processes[0], signal.SIGKILL)
        wait_until(lambda: any(copy.has_ended for copy in copies), "one has ended")
        for pid in processes[1:]:
            os.kill(pid, signal.SIGCONT)
        outcomes = [copy.wait() for copy in copies]
    failed = [each for each in outcomes if isinstance(each, GpudbError)]
    assert [each.sqlstate for each in failed] == ["53200"]
    assert [each for each in outcomes if isinstance(each, str)] == ["COPY 20000"]
    assert _count(table) == b"20000"


def test_a_cancel_ends_the_calls(apart: Database, table: Session) -> None:
    """57014 although the processes answer nothing; those that read for the COPY are gone."""
    with _stopped(table) as processes:
        before = _files(apart)
        copy = _Copy(apart, BLOCKS)
        wait_until(lambda: not get_pool(PROCESSES).is_warm, "the processes have calls")
        copy.session.cancel()
        error = copy.wait()
        assert isinstance(error, GpudbError)
        assert error.sqlstate == "57014"
        wait_until(lambda: not any(is_running(pid) for pid in processes), "the processes have ended")
    assert _count(table) == b"0"
    assert _files(apart) == before
    assert run(table, COPY, BLOCK)[0] == "COPY 1000"


def test_a_process_that_ends_as_it_writes(apart: Database, table: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it has begun of a file is removed."""
    from gpudb.storage.iceberg import process_files

    before = _files(apart)
    begun: list[Path] = []

    class Killing(process_files.ProcessFiles):
        def finish(self) -> list[process_files.DataFile]:
            run_call = self._processes.call

            def call(name: str, arguments: Sequence[object], wanted: object) -> object:
                directory, prefix = arguments[1], arguments[3]
                assert isinstance(directory, Path)
                begun.append(directory / f"{prefix}0000.parquet")
                begun[-1].write_bytes(b"PAR1")
                for pid in get_pool(PROCESSES).list_idle():
                    os.kill(pid, signal.SIGKILL)
                return run_call("write_files", (b"", *arguments[1:]), wanted)  # type: ignore[arg-type]

            monkeypatch.setattr(self._processes, "call", call)
            return super().finish()

    monkeypatch.setattr("gpudb.storage.iceberg.append.ProcessFiles", Killing)
    with pytest.raises(GpudbError):
        run(table, COPY, BLOCKS, 1 << 20)
    table.sync()
    assert begun
    assert _files(apart) == before
    assert _count(table) == b"0"


def test_the_servers_end_is_theirs(tmp_path: Path) -> None:
    """After kill -9 of the server amid a COPY none runs on, and the rows are those before it."""
    options = {"GPUDB_LOAD_PROCESSES": str(PROCESSES), "GPUDB_LOAD_PROCESSES_AFTER": "0"}
    with Program(tmp_path / "data", environment=options) as program:
        with contextlib.suppress(psycopg.OperationalError), psycopg.connect(program.dsn, autocommit=True) as connection:
            connection.execute("CREATE TABLE t (a int, b text)")
            with connection.cursor().copy(COPY) as copy:
                copy.write(BLOCKS)
            with connection.cursor().copy(COPY) as copy:
                for _ in range(4):
                    copy.write(BLOCKS)
                processes = list_processes(program.process.pid)
                program.kill()
                copy.write(BLOCKS)
        assert processes
        wait_until(lambda: not any(is_running(pid) for pid in processes), "the processes have ended")
    with Program(tmp_path / "data", environment=options) as program, psycopg.connect(program.dsn) as connection:
        assert connection.execute("SELECT count(*) FROM t").fetchone() == (200_000,)
