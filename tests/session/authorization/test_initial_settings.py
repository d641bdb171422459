"""Settings of databases and of roles in them are kept over a restart, and prevail as in PostgreSQL."""

from __future__ import annotations

from pathlib import Path

import psycopg

from tests.support.server_program import Program
from tests.support.wire_server import running_database

_DEFINED = (
    "CREATE ROLE u LOGIN",
    "ALTER ROLE ALL SET statement_timeout = '5min'",
    "ALTER ROLE ALL SET lock_timeout = '5min'",
    "ALTER DATABASE gpudb SET lock_timeout = '4min'",
    "ALTER DATABASE gpudb SET my.own = 'of the database'",
    "ALTER ROLE u SET my.own = 'of the role'",
    "ALTER ROLE u IN DATABASE gpudb SET search_path = there",
)


def _show(dsn: str, user: str, options: str = "") -> list[object]:
    with psycopg.connect(dsn.replace("user=gpudb", f"user={user}"), options=options) as connection:
        names = ("statement_timeout", "lock_timeout", "my.own", "search_path")
        return [connection.execute(f"SHOW {name}").fetchone()[0] for name in names]  # type: ignore[index]


def test_settings_outlive_the_server(tmp_path: Path) -> None:
    with Program(tmp_path / "data") as program, psycopg.connect(program.dsn, autocommit=True) as connection:
        for sql in _DEFINED:
            connection.execute(sql)
        program.kill()
    with running_database(tmp_path / "data") as dsn:
        assert _show(dsn, "gpudb") == ["5min", "4min", "of the database", '"$user", public']
        assert _show(dsn, "u") == ["5min", "4min", "of the role", "there"]
        assert _show(dsn, "u", "-c my.own=mine -c statement_timeout=1s") == ["1s", "4min", "mine", "there"]
