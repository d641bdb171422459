"""The fraction of a running query that is done: embedded, on a server, and unknown on PostgreSQL."""

from __future__ import annotations

import threading
import time
from contextlib import suppress

import psycopg
import pytest

import gpudb
from gpudb.api import Connection
from gpudb.api.progress_bar import format_progress, measure_part
from gpudb.errors import GpudbError
from gpudb.storage.load.progress import Progress
from tests.support.connection_urls import to_url

SLOW = f"SELECT count(*) FROM counted WHERE {'md5(' * 40}i::text{')' * 40} LIKE 'ab%'"
"""One long pass over a table, whose parts are counted."""


def run_until(db: Connection, seen: list[Progress], wanted: int, *, as_arrow: bool = False) -> None:
    """Runs the slow query until so many fractions were seen, and cancels it."""
    errors: list[str] = []

    def run() -> None:
        try:
            if as_arrow:
                db.sql(SLOW).arrow()
            else:
                db.execute(SLOW)
        except GpudbError as error:
            errors.append(error.sqlstate)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        while len({each.fraction for each in seen} - {None, 0.0}) < wanted and thread.is_alive():
            seen.append(db.progress())
            time.sleep(0.02)
    finally:
        db.cancel()
        thread.join(60)
    assert errors == ["57014"]


@pytest.mark.parametrize("target, as_arrow", [("embedded", False), ("server", False), ("server", True)])
def test_a_query_knows_how_far_it_is(target: str, as_arrow: bool, request: pytest.FixtureRequest) -> None:
    url = to_url(request.getfixturevalue("gpudb_server")) if target == "server" else None
    seen: list[Progress] = []
    with gpudb.connect(url) as db:
        db.execute("CREATE TEMPORARY TABLE counted AS SELECT i FROM generate_series(1, 3000000) i")
        run_until(db, seen, wanted=2, as_arrow=as_arrow)
        fractions = [each.fraction for each in seen if each.fraction is not None]
        assert fractions == sorted(fractions)
        assert 0 < fractions[-1] < 1
        assert all((each.done, each.total, each.rows) == (0, 0, 0) for each in seen)
        assert db.progress().fraction is None


def test_other_sessions_see_it_if_they_may(gpudb_server: str) -> None:
    with (
        gpudb.connect(to_url(gpudb_server)) as db,
        psycopg.connect(gpudb_server, autocommit=True) as watching,
    ):
        watching.execute("CREATE ROLE onlooker")
        db.execute("CREATE TEMPORARY TABLE counted AS SELECT i FROM generate_series(1, 3000000) i")
        (pid,) = db.execute("SELECT pg_backend_pid()").fetchone()

        def run() -> None:
            with suppress(GpudbError):  # it is cancelled
                db.execute(SLOW)

        thread = threading.Thread(target=run)
        thread.start()
        asked = f"SELECT fraction FROM gpudb_progress WHERE pid = {pid}"
        try:
            deadline, found = time.monotonic() + 60, None
            while found is None and time.monotonic() < deadline:
                row = watching.execute(f"{asked} AND fraction > 0").fetchone()
                found = None if row is None else row[0]
            assert found is not None
            assert 0 < found < 1
            watching.execute("SET ROLE onlooker")
            assert watching.execute(asked).fetchall() == []
        finally:
            db.cancel()
            thread.join(60)
            watching.execute("RESET ROLE")
            watching.execute("DROP ROLE onlooker")
        assert watching.execute(asked).fetchall() == []


def test_bars_have_the_part_of_a_load_or_query() -> None:
    assert measure_part(Progress(25, 100, 7)) == 0.25
    assert measure_part(Progress(0, 0, 0, fraction=0.5)) == 0.5
    assert measure_part(Progress(25, 0, 7)) is None
    assert format_progress(Progress(0, 0, 0, fraction=0.434), 5.2) == "43%, 5 s"
