"""pg_stat_progress_copy while a client copies, on gpudb's server and on PostgreSQL."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

import gpudb
from gpudb.api.progress_bar import format_progress
from gpudb.storage.load.progress import Progress
from tests.support.connection_urls import to_url
from tests.support.oracle.server import Oracle

ROWS = "".join(f"{i}\tsome text {i}\n" for i in range(200_000)).encode()
PIECE = 1 << 18
SHOWN = """
SELECT datname = current_database(), relid::regclass::text, command, type, bytes_total, tuples_excluded
FROM pg_stat_progress_copy WHERE pid = %s AND tuples_processed > 0 AND bytes_processed > 0
"""


@pytest.fixture(params=["gpudb", "postgresql"])
def dsn(request: pytest.FixtureRequest) -> str:
    """gpudb's server and PostgreSQL in turn."""
    if request.param == "gpudb":
        return str(request.getfixturevalue("gpudb_server"))
    oracle: Oracle = request.getfixturevalue("oracle")
    return oracle.dsn


def wait_for(connection: Any, query: str, *params: object) -> list[tuple[object, ...]]:
    """The rows of a query, as soon as it has any."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if rows := connection.execute(query, params).fetchall():
            return list(rows)
        time.sleep(0.01)
    raise TimeoutError(query)


def test_a_copy_shows_its_rows_and_bytes(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as copying, psycopg.connect(dsn, autocommit=True) as watching:
        copying.execute("DROP TABLE IF EXISTS copied")
        copying.execute("CREATE TABLE copied (a int, b text)")
        pid = copying.info.backend_pid
        with copying.cursor().copy("COPY copied FROM STDIN WHERE a >= 100") as copy:
            for start in range(0, len(ROWS), PIECE):
                copy.write(ROWS[start : start + PIECE])
            assert wait_for(watching, SHOWN, pid) == [(True, "copied", "COPY FROM", "PIPE", 0, 100)]
            (others,) = watching.execute(
                "SELECT (SELECT count(*) FROM pg_stat_progress_vacuum)"
                "     + (SELECT count(*) FROM pg_stat_get_progress_info('ANALYZE'))"
            ).fetchone()
            assert others == 0
            assert watching.execute("SELECT count(*) FROM pg_stat_get_progress_info('copy')").fetchone() == (1,)
            watching.execute("CREATE ROLE stranger")
            watching.execute("SET ROLE stranger")
            hidden = watching.execute("SELECT pid, relid, bytes_processed FROM pg_stat_progress_copy").fetchall()
            watching.execute("RESET ROLE")
            watching.execute("DROP ROLE stranger")
            assert hidden == [(pid, None, None)]
        assert watching.execute("SELECT count(*) FROM pg_stat_progress_copy").fetchone() == (0,)
        assert copying.execute("SELECT count(*) FROM copied").fetchone() == (199_900,)
        copying.execute("DROP TABLE copied")


def test_a_copy_shows_the_rows_that_it_skipped(gpudb_server: str) -> None:
    """As PostgreSQL since version 18."""
    data = ROWS.replace(b"\t", b"x\t", 7)
    with psycopg.connect(gpudb_server, autocommit=True) as copying, psycopg.connect(gpudb_server) as watching:
        watching.autocommit = True
        copying.execute("CREATE TABLE skipping (a int, b text)")
        with copying.cursor().copy("COPY skipping FROM STDIN (ON_ERROR ignore, LOG_VERBOSITY silent)") as copy:
            copy.write(data)
            query = "SELECT tuples_skipped FROM pg_stat_progress_copy WHERE pid = %s AND tuples_processed > 0"
            assert wait_for(watching, query, copying.info.backend_pid) == [(7,)]
        copying.execute("DROP TABLE skipping")


def test_a_copy_to_shows_its_rows_and_bytes(dsn: str) -> None:
    """The client reads slowly: the copy waits for it. A query has no relation."""
    with psycopg.connect(dsn, autocommit=True) as copying, psycopg.connect(dsn, autocommit=True) as watching:
        copying.execute("DROP TABLE IF EXISTS copied")
        copying.execute("CREATE TABLE copied AS SELECT i, repeat('x', 300) AS t FROM generate_series(1, 100000) i")
        pid = copying.info.backend_pid
        for source, relation in (("copied", "copied"), ("(SELECT * FROM copied)", "-")):
            with copying.cursor().copy(f"COPY {source} TO STDOUT") as copy:
                read = len(copy.read())
                assert wait_for(watching, SHOWN, pid) == [(True, relation, "COPY TO", "PIPE", 0, 0)]
                query = "SELECT tuples_processed, bytes_processed FROM pg_stat_progress_copy WHERE pid = %s"
                (rows, size) = watching.execute(query, (pid,)).fetchone()
                assert 0 < rows < 100_000
                assert 300 * rows < size < 320 * rows
                for piece in copy:
                    read += len(piece)
            assert read == sum(len(str(i)) for i in range(1, 100_001)) + 302 * 100_000
            assert watching.execute("SELECT count(*) FROM pg_stat_progress_copy").fetchone() == (0,)
        copying.execute("DROP TABLE copied")


def test_a_copy_to_a_file_shows_its_rows(gpudb_server: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The file is a pipe, whose reader waits: so does the copy."""
    path = tmp_path_factory.mktemp("progress") / "t.csv"
    os.mkfifo(path)
    with (
        psycopg.connect(gpudb_server, autocommit=True) as copying,
        psycopg.connect(gpudb_server, autocommit=True) as watching,
    ):
        copying.execute("CREATE TABLE written AS SELECT i, repeat('x', 300) AS t FROM generate_series(1, 200000) i")
        thread = threading.Thread(target=copying.execute, args=(f"COPY written TO '{path}' (FORMAT csv)",))
        thread.start()
        with path.open("rb") as pipe:
            (seen,) = wait_for(watching, SHOWN, copying.info.backend_pid)
            while pipe.read(1 << 20):
                pass
        thread.join(60)
        assert seen == (True, "written", "COPY TO", "FILE", 0, 0)
        copying.execute("DROP TABLE written")


@pytest.mark.parametrize("kind", ["embedded", "gpudb_server", "oracle"])
def test_a_connection_knows_how_far_its_load_is(kind: str, request: pytest.FixtureRequest) -> None:
    if kind == "embedded":
        target = None
    else:
        found = request.getfixturevalue(kind)
        target = to_url(found if isinstance(found, str) else found.dsn)
    seen: list[Progress] = []
    with gpudb.connect(target) as db:
        db.execute("CREATE TEMPORARY TABLE copied (a int, b text)")

        def read() -> Iterator[bytes]:
            for start in range(0, len(ROWS), PIECE):
                yield ROWS[start : start + PIECE]
            deadline = time.monotonic() + 30
            while not (seen and seen[-1].rows) and time.monotonic() < deadline:
                seen.append(db.progress())

        assert db.copy_from("COPY copied FROM STDIN", read()) == 200_000
        assert 0 < seen[-1].done <= len(ROWS)
        assert 0 < seen[-1].rows <= 200_000
        assert db.progress() == Progress(0, 0, 0)
        assert len(db.execute("TABLE copied")) == 200_000
        assert db.progress().rows == 200_000


def test_a_file_has_a_total(gpudb_server: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("progress") / "t.csv"
    path.write_text("".join(f"{i},x\n" for i in range(600_000)))
    with (
        psycopg.connect(gpudb_server, autocommit=True) as loading,
        psycopg.connect(gpudb_server, autocommit=True) as watching,
    ):
        loading.execute("CREATE TABLE loaded (a int, b text)")
        asking = "SELECT type, bytes_total FROM pg_stat_progress_copy"
        seen: list[tuple[object, ...]] = watching.execute(asking).fetchall()
        for statement in (f"COPY loaded FROM '{path}' (FORMAT csv)", f"SELECT load_data('loaded', '{path}')"):
            done = False

            def run(text: str = statement) -> None:
                nonlocal done
                loading.execute(text)
                done = True

            thread = threading.Thread(target=run)
            thread.start()
            while not done:
                seen += watching.execute(asking).fetchall()
            thread.join(60)
            assert ("FILE", path.stat().st_size) in seen, statement
            seen.clear()
        loading.execute("DROP TABLE loaded")


def test_progress_in_words() -> None:
    assert format_progress(Progress(0, 0, 0), 3.2) == "3 s"
    assert format_progress(Progress(0, 0, 1), 3.2) == "1 row, 3 s"
    assert format_progress(Progress(34_100_000, 90_000_000, 1_200_000), 12.4) == "1,200,000 rows, 34.1 of 90.0 MB, 12 s"
    assert format_progress(Progress(34_100_000, 0, 0), 1) == "34.1 MB, 1 s"
