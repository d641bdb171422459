"""`gpudb move-catalog`: a catalog moves to PostgreSQL and back with all that it holds."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from gpudb.config.database import EMBEDDED
from gpudb.errors import GpudbError
from gpudb.session.database import Database
from gpudb.storage import folding
from gpudb.storage.catalog import copying
from gpudb.storage.recovery import catalog_move
from gpudb.storage.recovery.catalog_move import KEPT, move_to_file, move_to_postgres
from tests.support.command_line import run_in_process
from tests.support.postgres_program import PostgresProgram
from tests.support.sessions import run

SETUP = """
CREATE ROLE reader; CREATE SCHEMA s; CREATE TYPE s.mood AS ENUM ('sad', 'happy');
CREATE TABLE s.people (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, feels s.mood);
INSERT INTO s.people (feels) VALUES ('sad'), ('happy');
CREATE VIEW happy AS SELECT id FROM s.people WHERE feels = 'happy';
CREATE SEQUENCE numbers; SELECT nextval('numbers');
GRANT SELECT ON happy TO reader; ALTER DATABASE gpudb SET work_mem TO '5MB';
CREATE DATABASE other
"""


@pytest.fixture
def url(postgres: PostgresProgram, request: pytest.FixtureRequest) -> str:
    """The URL of an empty database."""
    name = f"move_{abs(hash(request.node.name))}"
    with postgres.connect("postgres") as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    return postgres.url.replace("/catalog", f"/{name}")


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A data directory with objects of every kind that matters here."""
    database = Database(tmp_path / "data")
    for text in SETUP.split(";"):
        run(database.session("gpudb"), text)
    database.close()
    return tmp_path / "data"


def _change(directory: Path, catalog: str | None, people: int) -> None:
    """Asserts what the directory holds, and adds a person."""
    database = Database(directory, replace(EMBEDDED, catalog=catalog))
    try:
        session = database.session("gpudb")
        assert run(session, "SELECT count(*), max(id) FROM s.people") == [(people, people)]
        assert run(session, "SELECT * FROM happy") == [(2,)]
        assert run(session, "SELECT has_table_privilege('reader', 'happy', 'SELECT')") == [(True,)]
        assert run(session, "SELECT count(*) FROM pg_database WHERE datname = 'other'") == [(1,)]
        ((number,),) = run(session, "SELECT nextval('numbers')")
        assert number == people
        run(session, "INSERT INTO s.people (feels) VALUES ('sad')")
    finally:
        database.close()


def test_it_moves_to_postgresql_and_back(directory: Path, url: str) -> None:
    moved = run_in_process("move-catalog", "--data-dir", str(directory), "--to", url)
    assert moved.returncode == 0, moved.stderr
    assert " databases, 1 tables, 2 sequences: all compared" in moved.stdout
    assert (directory / KEPT).exists()
    _change(directory, url, 2)
    assert move_to_postgres(directory, url).tables == 1  # nothing is left to do
    moved = run_in_process("move-catalog", "--data-dir", str(directory), "--from", url)
    assert moved.returncode == 0, moved.stderr
    _change(directory, None, 3)
    move_to_postgres(directory, url)
    _change(directory, url, 4)


def test_a_running_server_keeps_its_catalog(directory: Path, url: str) -> None:
    database = Database(directory)
    try:
        with pytest.raises(GpudbError, match="in use") as refused:
            move_to_postgres(directory, url)
        assert refused.value.sqlstate == "55006"
    finally:
        database.close()
    move_to_postgres(directory, url)
    database = Database(directory, replace(EMBEDDED, catalog=url))
    try:
        with pytest.raises(GpudbError) as refused:
            move_to_file(directory, url)
        assert refused.value.sqlstate == "55006"
    finally:
        database.close()


def test_commits_that_only_the_log_has_are_folded_first(
    directory: Path, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folding, "FOLD_SECONDS", 3600.0)
    monkeypatch.setattr(folding, "QUIET_SECONDS", 3600.0)
    database = Database(directory)
    run(database.session("gpudb"), "CREATE TABLE t (a int); INSERT INTO t VALUES (1)")
    run(database.session("gpudb"), "INSERT INTO t VALUES (2)")
    left = shutil.copytree(directory, tmp_path / "left", ignore=shutil.ignore_patterns("lock", "spill"))
    database.close()
    with pytest.raises(GpudbError, match="in its log that are not folded") as raised:
        move_to_postgres(left, url)
    assert raised.value.sqlstate == "55000"
    Database(left).close()
    assert move_to_postgres(left, url).tables == 2


def test_a_catalog_that_is_in_use_takes_no_other(directory: Path, url: str, tmp_path: Path) -> None:
    another = tmp_path / "another"
    database = Database(another, replace(EMBEDDED, catalog=url))
    run(database.session("gpudb"), "CREATE TABLE mine (a int)")
    database.close()
    for move in (move_to_postgres, move_to_file):
        with pytest.raises(GpudbError) as refused:
            move(directory, url)
        assert refused.value.sqlstate == "55000"
    _change(directory, None, 2)


def test_a_copy_that_differs_is_not_taken(
    directory: Path, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    move_to_postgres(directory, url)

    def lose_pointers(path, catalogs, pointers, commit, states):  # type: ignore[no-untyped-def]
        copying.write_catalog(path, catalogs, {}, commit, states)

    with monkeypatch.context() as patch:
        patch.setattr(catalog_move, "write_catalog", lose_pointers)
        with pytest.raises(GpudbError) as refused:
            move_to_file(directory, url)
        assert refused.value.sqlstate == "XX001"
    _change(directory, url, 2)


def test_a_move_that_was_interrupted_is_finished(directory: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(catalog_move, "claim_directory", fail)
        with pytest.raises(KeyboardInterrupt):
            move_to_postgres(directory, url)
    move_to_postgres(directory, url)
    _change(directory, url, 2)


def test_one_direction_is_chosen(tmp_path: Path) -> None:
    for options in ((), ("--to", "postgresql://x/y", "--from", "postgresql://x/y")):
        assert run_in_process("move-catalog", "--data-dir", str(tmp_path), *options).returncode == 2
    missing = run_in_process("move-catalog", "--data-dir", str(tmp_path), "--to", "postgresql://x/y")
    assert "is not a data directory of gpudb" in missing.stderr
