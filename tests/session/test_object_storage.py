"""Files in an object storage over the wire: what is fetched of them, who may, and what happens when it fails."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from gpudb.observe.redaction import redact_credentials
from tests.support.s3.proxy import Proxy, running_proxy
from tests.support.s3.server import S3Server, running_s3_server
from tests.support.session_fixtures import Connect

Connection = psycopg.Connection[tuple[Any, ...]]
KEY, SECRET = "tests", "a-secret-of-tests"


def _files(server: S3Server | Proxy) -> pyarrow.fs.S3FileSystem:
    endpoint = server.endpoint.removeprefix("http://")
    return pyarrow.fs.S3FileSystem(
        access_key=KEY, secret_key=SECRET, region="any", scheme="http", endpoint_override=endpoint
    )


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    """A storage with the bucket `lake` behind a proxy; `wide.parquet` has 20 columns and 10 row groups."""
    with running_s3_server(tmp_path_factory.mktemp("s3")) as server:
        server.create_bucket("lake")
        files = _files(server)
        rows = 20_000
        columns = {f"c{number}": [(row * 7919 + number) % 1_000_003 for row in range(rows)] for number in range(20)}
        table = pa.table({"id": range(rows), **columns})
        pq.write_table(table, "lake/wide.parquet", filesystem=files, row_group_size=rows // 10, use_dictionary=False)
        for year in (2024, 2025):
            part = pa.table({"id": [year, year + 1], "note": ["a", None]})
            pq.write_table(part, f"lake/rides/year={year}/part.parquet", filesystem=files)
        with running_proxy(server.endpoint) as proxy:
            yield proxy


@pytest.fixture
def proxy(started: Proxy) -> Proxy:
    started.reset()
    return started


@pytest.fixture
def client(connect: Connect, proxy: Proxy) -> Iterator[Connection]:
    """A superuser with a mapping for the server `store` of the proxy."""
    with connect() as connection:
        connection.execute(f"""
            CREATE EXTENSION lake_fdw;
            CREATE SERVER store FOREIGN DATA WRAPPER lake_fdw OPTIONS (
                endpoint '{proxy.endpoint}', region 'any', request_timeout '1', connect_timeout '5', attempts '3');
            CREATE USER MAPPING FOR gpudb SERVER store OPTIONS (access_key_id '{KEY}', secret_access_key '{SECRET}')""")
        yield connection
        connection.execute("DROP EXTENSION lake_fdw CASCADE; DROP TABLE IF EXISTS t")


def _rows(client: Connection, query: str) -> list[tuple[Any, ...]]:
    return client.execute(query).fetchall()


def _fail(client: Connection, query: str) -> psycopg.Error:
    with pytest.raises(psycopg.Error) as caught:
        client.execute(query)
    assert SECRET not in str(caught.value)
    return caught.value


# ---- rows


def test_folders_and_names_of_objects_are_columns(client: Connection) -> None:
    found = (
        "SELECT year, count(*), count(note), min(filename) FROM 's3://lake/rides/**/*.parquet' GROUP BY 1 ORDER BY 1"
    )
    assert _rows(client, found) == [
        (2024, 2, 1, "s3://lake/rides/year=2024/part.parquet"),
        (2025, 2, 1, "s3://lake/rides/year=2025/part.parquet"),
    ]
    one = "SELECT id FROM 's3://lake/rides/year=*/part.parquet' WHERE filename LIKE '%2025%' ORDER BY id"
    assert _rows(client, one) == [(2025,), (2026,)]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("a.parquet", "FORMAT parquet"),
        ("a.csv", "FORMAT csv, HEADER"),
        ("a.jsonl", "FORMAT json"),
        ("a.arrow", "FORMAT arrow"),
    ],
)
def test_rows_are_written_and_read_again(client: Connection, name: str, options: str) -> None:
    rows = "SELECT i AS id, i % 7 AS part, md5(i::text) AS note FROM generate_series(1, 5000) AS i"
    assert client.execute(f"COPY ({rows}) TO 's3://lake/out/{name}' ({options})").statusmessage == "COPY 5000"
    read = f"SELECT id::int, part::int, note FROM 's3://lake/out/{name}' ORDER BY 1"
    assert _rows(client, read) == _rows(client, f"{rows} ORDER BY 1")
    if name.endswith("csv"):
        client.execute("CREATE TABLE t (id int, part int, note text)")
        copied = client.execute(f"COPY t FROM 's3://lake/out/{name}' ({options})")
        assert copied.statusmessage == "COPY 5000"
        assert _rows(client, "SELECT * FROM t ORDER BY 1") == _rows(client, f"{rows} ORDER BY 1")


def test_partitions_are_folders_of_the_bucket(client: Connection) -> None:
    rows = "SELECT i AS id, i % 3 AS part FROM generate_series(1, 300) AS i"
    client.execute(f"COPY ({rows}) TO 's3://lake/parts' (FORMAT parquet, PARTITION_BY (part))")
    counted = "SELECT part, count(*) FROM 's3://lake/parts/**/*.parquet' GROUP BY 1 ORDER BY 1"
    assert _rows(client, counted) == [(0, 100), (1, 100), (2, 100)]
    again = _fail(client, f"COPY ({rows}) TO 's3://lake/parts' (FORMAT parquet, PARTITION_BY (part))")
    assert again.sqlstate == "58P02"


def test_an_object_appears_whole_or_not_at_all(client: Connection) -> None:
    client.execute("COPY (SELECT 1 AS a) TO 's3://lake/kept.csv' (FORMAT csv, HEADER)")
    rows = "SELECT 1 / (90000 - i) AS a FROM generate_series(1, 100000) AS i"
    assert _fail(client, f"COPY ({rows}) TO 's3://lake/kept.csv' (FORMAT csv, HEADER)").sqlstate == "22012"
    assert _rows(client, "SELECT a FROM 's3://lake/kept.csv'") == [(1,)]


def test_only_the_columns_and_row_groups_that_are_needed_are_fetched(client: Connection, proxy: Proxy) -> None:
    name = "'s3://lake/wide.parquet'"
    _rows(client, f"SELECT sum(c0 + c1 + c2 + c3 + c4 + c5 + c6 + c7 + c8 + c9) FROM {name}")
    half = proxy.bytes
    proxy.reset()
    _rows(client, f"SELECT sum(c10) FROM {name}")
    column = proxy.bytes
    proxy.reset()
    assert _rows(client, f"SELECT sum(id) FROM {name} WHERE id BETWEEN 100 AND 109") == [(1045,)]
    group = proxy.bytes
    proxy.reset()
    assert _rows(client, f"SELECT count(*) FROM {name}") == [(20_000,)]
    footer = proxy.bytes
    assert column - footer < (half - footer) / 5
    assert group - footer < (column - footer) / 2
    assert all(each.method in ("GET", "HEAD") for each in proxy.exchanges)


def test_foreign_tables_are_read_with_the_rights_on_them(client: Connection, connect: Connect) -> None:
    client.execute("DROP ROLE IF EXISTS reader; CREATE ROLE reader LOGIN")
    client.execute("""
        CREATE FOREIGN TABLE rides (id bigint, note text) SERVER store
        OPTIONS (address 's3://lake/rides/*/*.parquet', format 'parquet', hive_partitioning 'false');
        GRANT SELECT ON rides TO reader; CREATE USER MAPPING FOR PUBLIC SERVER store
        OPTIONS (access_key_id 'tests', secret_access_key 'another')""")
    with connect(user="reader") as reader:
        assert _rows(reader, "SELECT count(*), sum(id) FROM rides") == [(4, 8100)]
        assert _fail(reader, "SELECT * FROM 's3://lake/rides/*/*.parquet'").sqlstate == "42501"
        assert _fail(reader, "COPY (SELECT 1) TO 's3://lake/mine.csv'").sqlstate == "42501"
        options = "SELECT umoptions FROM pg_user_mappings WHERE srvname = 'store' AND usename = 'gpudb'"
        assert _rows(reader, options) == [(None,)]
        assert _fail(reader, "SELECT umoptions FROM pg_user_mapping").sqlstate == "42501"
        client.execute("GRANT pg_read_server_files TO reader")
        # USAGE on the server is another right
        assert _fail(reader, "SELECT * FROM 's3://lake/rides/*/*.parquet'").sqlstate == "42501"
        client.execute("GRANT USAGE ON FOREIGN SERVER store TO reader")
        assert _rows(reader, "SELECT count(*) FROM 's3://lake/rides/*/*.parquet'") == [(4,)]
    client.execute("DROP FOREIGN TABLE rides; DROP EXTENSION lake_fdw CASCADE; DROP ROLE reader")
    client.execute("CREATE EXTENSION lake_fdw")


# ---- credentials


def test_the_environment_has_the_credentials_where_no_server_has(
    connect: Connect, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"ENDPOINT_URL": proxy.endpoint, "ACCESS_KEY_ID": KEY, "SECRET_ACCESS_KEY": SECRET}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    proxy.key = KEY
    with connect() as client:
        assert _rows(client, "SELECT count(*) FROM 's3://lake/rides/**/*.parquet'") == [(4,)]


def test_wrong_credentials_are_told_without_them(client: Connection, proxy: Proxy) -> None:
    proxy.key = "another"
    for name in ("s3://lake/wide.parquet", "s3://lake/rides/**/*.parquet"):
        assert _fail(client, f"SELECT * FROM '{name}'").sqlstate == "28000"
    client.execute("DROP USER MAPPING FOR gpudb SERVER store")
    assert _fail(client, "SELECT * FROM 's3://lake/wide.parquet'").sqlstate == "42704"


def test_statements_with_credentials_are_logged_without_them() -> None:
    text = f"ALTER USER MAPPING FOR CURRENT_USER SERVER store OPTIONS (SET secret_access_key '{SECRET}')"
    assert SECRET not in redact_credentials(text)
    assert SECRET not in redact_credentials(text.replace("FOR", "FOR FOR"), failed=True)


# ---- failures


@pytest.mark.parametrize(
    ("query", "state"),
    [
        ("SELECT * FROM 's3://none/wide.parquet'", "58P01"),
        ("SELECT * FROM 's3://none/*.parquet'", "58P01"),
        ("SELECT * FROM 's3://lake/none.parquet'", "58P01"),
        ("SELECT * FROM 's3://lake/none*.parquet'", "58P01"),
        ("SELECT * FROM read_parquet('s3://lake/rides')", "42809"),
        ("SELECT * FROM 's3://key@lake/wide.parquet'", "22023"),
        ("SELECT * FROM 'ftp://lake/wide.parquet'", "0A000"),
        ("SELECT * FROM read_parquet('s3://lake/wide.parquet', server => 'none')", "42704"),
        ("COPY (SELECT 1) TO 's3://none/a.csv' (FORMAT csv)", "58P01"),
        ("COPY (SELECT 1) TO 's3://lake/*.csv' (FORMAT csv)", "0A000"),
        ("CREATE TABLE t (a int) WITH (location = 's3://lake/t')", "0A000"),
        ("ALTER SERVER store OPTIONS (SET endpoint 'ftp://none')", "HV024"),
        ("ALTER SERVER store OPTIONS (SET attempts 'many')", "HV024"),
        ("ALTER SERVER store OPTIONS (ADD password 'a')", "HV00D"),
    ],
)
def test_what_is_not_there_or_cannot_be_is_told(client: Connection, query: str, state: str) -> None:
    assert _fail(client, query).sqlstate == state


@pytest.mark.parametrize("method", ["GET"])
def test_failures_of_the_server_are_tried_again(client: Connection, proxy: Proxy, method: str) -> None:
    # Columns that are not held in memory yet
    first, second = (11, 12) if method == "HEAD" else (13, 14)
    proxy.method, proxy.failures = method, 2
    assert _rows(client, f"SELECT sum(c{first}) > 0 FROM 's3://lake/wide.parquet'") == [(True,)]
    assert [each.status for each in proxy.exchanges].count(500) == 2
    proxy.reset()
    proxy.method, proxy.failures = method, 1000
    assert _fail(client, f"SELECT sum(c{second}) FROM 's3://lake/wide.parquet'").sqlstate == "58030"
    proxy.reset()
    assert _rows(client, f"SELECT sum(c{second}) > 0 FROM 's3://lake/wide.parquet'") == [(True,)]


def test_uploads_are_tried_again_or_leave_nothing(client: Connection, proxy: Proxy) -> None:
    proxy.method, proxy.failures = "PUT", 1
    client.execute("COPY (SELECT 1 AS a) TO 's3://lake/tried.csv' (FORMAT csv, HEADER)")
    assert _rows(client, "SELECT a FROM 's3://lake/tried.csv'") == [(1,)]
    proxy.method, proxy.failures = "PUT", 1000
    assert _fail(client, "COPY (SELECT 1 AS a) TO 's3://lake/lost.csv' (FORMAT csv)").sqlstate == "58030"
    proxy.reset()
    assert _fail(client, "SELECT * FROM 's3://lake/lost.csv'").sqlstate == "58P01"


def test_slow_answers_are_waited_for_and_silence_is_not(client: Connection, proxy: Proxy) -> None:
    proxy.piece_seconds = 0.01
    assert _rows(client, "SELECT sum(c15) > 0 FROM 's3://lake/wide.parquet'") == [(True,)]
    proxy.reset()
    proxy.stalls, proxy.stall_seconds = 1, 3
    assert _rows(client, "SELECT sum(c16) > 0 FROM 's3://lake/wide.parquet'") == [(True,)]
    proxy.stalls = 3
    error = _fail(client, "SELECT sum(c17) FROM 's3://lake/wide.parquet'")
    assert (error.sqlstate, "timed out" in str(error)) == ("58030", True)


def test_a_statement_does_not_wait_for_a_silent_storage_beyond_its_end(client: Connection, proxy: Proxy) -> None:
    client.execute("ALTER SERVER store OPTIONS (SET request_timeout '30')")
    proxy.method, proxy.stalls, proxy.stall_seconds = "HEAD", 1, 5
    client.execute("SET statement_timeout = '300ms'")
    assert _fail(client, "SELECT * FROM 's3://lake/silent.parquet'").sqlstate == "57014"
    client.execute("RESET statement_timeout")
    assert proxy.stalls == 0


def test_errors_in_objects_name_their_addresses(client: Connection, proxy: Proxy) -> None:
    rows = "".join(f"{number},x\n" for number in range(30_000))
    for name, text in {
        "a.csv": f"a,b\n{rows}oops,y\n",
        "b.jsonl": '{"a":1}\n{"a":',
        "c.parquet": "PAR1 is not all",
    }.items():
        with _files(proxy).open_output_stream(f"lake/bad/{name}") as stream:
            stream.write(text.encode())
    for name, state in (("a.csv", "22P02"), ("b.jsonl", "XX001"), ("c.parquet", "XX001")):
        error = _fail(client, f"SELECT sum(a) FROM 's3://lake/bad/{name}'")
        shown = f"{error.diag.message_primary} {error.diag.message_detail}"
        assert (error.sqlstate, f"s3://lake/bad/{name}" in shown, "gpudb://" in shown) == (state, True, False)
    plan = _rows(client, "EXPLAIN ANALYZE SELECT sum(c1) FROM 's3://lake/wide.parquet' WHERE id < 10")
    assert any("s3://lake/wide.parquet" in line for (line,) in plan)


# ---- tables of others


def test_tables_of_iceberg_and_delta_are_read_with_the_credentials_of_their_server(
    client: Connection, proxy: Proxy, tmp_path: Path
) -> None:
    options = {
        "s3.endpoint": proxy.endpoint,
        "s3.access-key-id": KEY,
        "s3.secret-access-key": SECRET,
        "s3.region": "any",
    }
    catalog = SqlCatalog("lake", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse="s3://lake/tables", **options)
    catalog.create_namespace("n")
    rows = pa.table({"id": range(1000), "note": ["x" * 50] * 1000})
    table = catalog.create_table("n.notes", schema=rows.schema)
    table.append(rows)
    table.delete("id < 10")
    folder = table.location()
    catalog.close()
    proxy.reset()
    proxy.key = KEY
    assert _rows(client, f"SELECT count(*), sum(id) FROM '{folder}'") == [(990, 499_455)]
    assert _rows(client, f"SELECT min(filename) LIKE 's3://lake/tables/%' FROM read_iceberg('{folder}')") == [(True,)]
    client.execute(f"CALL gpudb_register('notes', '{folder}', server => 'store')")
    assert _rows(client, "SELECT count(*) FROM notes WHERE id >= 990") == [(10,)]
    deltalake = pytest.importorskip("deltalake")
    local = tmp_path / "delta"
    deltalake.write_deltalake(local, rows.append_column("part", [["a b"] * 1000]), partition_by=["part"])
    proxy.key = None
    pyarrow.fs.copy_files(str(local), "lake/tables/delta", destination_filesystem=_files(proxy))
    proxy.key = KEY
    assert _rows(client, "SELECT part, count(*) FROM 's3://lake/tables/delta' GROUP BY part") == [("a b", 1000)]
    proxy.key = "another"
    for name in (folder, "s3://lake/tables/delta"):
        assert _fail(client, f"SELECT * FROM '{name}'").sqlstate in ("28000", "42501")
    assert _fail(client, "SELECT * FROM read_delta('s3://lake/tables/delta')").sqlstate in ("28000", "42501")
    assert _fail(client, f"SELECT * FROM read_iceberg('{folder}')").sqlstate in ("28000", "42501")


def test_a_server_of_a_role_without_rights_leads_nobody_elsewhere(client: Connection, connect: Connect) -> None:
    client.execute("""
        DROP ROLE IF EXISTS guest; CREATE ROLE guest LOGIN; GRANT USAGE ON FOREIGN DATA WRAPPER lake_fdw TO guest;
        CREATE SERVER unmapped FOREIGN DATA WRAPPER lake_fdw OPTIONS (scope 's3://other/', endpoint 'http://127.0.0.1:9')
    """)
    with connect(user="guest") as guest:
        guest.execute("""
            CREATE SERVER longer FOREIGN DATA WRAPPER lake_fdw
            OPTIONS (scope 's3://other/rows', endpoint 'http://127.0.0.1:9', anonymous 'true', attempts '1')""")
    for query in ("SELECT * FROM 's3://other/rows.parquet'", "COPY (SELECT 1) TO 's3://other/rows.csv'"):
        with pytest.raises(psycopg.errors.UndefinedObject, match='server "unmapped"'):
            client.execute(query)
    client.execute("DROP SERVER longer; DROP SERVER unmapped; DROP OWNED BY guest; DROP ROLE guest")
