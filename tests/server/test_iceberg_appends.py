"""Appends of pyiceberg to gpudb's tables through the Iceberg REST catalog, over a socket."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import BadRequestError, CommitFailedException, ForbiddenError, NoSuchTableError, RESTError
from pyiceberg.table import Table

from tests.support.server_program import Program


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    folder = tmp_path_factory.mktemp("iceberg")
    with Program(folder / "data", "--http-port", "0") as server:
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            connection.execute("""
                CREATE ROLE writer LOGIN PASSWORD 'writes'; CREATE ROLE reader LOGIN PASSWORD 'reads';
                CREATE TABLE rides (id bigint, note text);
                GRANT SELECT ON rides TO reader, writer; GRANT INSERT ON rides TO writer""")
        yield server
        server.stop()


@pytest.fixture
def connection(program: Program) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(program.dsn, autocommit=True) as opened:
        opened.execute("TRUNCATE rides")
        yield opened


def _load(program: Program, name: str = "public.rides", credential: str = "writer:writes") -> Table:
    uri = f"{program.http}/iceberg"
    options = {"uri": uri, "oauth2-server-uri": f"{uri}/v1/oauth/tokens", "credential": credential}
    return RestCatalog("gpudb", **options).load_table(name)


def _rows(*ids: int | None) -> pa.Table:
    notes = [f"ride {each}" for each in ids]
    return pa.table({"id": pa.array(ids, pa.int64()), "note": pa.array(notes, pa.string())})


def _select(connection: psycopg.Connection[Any], name: str = "rides") -> list[tuple[Any, ...]]:
    return connection.execute(f"SELECT id FROM {name} ORDER BY id").fetchall()


def test_appends_are_rows_of_sql(program: Program, connection: psycopg.Connection[Any]) -> None:
    table = _load(program)
    table.append(_rows(1, 2))
    assert _select(connection) == [(1,), (2,)]
    table.append(_rows(3))
    assert connection.execute("SELECT * FROM rides WHERE id = 3").fetchall() == [(3, "ride 3")]
    connection.execute("INSERT INTO rides VALUES (4, 'by SQL')")
    table.refresh().append(_rows(5))
    assert _select(connection) == [(i,) for i in range(1, 6)]
    assert sorted(table.scan().to_arrow().column("id").to_pylist()) == [1, 2, 3, 4, 5]


def test_an_append_to_another_snapshot_conflicts(program: Program, connection: psycopg.Connection[Any]) -> None:
    first, second = _load(program), _load(program)
    second.metadata.properties["commit.retry.num-retries"] = "0"
    first.append(_rows(1))
    with pytest.raises(CommitFailedException):
        second.append(_rows(2))
    assert _select(connection) == [(1,)]
    second.refresh().append(_rows(2))
    first.append(_rows(3))  # the client's own second try, on the snapshot that it finds then
    assert _select(connection) == [(1,), (2,), (3,)]


def test_a_role_without_insert_is_refused(program: Program, connection: psycopg.Connection[Any]) -> None:
    with pytest.raises(ForbiddenError):
        _load(program, credential="reader:reads").append(_rows(1))
    assert _select(connection) == []


def test_rows_that_the_table_does_not_allow_are_refused(program: Program, connection: psycopg.Connection[Any]) -> None:
    connection.execute("CREATE TABLE strict (id bigint, note text); GRANT SELECT, INSERT ON strict TO writer")
    table = _load(program, "public.strict")
    connection.execute("ALTER TABLE strict ALTER id SET NOT NULL")
    with pytest.raises(BadRequestError, match="not-null"):
        table.append(_rows(1, None))
    connection.execute("ALTER TABLE strict ALTER id DROP NOT NULL; ALTER TABLE strict ADD UNIQUE (id)")
    table = _load(program, "public.strict")
    table.append(_rows(1))
    with pytest.raises(BadRequestError, match="duplicate key"):
        table.append(_rows(2, 1))
    connection.execute("ALTER TABLE strict ADD CHECK (id > 0)")
    with pytest.raises(RESTError, match="CHECK"):
        table.refresh().append(_rows(3))
    assert _select(connection, "strict") == [(1,)]
    connection.execute("DROP TABLE strict")
    with pytest.raises(NoSuchTableError):
        table.refresh()


def test_other_changes_are_refused(program: Program, connection: psycopg.Connection[Any], tmp_path: Path) -> None:
    table = _load(program)
    table.append(_rows(1))
    with pytest.raises(RESTError, match="appends alone"):
        table.overwrite(_rows(2))
    with pytest.raises(RESTError, match="appends alone"), table.update_schema() as update:
        update.delete_column("note")
    assert _select(connection) == [(1,)]


def test_files_elsewhere_are_refused(program: Program, connection: psycopg.Connection[Any], tmp_path: Path) -> None:
    table = _load(program)
    table.metadata.properties["write.data.path"] = f"file://{tmp_path}"
    with pytest.raises(ForbiddenError, match="below the location"):
        table.append(_rows(1))
    assert _select(connection) == []
