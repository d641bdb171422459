"""Foreign tables over the wire: files in place, BrytlytDB's declarations, options, rights, and what psql shows."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from gpudb.session.database import Database
from gpudb.session.session import Session
from tests.support.session_fixtures import Connect
from tests.support.sessions import fails, run

ROWS = [(0, "0.09561", ""), (42, "324.78", "d,e"), (56, "7.8", None)]


@pytest.fixture
def client(connect: Connect) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    with connect() as connection:
        yield connection


@pytest.fixture
def wrapped(session: Session, tmp_path: Path) -> Iterator[Session]:
    """A session with a server of each wrapper over files."""
    (tmp_path / "agg.csv").write_text('56,7.8,\\N\n0,0.09561,\n42,324.78,"d,e"\n', encoding="utf-8")
    for name in ("file_fdw", "parquet_fdw", "arrow_fdw", "gpu_manager_fdw"):
        run(session, f"CREATE EXTENSION {name}; CREATE SERVER {name}_server FOREIGN DATA WRAPPER {name}")
    yield session
    session.sync()
    run(session, "DROP EXTENSION file_fdw, parquet_fdw, arrow_fdw, gpu_manager_fdw CASCADE")


def _create(session: Session, path: Path, options: str = "format 'csv', null '\\N'") -> None:
    columns = "a int NOT NULL, b numeric, c text"
    run(session, f"CREATE FOREIGN TABLE t ({columns}) SERVER file_fdw_server OPTIONS (filename '{path}', {options})")


# ---- file_fdw


def test_a_file_is_read_as_copy_reads_it(wrapped: Session, tmp_path: Path) -> None:
    _create(wrapped, tmp_path / "agg.csv")
    assert run(wrapped, "SELECT a, b::text, c FROM t ORDER BY a") == ROWS
    assert run(wrapped, "SELECT count(*) FROM t x JOIN t y USING (a) WHERE y.b > 1") == [(2,)]
    repeated = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n, t WHERE a = 0 AND i < 4) SELECT count(*) FROM n"
    assert run(wrapped, repeated) == [(4,)]
    (tmp_path / "agg.csv").write_text("1,2,x\n", encoding="utf-8")
    assert run(wrapped, "SELECT a, b::text, c FROM t") == [(1, "2", "x")]
    run(wrapped, "ALTER FOREIGN TABLE t OPTIONS (ADD header 'true')")
    assert run(wrapped, "SELECT * FROM t") == []


def test_values_are_those_of_copy_for_every_type(wrapped: Session, tmp_path: Path) -> None:
    types = "bool int2 numeric(6,2) numeric date time timestamptz interval uuid bytea jsonb int[] money inet int4range timetz"
    columns = ", ".join(f"c{number} {kind}" for number, kind in enumerate(types.split()))
    run(wrapped, f"CREATE TABLE kept ({columns})")
    uuid = "550e8400-e29b-41d4-a716-446655440000"
    run(
        wrapped,
        f"INSERT INTO kept VALUES (true, -1, 2.5, 1.230, 'infinity', '24:00', '2024-01-01 00:00+02', '1 mon 2 days', '{uuid}',"
        """ '\\x00ff', '{"a": [1]}', '{1,NULL}', 12.34, '10.0.0.0/8', '[1,5)', '10:00+02')""",
    )
    run(wrapped, "INSERT INTO kept SELECT")
    path = tmp_path / "types.txt"
    run(wrapped, f"COPY kept TO '{path}'")
    run(wrapped, f"CREATE FOREIGN TABLE same ({columns}) SERVER file_fdw_server OPTIONS (filename '{path}')")
    try:
        assert run(wrapped, "SELECT f::text FROM same f") == run(wrapped, "SELECT k::text FROM kept k")
        assert run(wrapped, "(TABLE same EXCEPT TABLE kept) UNION ALL (TABLE kept EXCEPT TABLE same)") == []
    finally:
        run(wrapped, "DROP TABLE kept")


def test_errors_name_the_row_as_copy_does(wrapped: Session, tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    _create(wrapped, path)
    error = fails(wrapped, "SELECT * FROM t")
    assert (error.sqlstate, error.message) == ("58P01", f'could not open file "{path}": No such file or directory')
    path.write_text("1,2,x\n2,oops,y\n", encoding="utf-8")
    error = fails(wrapped, "SELECT sum(a) FROM t")
    assert (error.sqlstate, error.message) == ("22P02", 'invalid input syntax for type numeric: "oops"')
    assert error.where == 'COPY t, line 2, column b: "oops"'
    path.write_text("1,2\n", encoding="utf-8")
    assert fails(wrapped, "SELECT * FROM t").sqlstate == "22P04"


def test_options_of_file_fdw(wrapped: Session, tmp_path: Path) -> None:
    create = "CREATE FOREIGN TABLE t (a int, b text OPTIONS (force_null 'true')) SERVER file_fdw_server"
    for options, state in (
        ("", "HV002"),
        (" OPTIONS (filename 'x', delimiter 'ab')", "0A000"),
        (" OPTIONS (filename 'x', format 'csv', quote '-', null '=-=')", "0A000"),
        (" OPTIONS (filename 'x', format 'xml')", "22023"),
        (" OPTIONS (filenam 'x')", "HV00D"),
        (" OPTIONS (filename 'x', program 'y')", "0A000"),
    ):
        assert fails(wrapped, create + options).sqlstate == state, options
    error = fails(wrapped, f"{create} OPTIONS (filenam 'x')")
    assert (error.message, error.hint) == ('invalid option "filenam"', 'Perhaps you meant the option "filename".')
    error = fails(wrapped, "ALTER SERVER file_fdw_server OPTIONS (a 'b')")
    assert error.hint == "There are no valid options in this context."
    (tmp_path / "q.csv").write_text('1,"NA"\n2,x\n', encoding="utf-8")
    run(wrapped, f"{create} OPTIONS (filename '{tmp_path}/q.csv', format 'csv', null 'NA')")
    assert run(wrapped, "SELECT * FROM t") == [(1, None), (2, "x")]


def test_what_cannot_be_changed(wrapped: Session, tmp_path: Path) -> None:
    _create(wrapped, tmp_path / "agg.csv")
    for statement, verb in (
        ("INSERT INTO t VALUES (1)", "insert into"),
        ("UPDATE t SET a = 1", "update"),
        ("DELETE FROM t", "delete from"),
        ("TRUNCATE t", "truncate"),
        ("COPY t FROM STDIN", "insert into"),
    ):
        error = fails(wrapped, statement)
        assert (error.sqlstate, error.message) == ("0A000", f'cannot {verb} foreign table "t"')
    error = fails(wrapped, "COPY t TO STDOUT")
    assert (error.sqlstate, error.message) == ("42809", 'cannot copy from foreign table "t"')


# ---- Parquet and Arrow


def test_a_folder_of_parquet_is_imported(wrapped: Session, tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        pq.write_table(pa.table({"n": [1, 2, 3], "name": [name] * 3}), tmp_path / f"{name}.parquet")
    source = f'IMPORT FOREIGN SCHEMA "{tmp_path}"'
    run(wrapped, f"{source} EXCEPT (three) FROM SERVER parquet_fdw_server INTO public")
    assert run(wrapped, "SELECT sum(n), min(name) FROM two WHERE n > 1") == [(5, "two")]
    assert fails(wrapped, "SELECT * FROM three").sqlstate == "42P01"
    run(
        wrapped,
        "CREATE FOREIGN TABLE several (name varchar(3), n numeric(8,1)) SERVER parquet_fdw_server"
        f" OPTIONS (filename '{tmp_path}/one.parquet {tmp_path}/two.parquet')",
    )
    assert run(wrapped, "SELECT name, sum(n) FROM several GROUP BY 1 ORDER BY 1") == [
        ("one", Decimal("6.0")),
        ("two", Decimal("6.0")),
    ]
    missing = f"SERVER parquet_fdw_server OPTIONS (filename '{tmp_path}/one.parquet')"
    run(wrapped, f"CREATE FOREIGN TABLE other (absent int) {missing}")
    assert fails(wrapped, "SELECT * FROM other").sqlstate == "42703"


def test_paths_with_spaces_and_quotes_are_imported(wrapped: Session, tmp_path: Path) -> None:
    folder = tmp_path / "last year's rides"
    folder.mkdir()
    pq.write_table(pa.table({"n": [1, 2]}), folder / "one.parquet")
    pyarrow.feather.write_feather(pa.table({"n": [3]}), folder / "two.arrow")
    for wrapper in ("parquet_fdw", "arrow_fdw"):
        run(wrapped, f'IMPORT FOREIGN SCHEMA "{folder}" FROM SERVER {wrapper}_server INTO public')
    assert run(wrapped, "SELECT one.n, two.n FROM one, two ORDER BY 1") == [(1, 3), (2, 3)]
    column = "(n bigint) SERVER parquet_fdw_server OPTIONS (filename '{}')"
    path = str(folder / "one.parquet")
    error = fails(wrapped, f"CREATE FOREIGN TABLE open {column.format(path.replace(chr(39), chr(39) * 2))}")
    assert (error.sqlstate, error.message) == ("HV024", f'invalid value for option "filename": "{path}"')
    pq.write_table(pa.table({"n": [5]}), tmp_path / "a b.parquet")
    listed = f"''{tmp_path}/a b.parquet'' {tmp_path}/*/one.parquet"
    run(wrapped, f"CREATE FOREIGN TABLE several {column.format(listed)}")
    assert run(wrapped, "SELECT sum(n) FROM several") == [(8,)]


def test_a_folder_that_cannot_be_listed(wrapped: Session, tmp_path: Path) -> None:
    for name, state in (("none", "HV00Q"), ("x" * 300, "XX001")):
        statement = f'IMPORT FOREIGN SCHEMA "{tmp_path}/{name}" FROM SERVER parquet_fdw_server INTO public'
        assert fails(wrapped, statement).sqlstate == state
    run(wrapped, "CREATE ROLE plain; GRANT USAGE ON FOREIGN SERVER parquet_fdw_server TO plain")
    run(wrapped, "GRANT CREATE ON SCHEMA public TO plain; SET ROLE plain")
    try:
        for folder in (tmp_path, tmp_path / "none"):
            statement = f'IMPORT FOREIGN SCHEMA "{folder}" FROM SERVER parquet_fdw_server INTO public'
            assert fails(wrapped, statement).sqlstate == "42501"
    finally:
        wrapped.sync()
        run(wrapped, "RESET ROLE; DROP OWNED BY plain; DROP ROLE plain")


def test_arrow_files_of_a_folder(wrapped: Session, tmp_path: Path) -> None:
    for number in range(3):
        table = pa.table({"n": [number], "at": pa.array([number], pa.timestamp("ns"))})
        pyarrow.feather.write_feather(table, tmp_path / f"{number}.arrow")
    options = f"dir '{tmp_path}', suffix '.arrow'"
    run(wrapped, f"CREATE FOREIGN TABLE a (n bigint, at timestamp) SERVER arrow_fdw OPTIONS ({options})")
    assert run(wrapped, "SELECT sum(n) FROM a WHERE n > 0") == [(3,)]
    run(wrapped, f"IMPORT FOREIGN SCHEMA b FROM SERVER arrow_fdw INTO public OPTIONS (file '{tmp_path}/2.arrow')")
    assert run(wrapped, "SELECT n, at::text FROM b") == [(2, "1970-01-01 00:00:00")]


# ---- BrytlytDB


def test_brytlytdbs_statements_run_as_they_stand(wrapped: Session, tmp_path: Path) -> None:
    run(
        wrapped,
        "CREATE FOREIGN TABLE trips (trip_id INT, vendor_id VARCHAR(3), pickup DATE, total DOUBLE PRECISION)"
        " SERVER gpu_manager_fdw_server OPTIONS (max_size '38000000', index '24') DISTRIBUTE BY HASH (trip_id)",
    )
    path = tmp_path / "trips.csv"
    path.write_text("1,CMT,2009-01-01,5.5\n2,VTS,2009-01-02,6.25\n", encoding="utf-8")
    loaded = f"SELECT load_data('trips', '{path}', ',', '', 100000, '0', '', 'append')"
    assert run(wrapped, loaded) == [(2,)]
    assert run(wrapped, "SELECT vendor_id, sum(total) FROM trips GROUP BY 1 ORDER BY 1") == [
        ("CMT", 5.5),
        ("VTS", 6.25),
    ]
    run(wrapped, "DELETE FROM trips WHERE trip_id = 1")
    assert run(wrapped, "SELECT ftoptions, count(*) OVER () FROM pg_foreign_table") == [
        (["max_size=38000000", "index=24"], 1)
    ]
    broken = "CREATE FOREIGN TABLE u (a int) SERVER gpu_manager_fdw_server OPTIONS (max_size 'much')"
    assert fails(wrapped, broken).sqlstate == "HV024"


def test_foreign_tables_are_kept(tmp_path: Path) -> None:
    (tmp_path / "k.csv").write_text("1\n2\n", encoding="utf-8")
    with contextlib.closing(Database(tmp_path / "data")) as database:
        session = database.session("gpudb")
        run(session, "CREATE EXTENSION file_fdw; CREATE SERVER s FOREIGN DATA WRAPPER file_fdw")
        run(session, f"CREATE FOREIGN TABLE k (a int) SERVER s OPTIONS (filename '{tmp_path}/k.csv')")
        run(session, "CREATE USER MAPPING FOR PUBLIC SERVER s; ALTER SERVER s RENAME TO renamed")
    with contextlib.closing(Database(tmp_path / "data")) as database:
        session = database.session("gpudb")
        assert run(session, "SELECT sum(a) FROM k") == [(3,)]
        assert run(session, "SELECT srvname, umuser::int FROM pg_user_mappings") == [("renamed", 0)]


# ---- rights and psql


def test_rights_on_foreign_tables(wrapped: Session, tmp_path: Path) -> None:
    path = tmp_path / "agg.csv"
    run(
        wrapped,
        "CREATE ROLE plain; GRANT CREATE ON SCHEMA public TO plain; GRANT USAGE ON FOREIGN SERVER file_fdw_server TO plain",
    )
    _create(wrapped, path)
    try:
        run(wrapped, "SET ROLE plain")
        assert fails(wrapped, "SELECT * FROM t").message == "permission denied for foreign table t"
        error = fails(wrapped, f"CREATE FOREIGN TABLE u (a int) SERVER file_fdw_server OPTIONS (filename '{path}')")
        assert error.message == 'permission denied to set the "filename" option of a file_fdw foreign table'
        assert error.detail == 'Only roles with privileges of the "pg_read_server_files" role may set this option.'
        run(wrapped, "RESET ROLE; GRANT SELECT ON t TO plain; SET ROLE plain")
        assert run(wrapped, "SELECT count(*) FROM t") == [(3,)]
    finally:
        wrapped.sync()
        run(wrapped, "RESET ROLE; DROP OWNED BY plain; DROP ROLE plain")


def test_psql_shows_foreign_objects(
    wrapped: Session, client: psycopg.Connection[tuple[Any, ...]], tmp_path: Path
) -> None:
    _create(wrapped, tmp_path / "agg.csv")
    run(wrapped, "CREATE USER MAPPING FOR PUBLIC SERVER file_fdw_server")
    info = client.info
    command = ["psql", "-h", info.host, "-p", str(info.port), "-U", "gpudb", "-d", "gpudb", "-A"]
    shown = {
        "\\dew": "file_fdw|gpudb|file_fdw_handler|file_fdw_validator",
        "\\des": "file_fdw_server|gpudb|file_fdw",
        "\\deu": "file_fdw_server|public",
        "\\det": "public|t|file_fdw_server",
        "\\d t": "Server: file_fdw_server",
        "\\d": "public|t|foreign table|gpudb",
    }
    for meta, expected in shown.items():
        result = subprocess.run([*command, "-c", meta], capture_output=True, text=True, check=True, timeout=60)
        assert expected in result.stdout, (meta, result.stdout)
    told = f"FDW options: (filename '{tmp_path}/agg.csv', format 'csv', \"null\" E'\\\\N')"
    result = subprocess.run([*command, "-c", "\\d+ t"], capture_output=True, text=True, check=True, timeout=60)
    assert told in result.stdout
