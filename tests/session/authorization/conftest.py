"""A PostgreSQL and a gpudb with no roles but their own, and the comparison of a scenario on both."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from gpudb.config.wire import WireSettings
from gpudb.server.wire.server import PgServer
from gpudb.session.database import Database
from tests.support import role_scenarios
from tests.support.role_scenarios import Connection, RoleOracle, Seen

Play = Callable[[str], list[Seen]]


@pytest.fixture(scope="module")
def role_oracle() -> Iterator[RoleOracle]:
    with role_scenarios.start_role_oracle() as oracle:
        yield oracle


@pytest.fixture
def play(role_oracle: RoleOracle, tmp_path: Path) -> Iterator[Play]:
    """Plays a scenario on both servers and compares them; returns what gpudb showed."""
    database = Database(None)
    server = PgServer(database, WireSettings(port=0))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    host, port = server.address

    def opened(role: str) -> Connection:
        return psycopg.connect(host=host, port=port, user=role, dbname="gpudb", connect_timeout=60, autocommit=True)

    def played(text: str) -> list[Seen]:
        steps = role_scenarios.read(text)
        # PostgreSQL runs as another user of the machine, which pytest's own folders shut out.
        with tempfile.TemporaryDirectory(dir="/tmp") as shared:
            Path(shared).chmod(0o777)
            expected = role_scenarios.play(steps, role_oracle.open, Path(shared))
        actual = role_scenarios.play(steps, opened, tmp_path)
        role_scenarios.compare(steps, expected, actual)
        return actual

    try:
        yield played
    finally:
        role_oracle.clear()
        server.shutdown(timeout=1)
        thread.join(60)
        database.close()
    assert not thread.is_alive()
