from __future__ import annotations

import subprocess
import sys
import threading
import time
from contextlib import suppress
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

import gpudb
from gpudb.api import Connection
from gpudb.errors import FeatureNotSupported, GpudbError, UndefinedColumn, UndefinedTable


def count_to(connection: Connection, last: int) -> None:
    """A table g(n) of the numbers from 1."""
    connection.register("g", pa.table({"n": pa.array(range(1, last + 1), pa.int32())}))


def test_importing_gpudb_imports_nothing_heavy() -> None:
    code = (
        "import sys, gpudb; gpudb.__version__; "
        "heavy = {'duckdb', 'pyarrow', 'polars', 'pandas', 'numpy', 'pyiceberg', 'cudf', 'cupy', 'dask'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert out.stdout.strip() == "[]"


def test_connecting_imports_no_cuda_no_driver_and_nothing_that_a_first_query_does_not_need() -> None:
    code = (
        "import sys, gpudb; gpudb.connect().sql('SELECT 1').fetchall(); "
        "print(sorted({'cudf', 'cupy', 'rmm', 'dask', 'polars', 'psycopg', 'pandas', 'pyiceberg', 'asyncio', 'altair', "
        "'pyarrow.parquet', 'pyarrow.fs', 'regex', 'ssl', 'postgast.nodes._generated', "
        "'gpudb.engine.gpu.rpc', 'gpudb.plan.tree', 'gpudb.plpgsql.compilation', 'gpudb.session.handlers', "
        "'gpudb.session.ddl', 'gpudb.session.dml', 'gpudb.session.routines', 'gpudb.session.triggers', "
        "'gpudb.session.copy.copy_from', 'gpudb.storage.copy.reader', 'gpudb.storage.load.loader'} "
        "& set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert out.stdout.strip() == "[]"


def test_classes_of_postgast_that_are_deferred_are_made_when_asked_for() -> None:
    code = (
        "import sys, gpudb, postgast; deferred = 'postgast.nodes._generated' not in sys.modules; "
        "from postgast.nodes import AstNode, SelectStmt; import postgast.nodes as nodes; "
        "made = postgast.wrap(postgast.parse('SELECT 1').stmts[0].stmt); "
        "print(deferred, isinstance(made, SelectStmt), isinstance(made, AstNode), nodes.wrap is postgast.wrap, "
        "hasattr(nodes, 'nothing'), nodes.__spec__.name)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert out.stdout.split() == ["True", "True", "True", "True", "False", "postgast.nodes"]


def test_errors_are_at_hand() -> None:
    assert gpudb.errors.UndefinedTable is UndefinedTable
    with pytest.raises(AttributeError):
        _ = gpudb.nothing


def test_without_pandas_or_psycopg_it_says_what_to_install(db: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"gpudb-sql\[pandas\]"):
        db.sql("SELECT 1").pandas()
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(GpudbError) as caught:
        gpudb.connect("postgresql://gpudb@127.0.0.1:1/gpudb")
    assert (caught.value.sqlstate, "pip install" in (caught.value.hint or "")) == ("08001", True)


def test_nothing_runs_before_rows_are_asked_for(any_db: Connection) -> None:
    relation = any_db.sql("SELECT * FROM never_made")
    assert "never_made" in repr(relation)
    with pytest.raises(UndefinedTable) as caught:
        relation.fetchall()
    assert caught.value.sqlstate == "42P01"
    with pytest.raises(UndefinedTable):
        _ = relation.columns
    with pytest.raises(UndefinedColumn):
        any_db.sql("SELECT nothing").arrow()
    assert any_db.sql("SELECT 1").fetchall() == [(1,)]


def test_sql_of_a_statement_that_is_no_query_runs_it_once(any_db: Connection) -> None:
    done = any_db.sql("CREATE TEMPORARY TABLE once (a int)")
    assert (str(done), len(done), done.columns, done.fetchall()) == ("CREATE TABLE", 0, (), [])
    assert done._repr_html_() is None
    assert str(any_db.sql("INSERT INTO once VALUES ($1), ($2)", [1, 2])) == "INSERT 0 2"
    changed = any_db.sql("WITH x AS (INSERT INTO once VALUES (3) RETURNING a) SELECT a, a * 2 AS b FROM x")
    returned = any_db.sql("UPDATE once SET a = a + 10 RETURNING a")
    for _ in range(2):
        assert (changed.columns, changed.fetchone(), list(changed), len(changed)) == (("a", "b"), (3, 6), [(3, 6)], 1)
        assert sorted(returned.arrow()["a"].to_pylist()) == [11, 12, 13]
        assert "11" in str(returned)
        assert "<table" in (returned._repr_html_() or "")
    assert any_db.sql("SELECT count(*), sum(a) FROM once").fetchall() == [(3, 36)]
    assert any_db.sql("SET work_mem = '1MB'; SHOW work_mem").fetchall() == [("1MB",)]
    for refused in (lambda: returned.filter("a > 1"), lambda: returned.explain()):
        with pytest.raises(GpudbError) as caught:
            refused()
        assert caught.value.sqlstate == "0A000"
    assert any_db.sql("SELECT 7 AS z INTO TEMPORARY kept").fetchall() == []
    assert any_db.sql("TABLE kept").fetchall() == [(7,)]


def test_execute_tells_tags_and_counts(any_db: Connection) -> None:
    with any_db.transaction():
        assert any_db.execute("CREATE TEMPORARY TABLE told (a int, b text)").tag == "CREATE TABLE"
        inserted = any_db.execute("INSERT INTO told VALUES (1, 'x'), (2, NULL), (3, 'z')")
        assert (inserted.tag, inserted.rowcount) == ("INSERT 0 3", 3)
        back = any_db.execute("UPDATE told SET b = 'y' WHERE a > 1 RETURNING a, b")
        assert sorted(back) == [(2, "y"), (3, "y")]
        assert (back.tag, back.rowcount) == ("UPDATE 2", 2)
        assert any_db.execute("DELETE FROM told").rowcount == 3
        rows = any_db.execute("INSERT INTO told VALUES (9, 'q'); SELECT a, b FROM told")
        assert rows.fetchall() == [(9, "q")]
        any_db.execute("DROP TABLE told")


def test_parameters_take_their_types_from_the_statement(any_db: Connection) -> None:
    row = any_db.sql(
        "SELECT $1 + 1, $2 || 'b', $3::date + 1, $4::numeric(6,3), $5::int[], $6::text IS NULL, $7::bytea, $8::boolean",
        [41, "a", "2024-02-28", Decimal("1.5"), [1, None, 2], None, b"\x00\xff", True],
    ).fetchone()
    assert row is not None
    assert row[0] == 42
    assert row[1] == "ab"
    assert str(row[2]) == "2024-02-29"
    assert row[3] == Decimal("1.500")
    assert row[4:] == ([1, None, 2], True, b"\x00\xff", True)


def test_too_few_parameters(db: Connection) -> None:
    with pytest.raises(GpudbError) as caught:
        db.execute("SELECT $1::int, $2::text", [1])
    assert caught.value.sqlstate == "08P01"


def test_a_value_that_is_no_sql_value(db: Connection) -> None:
    with pytest.raises(GpudbError) as caught:
        db.execute("SELECT $1", [object()])
    assert caught.value.sqlstate == "42846"


def test_relations_compose(any_db: Connection) -> None:
    count_to(any_db, 10)
    numbers = any_db.sql("SELECT n, n % $1 AS r FROM g ORDER BY n -- all of them", [3])
    some = numbers.filter("r = 1").select("n * 10 AS tens").order("tens DESC").limit(2, offset=1)
    assert some.columns == ("tens",)
    assert some.fetchall() == [(70,), (40,)]
    assert numbers.fetchone() == (1, 1)
    with pytest.raises(FeatureNotSupported):
        any_db.sql("SHOW TimeZone").filter("true")
    assert any_db.sql("SHOW TimeZone").fetchall() == [("UTC",)]


def test_explain_names_the_engine(db: Connection) -> None:
    count_to(db, 5)
    relation = db.sql("SELECT n FROM g WHERE n < $1", [5])
    assert "Engine: cpu" in relation.explain()
    assert "Execution Time" in relation.explain(analyze=True)


def test_show_prints_as_psql_does(db: Connection, capsys: pytest.CaptureFixture[str]) -> None:
    count_to(db, 3)
    db.sql("SELECT n AS a, repeat('x', n) AS b FROM g ORDER BY n").show(rows=2)
    assert capsys.readouterr().out == (" a | b  \n---+----\n 1 | x\n 2 | xx\n(2 rows; there are more)\n")


def test_iteration_survives_other_statements_of_the_connection(db: Connection) -> None:
    db.execute("CREATE TABLE seen (n int)")
    count_to(db, 200_000)
    total = 0
    for (n,) in db.sql("SELECT n FROM g"):
        assert isinstance(n, int)
        total += n
        if n % 50_000 == 0:
            db.execute("INSERT INTO seen VALUES ($1)", [n])
    assert total == 200_000 * 200_001 // 2
    assert db.sql("SELECT count(*), max(n) FROM seen").fetchall() == [(4, 200_000)]


def test_an_abandoned_iteration_gives_its_statement_up(db: Connection) -> None:
    count_to(db, 30_000)
    rows = iter(db.sql("SELECT a.n FROM g AS a, g AS b"))
    assert next(rows) is not None
    del rows
    started = time.monotonic()
    assert db.sql("SELECT 1").fetchall() == [(1,)]
    assert time.monotonic() - started < 20


def test_transactions_commit_and_roll_back(any_db: Connection) -> None:
    any_db.execute("DROP TABLE IF EXISTS api_transactions")
    any_db.execute("CREATE TABLE api_transactions (a int)")
    with any_db.transaction():
        any_db.execute("INSERT INTO api_transactions VALUES (1)")
        assert any_db.in_transaction
    assert not any_db.in_transaction
    with suppress(RuntimeError), any_db.transaction():
        any_db.execute("INSERT INTO api_transactions VALUES (2)")
        raise RuntimeError
    with any_db.transaction():
        any_db.execute("INSERT INTO api_transactions VALUES (3)")
        with suppress(GpudbError), any_db.transaction():
            any_db.execute("INSERT INTO api_transactions VALUES (4)")
            any_db.execute("SELECT 1 / 0")
        any_db.execute("INSERT INTO api_transactions VALUES (5)")
    assert any_db.sql("SELECT a FROM api_transactions ORDER BY a").fetchall() == [(1,), (3,), (5,)]
    any_db.execute("DROP TABLE api_transactions")


def swallow(connection: Connection) -> None:
    with connection.transaction(), suppress(GpudbError):
        connection.execute("SELECT 1 / 0")


def test_a_swallowed_error_does_not_commit(any_db: Connection) -> None:
    with pytest.raises(GpudbError) as caught:
        swallow(any_db)
    assert caught.value.sqlstate == "25P02"
    assert any_db.status == "I"


def test_copy_from_chunks_cut_anywhere(any_db: Connection) -> None:
    any_db.execute("CREATE TEMPORARY TABLE copied (a int, b text)")
    data = b'a,b\n1,"x, ""y"""\n2,\n3,""\n'
    count = any_db.copy_from("COPY copied FROM STDIN (FORMAT csv, HEADER)", (data[i : i + 3] for i in range(0, 99, 3)))
    assert count == 3
    assert any_db.sql("SELECT * FROM copied ORDER BY a").fetchall() == [(1, 'x, "y"'), (2, None), (3, "")]
    with pytest.raises(GpudbError) as caught:
        any_db.copy_from("COPY copied FROM STDIN (FORMAT csv)", [b"4,x\nfive,y\n"])
    assert caught.value.sqlstate == "22P02"
    assert any_db.sql("SELECT count(*) FROM copied").fetchall() == [(3,)]
    any_db.execute("DROP TABLE copied")


def test_cancel_ends_a_statement_from_another_thread(any_db: Connection) -> None:
    count_to(any_db, 100_000)
    query = "SELECT sum(a.n % (b.n + c.n)) FROM g AS a, g AS b, g AS c"
    found: list[BaseException] = []

    def run() -> None:
        try:
            any_db.execute(query)
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    deadline = time.monotonic() + 60
    while thread.is_alive() and time.monotonic() < deadline:
        time.sleep(0.05)
        any_db.cancel()
    thread.join(60)
    assert [getattr(error, "sqlstate", None) for error in found] == ["57014"]
    assert any_db.sql("SELECT 1").fetchall() == [(1,)]


def test_a_data_directory_keeps_what_was_committed(tmp_path: Path) -> None:
    with gpudb.connect(tmp_path / "data") as first, gpudb.connect(tmp_path / "data") as second:
        first.execute("CREATE TABLE kept AS SELECT 1 AS a")
        assert second.sql("SELECT a FROM kept").fetchall() == [(1,)]
    with gpudb.connect(tmp_path / "data") as again:
        assert again.table("kept").fetchall() == [(1,)]


def test_a_closed_connection_says_so(db: Connection) -> None:
    db.close()
    db.close()
    with pytest.raises(GpudbError) as caught:
        db.sql("SELECT 1").fetchall()
    assert caught.value.sqlstate == "08003"


def test_addresses_that_lead_nowhere(tmp_path: Path) -> None:
    for address, state in (("mysql://x", "22023"), ("postgresql://gpudb@127.0.0.1:1/gpudb", "08006")):
        with pytest.raises(GpudbError) as caught:
            gpudb.connect(address)
        assert caught.value.sqlstate == state
    with pytest.raises(GpudbError) as caught:
        gpudb.connect(tmp_path / "d", user="nobody")
    assert caught.value.sqlstate == "28000"
    gpudb.connect(tmp_path / "d").close()


def test_session_settings(db: Connection) -> None:
    with gpudb.connect(settings={"TimeZone": "Asia/Tokyo"}) as tokyo:
        assert str(tokyo.sql("SELECT timestamptz '2024-01-01 00:00:00+00'").limit(1)._rows()).splitlines()[2] == (
            " 2024-01-01 09:00:00+09"
        )
    with pytest.raises(GpudbError) as caught:
        gpudb.connect(settings={"no_such_setting": "1"})
    assert caught.value.sqlstate == "42704"


def test_notices_are_kept(any_db: Connection) -> None:
    any_db.execute("DROP TABLE IF EXISTS not_there")
    assert ["not_there" in notice.message for notice in any_db.notices] == [True]
    any_db.execute("SELECT 1")
    assert any_db.notices == []


@pytest.mark.parametrize("sql", ["COPY copied FROM STDIN", "COPY copied TO STDOUT", "SELECT 1; COPY copied TO STDOUT"])
def test_copy_without_a_client_is_refused(sql: str, any_db: Connection) -> None:
    any_db.execute("CREATE TEMPORARY TABLE copied AS SELECT n FROM generate_series(1, 10000) n")
    with pytest.raises(GpudbError, match=r"COPY (FROM STDIN needs its data|TO STDOUT has nowhere to go)"):
        any_db.execute(sql)
    assert any_db.execute("SELECT count(*) FROM copied").fetchall() == [(10000,)]
