"""gpudb's tables as an Iceberg REST catalog, read and appended to by pyiceberg and Polars over a socket."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import polars as pl
import psycopg
import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import ForbiddenError, NoSuchNamespaceError, NoSuchTableError, RESTError, UnauthorizedError

from tests.support.server_program import Program


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    folder = tmp_path_factory.mktemp("iceberg")
    with Program(folder / "data", "--http-port", "0") as server:
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            connection.execute("""
                CREATE ROLE analyst LOGIN PASSWORD 'readable'; CREATE ROLE nobody LOGIN PASSWORD 'hidden';
                CREATE ROLE group_role PASSWORD 'nologin';
                CREATE SCHEMA private; CREATE TABLE private.secrets AS SELECT 1 AS a;
                CREATE TABLE rides (id bigint, fare numeric(10,2), note text, day date);
                INSERT INTO rides SELECT i, i * 1.25, 'ride ' || i, date '2025-01-01' + i FROM generate_series(1, 1000) i;
                CREATE TABLE hidden AS SELECT 1 AS a; CREATE VIEW shown AS SELECT * FROM rides;
                GRANT SELECT ON rides TO analyst; DELETE FROM rides WHERE id <= 10""")
        yield server
        server.stop()


def _catalog(program: Program, **options: Any) -> RestCatalog:
    uri = f"{program.http}/iceberg"
    return RestCatalog("gpudb", **{"uri": uri, "oauth2-server-uri": f"{uri}/v1/oauth/tokens", **options})


def _basic(user: str, password: str) -> dict[str, Any]:
    return {"auth": {"type": "basic", "basic": {"username": user, "password": password}}}


@pytest.mark.parametrize("options", [{"credential": "analyst:readable"}, _basic("analyst", "readable")])
def test_a_role_reads_the_tables_that_it_may_select(program: Program, options: dict[str, Any]) -> None:
    catalog = _catalog(program, **options)
    assert ("public",) in catalog.list_namespaces()
    assert ("private",) not in catalog.list_namespaces()
    assert catalog.list_tables("public") == [("public", "rides")]
    table = catalog.load_table("public.rides")
    assert not any(name.startswith("gpudb") for name in table.properties)
    found = table.scan(row_filter="id > 990", selected_fields=("id", "fare")).to_arrow().sort_by("id")
    assert found.to_pylist() == [{"id": i, "fare": Decimal(i) * Decimal("1.25")} for i in range(991, 1001)]
    assert table.scan().to_arrow().num_rows == 990
    totals = pl.scan_iceberg(table).select(pl.len(), pl.col("id").sum()).collect()
    assert totals.rows() == [(990, sum(range(11, 1001)))]


def test_a_commit_is_seen_by_the_next_load(program: Program) -> None:
    catalog = _catalog(program, credential="analyst:readable")
    with psycopg.connect(program.dsn, autocommit=True) as connection:
        connection.execute("CREATE TABLE growing AS SELECT 1 AS a; GRANT SELECT ON growing TO analyst")
        table = catalog.load_table("public.growing")
        with connection.transaction():
            connection.execute("INSERT INTO growing VALUES (2)")
            assert catalog.load_table("public.growing").scan().to_arrow().num_rows == 1
        assert table.refresh().scan().to_arrow().num_rows == 2
        connection.execute("REVOKE SELECT ON growing FROM analyst")
        with pytest.raises(NoSuchTableError):
            catalog.load_table("public.growing")
        connection.execute("DROP TABLE growing")


def test_a_table_whose_rows_policies_restrict_is_forbidden(program: Program) -> None:
    catalog = _catalog(program, credential="analyst:readable")
    with psycopg.connect(program.dsn, autocommit=True) as connection:
        connection.execute("""
            CREATE TABLE guarded AS SELECT 1 AS a; GRANT SELECT ON guarded TO analyst;
            ALTER TABLE guarded ENABLE ROW LEVEL SECURITY""")
        with pytest.raises(ForbiddenError, match="policies restrict the rows"):
            catalog.load_table("public.guarded")
        connection.execute("ALTER ROLE analyst BYPASSRLS")
        assert catalog.load_table("public.guarded").scan().to_arrow().num_rows == 1
        connection.execute("ALTER ROLE analyst NOBYPASSRLS; DROP TABLE guarded")


def test_what_a_role_may_not_see_is_not_there(program: Program) -> None:
    catalog = _catalog(program, credential="analyst:readable")
    for name in ("public.hidden", "public.none", "public.shown"):
        with pytest.raises(NoSuchTableError):
            catalog.load_table(name)
        assert not catalog.table_exists(name)
    with pytest.raises(NoSuchNamespaceError):
        catalog.list_tables("private")
    assert catalog.list_views("public") == []
    superuser = _catalog(program, credential="gpudb:")
    assert ("private", "secrets") in superuser.list_tables("private")


@pytest.mark.parametrize("credential", ["analyst:wrong", "none:readable", "group_role:nologin"])
def test_wrong_passwords_are_refused(program: Program, credential: str) -> None:
    user, _, password = credential.partition(":")
    with pytest.raises((UnauthorizedError, RESTError)):
        _catalog(program, credential=credential)
    with pytest.raises(UnauthorizedError):
        _catalog(program, **_basic(user, password))


def test_a_token_is_for_its_role_and_password_alone(program: Program) -> None:
    form = b"grant_type=client_credentials&client_id=nobody&client_secret=hidden"
    with urlopen(Request(f"{program.http}/iceberg/v1/oauth/tokens", data=form), timeout=30) as answer:
        token = json.load(answer)["access_token"]
    assert _catalog(program, token=token).list_tables("public") == []
    changed = ("." in token) and token[:-1] + ("0" if token[-1] != "0" else "1")
    for wrong in (changed, "x.y", ""):
        with pytest.raises(HTTPError) as caught:
            urlopen(
                Request(f"{program.http}/iceberg/v1/config", headers={"Authorization": f"Bearer {wrong}"}), timeout=30
            )
        with caught.value as error:
            assert error.code == 401
    with psycopg.connect(program.dsn, autocommit=True) as connection:
        connection.execute("ALTER ROLE nobody PASSWORD 'changed'")
    with pytest.raises(UnauthorizedError):
        _catalog(program, token=token)


def test_changes_and_other_databases_are_refused(program: Program) -> None:
    catalog = _catalog(program, credential="gpudb:")
    with pytest.raises(NotImplementedError):  # the configuration tells clients
        catalog.create_namespace("another")
    headers = {"Authorization": "Basic " + base64.b64encode(b"gpudb:").decode(), "Content-Type": "application/json"}
    for method, path in (
        ("POST", "namespaces"),
        ("POST", "namespaces/public/tables/rides"),
        ("DELETE", "namespaces/public/tables/rides"),
        ("POST", "transactions/commit"),
    ):
        request = Request(f"{program.http}/iceberg/v1/gpudb/{path}", data=b"{}", headers=headers, method=method)
        with pytest.raises(HTTPError) as caught:
            urlopen(request, timeout=30)
        with caught.value as error:
            assert (error.code, "appends alone" in error.read().decode()) == (406, True)
    with pytest.raises(RESTError, match="does not exist"):
        _catalog(program, credential="gpudb:", warehouse="none")
    with psycopg.connect(program.dsn, autocommit=True) as connection:
        connection.execute("CREATE DATABASE closed")
        connection.execute("REVOKE CONNECT ON DATABASE closed FROM PUBLIC")
    with pytest.raises(ForbiddenError):
        _catalog(program, credential="analyst:readable", warehouse="closed")
    assert ("public",) in _catalog(program, credential="gpudb:", warehouse="closed").list_namespaces()


def test_rows_that_gpudb_deleted_are_gone_for_every_reader(program: Program) -> None:
    with psycopg.connect(program.dsn, autocommit=True) as connection:
        connection.execute("""
            CREATE TABLE cut AS SELECT i AS id, md5(i::text) AS note FROM generate_series(1, 50000) AS i;
            DELETE FROM cut WHERE id % 1000 = 0; GRANT SELECT ON cut TO analyst""")
        expected = connection.execute("SELECT count(*), sum(id) FROM cut").fetchall()
        table = _catalog(program, credential="analyst:readable").load_table("public.cut")
        assert any(task.delete_files for task in table.scan().plan_files())
        ids = table.scan(selected_fields=("id",)).to_arrow().column("id")
        assert [(len(ids), sum(ids.to_pylist()))] == expected
        read = f"SELECT count(*), sum(id) FROM read_iceberg('{table.metadata_location}')"
        assert connection.execute(read).fetchall() == expected
        assert expected[0][0] == 49_950
        connection.execute("DROP TABLE cut")


def _ask(program: Program, path: str, headers: dict[str, str]) -> int:
    try:
        with urlopen(Request(f"{program.http}{path}", headers=headers), timeout=30) as answer:
            return int(answer.status)
    except HTTPError as error:
        with error:
            return error.code


def test_a_token_of_nested_lists_is_no_token(program: Program) -> None:
    nested = base64.urlsafe_b64encode(b"[" * 20_000).decode()
    assert _ask(program, "/iceberg/v1/config", {"Authorization": f"Bearer {nested}.x"}) == 401


def test_the_address_of_a_client_is_that_of_its_connection(program: Program) -> None:
    """A superuser without a password is let in from this machine alone, which no header says."""
    headers = {"Authorization": "Basic " + base64.b64encode(b"gpudb:").decode(), "X-Forwarded-For": "192.0.2.1"}
    assert _ask(program, "/iceberg/v1/config", headers) == 200
