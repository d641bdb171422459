from __future__ import annotations

import gzip
import time
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import gpudb as package
from gpudb.api import Connection, progress_bar
from gpudb.cli import load, sources
from gpudb.storage.load.progress import Progress
from tests.support.command_line import run_command, run_in_process
from tests.support.connection_urls import to_url


def rows(data_dir: Path, query: str) -> list[tuple[object, ...]]:
    with package.connect(data_dir) as connection:
        return connection.sql(query).fetchall()


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Two CSV files of one table: one plain, one compressed with another column order."""
    (tmp_path / "part1.csv").write_text('id,name,price\n1,"a, b",1.50\n2,,\n')
    with gzip.open(tmp_path / "part2.csv.gz", "wt") as file:
        file.write('price,id,name\n2.25,3,"c\nd"\n')
    return tmp_path


def test_csv_files_by_glob_their_headers_found_out(files: Path) -> None:
    data = files / "data"
    with package.connect(data) as connection:
        connection.execute("CREATE TABLE items (id int PRIMARY KEY, name text, price numeric(8,2))")
    done = run_command("load", "items", files / "part*", "--data-dir", data)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip().startswith("loaded 3 rows")
    assert "2 files" in done.stdout
    assert rows(data, "SELECT * FROM items ORDER BY id") == [
        (1, "a, b", Decimal("1.50")),
        (2, None, None),
        (3, "c\nd", Decimal("2.25")),
    ]


def test_all_files_or_none(files: Path) -> None:
    data = files / "data"
    (files / "part3.csv").write_text("4,x,1\nfive,y,2\n")
    with package.connect(data) as connection:
        connection.execute("CREATE TABLE items (id int, name text, price numeric(8,2))")
    done = run_in_process("load", "items", files / "part*", "--data-dir", data)
    assert done.returncode == 1
    assert "22P02" in done.stderr
    assert "line 2" in done.stderr
    assert rows(data, "SELECT count(*) FROM items") == [(0,)]


@pytest.mark.parametrize("target", ["directory", "server"])
def test_the_bar_shows_the_rows_that_the_database_has_stored(
    target: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = tmp_path / "data" if target == "directory" else to_url(request.getfixturevalue("gpudb_server"))
    with package.connect(url) as connection:
        connection.execute("CREATE TABLE shown (a int, b text)")
    (tmp_path / "1.csv").write_text("".join(f"{i},some text {i}\n" for i in range(600_000)))
    pq.write_table(pa.table({"a": range(1000), "b": ["x"] * 1000}), tmp_path / "2.parquet")
    (tmp_path / "3.csv").write_text("1,x\n")
    total = sum(path.stat().st_size for path in tmp_path.iterdir() if path.is_file())
    drawn: list[Progress] = []

    class Drawing:
        def draw(self, progress: Progress, text: str) -> None:
            drawn.append(progress)
            time.sleep(0.01)  # the loader parses meanwhile

        def remove(self) -> None:
            """There is nothing on the screen."""

    monkeypatch.setattr(sources, "CHUNK", 1 << 17)
    monkeypatch.setattr(progress_bar, "AFTER_S", 0)
    monkeypatch.setattr(progress_bar, "_POLL_S", 0)
    monkeypatch.setattr(load, "_QUESTION_S", 0)
    monkeypatch.setattr(load, "_QUESTION_PART", 0)
    monkeypatch.setattr(progress_bar, "open_drawing", Drawing)
    load.run(str(url), "shown", [str(tmp_path / "*.csv"), str(tmp_path / "*.parquet")], load.Options(header=False))
    assert {each.total for each in drawn} == {total}
    assert [each.done for each in drawn] == sorted(each.done for each in drawn)
    assert drawn[-1].done == total
    assert any(0 < each.rows < 600_000 for each in drawn)
    assert max(each.rows for each in drawn) in {601_001, 601_000}  # the last COPY may not have stored its row
    with package.connect(url) as connection:
        assert connection.execute("SELECT count(*) FROM shown").fetchall() == [(601_001,)]
        connection.execute("DROP TABLE shown")


def test_create_takes_columns_from_the_first_file(files: Path) -> None:
    data = files / "data"
    done = run_in_process("load", "items", files / "part1.csv", "--create", "--data-dir", data)
    assert (done.returncode, done.stderr) == (0, "")
    assert rows(data, "SELECT id, name, price FROM items ORDER BY id") == [(1, "a, b", 1.5), (2, None, None)]
    done = run_in_process("load", "items", files / "part1.csv", "--create", "--data-dir", data)
    assert (done.returncode, "42P07" in done.stderr) == (1, True)
    done = run_in_process("load", "missing", files / "part1.csv", "--data-dir", data)
    assert (done.returncode, "HINT:  --create makes the table" in done.stderr) == (1, True)
    done = run_in_process("load", "items", files / "part1.csv", "--delimiter", ";;", "--data-dir", data)
    assert (done.returncode, "must be a single one-byte character" in done.stderr) == (1, True)


@pytest.mark.parametrize("kind", ["parquet", "arrow", "feather"])
def test_columnar_files(tmp_path: Path, kind: str) -> None:
    table = pa.table({"ID": pa.array([1, None], pa.int16()), "tags": [["a", None], []], "d": [Decimal("1.25"), None]})
    path = tmp_path / f"t.{kind}"
    if kind == "parquet":
        pq.write_table(table, path)
    elif kind == "feather":
        pyarrow.feather.write_feather(table, path, compression="lz4")
    else:
        with pa.ipc.new_stream(str(path), table.schema) as writer:
            writer.write_table(table)
    data = tmp_path / "data"
    done = run_in_process("load", "t", path, "--create", "--data-dir", data)
    assert (done.returncode, done.stderr) == (0, "")
    assert rows(data, "SELECT * FROM t ORDER BY id") == [(1, ["a", None], Decimal("1.25")), (None, [], None)]


def test_into_a_server(files: Path, gpudb_server: str) -> None:
    url = to_url(gpudb_server)
    with package.connect(url) as connection:
        connection.execute("DROP TABLE IF EXISTS cli_loaded")
    pq.write_table(pa.table({"id": pa.array([7], pa.int64()), "price": [1.5]}), files / "more.parquet")
    done = run_in_process("load", "cli_loaded", files / "part1.csv", files / "more.parquet", "--create", "--url", url)
    assert (done.returncode, done.stderr) == (0, "")
    with package.connect(url) as connection:
        found = connection.sql("SELECT * FROM cli_loaded ORDER BY id").fetchall()
        connection.execute("DROP TABLE cli_loaded")
    assert found == [(1, "a, b", 1.5), (2, None, None), (7, None, 1.5)]


def test_delimiters_nulls_and_text_files(tmp_path: Path) -> None:
    data = tmp_path / "data"
    (tmp_path / "a.tsv").write_text("1\tx\n2\t-\n")
    (tmp_path / "b.txt").write_text("3\t\\N\n")
    (tmp_path / "c.dat").write_text("4|y\n")
    with package.connect(data) as connection:
        connection.execute("CREATE TABLE t (a int, b text)")
    for arguments in (
        ("a.tsv", "--null", "-"),
        ("b.txt",),
        ("c.dat", "--format", "csv", "--delimiter", "|", "--no-header"),
    ):
        done = run_in_process("load", "t", tmp_path / arguments[0], *arguments[1:], "--data-dir", data)
        assert (done.returncode, done.stderr) == (0, ""), arguments
    assert rows(data, "SELECT * FROM t ORDER BY a") == [(1, "x"), (2, None), (3, None), (4, "y")]


def test_files_that_cannot_be_loaded(tmp_path: Path) -> None:
    data = ("--data-dir", tmp_path / "data")
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 this is not one PAR1")
    (tmp_path / "bad.csv.gz").write_bytes(b"no gzip at all")
    (tmp_path / "what.xyz").write_text("1\n")
    cases = [
        ("none.csv", "58P01"),
        ("no*.csv", "58P01"),
        ("what.xyz", "0A000"),
        ("bad.parquet", "XX001"),
        ("bad.csv.gz", "XX001"),
    ]
    for name, state in cases:
        done = run_in_process("load", "t", tmp_path / name, "--create", *data)
        assert done.returncode == 1
        assert state in done.stderr, (name, done.stderr)
        assert "Traceback" not in done.stderr
    connection: Connection
    with package.connect(tmp_path / "data") as connection:
        assert connection.sql("SELECT count(*) FROM pg_tables WHERE tablename = 't'").fetchall() == [(0,)]


def test_csv_as_people_write_it(tmp_path: Path) -> None:
    """The options of read_csv; what was found is told, and what was left out."""
    data = tmp_path / "data"
    (tmp_path / "german.csv").write_bytes(
        "Bericht; 2024\nPLZ;Ort;Ort;Preis;Tag\n# Kommentar\n01067;Köln;;1.234,50;31.12.2024\n\n99999;-;x;-;\n".encode(
            "cp1252"
        )
    )
    options = ("skip=1", "comment=#", "encoding=WIN1252", "thousands=.", "decimal_separator=,", "dateformat=%d.%m.%Y")
    listed = [each for option in (*options, "null=", "null=-") for each in ("--option", option)]
    done = run_in_process("load", "--create", "prices", tmp_path / "german.csv", *listed, "--data-dir", data)
    assert (done.returncode, done.stderr) == (0, "")
    assert "german.csv has a header and the delimiter ';', in the encoding cp1252" in done.stdout
    assert rows(data, "SELECT plz, ort, ort_1, preis, tag::text FROM prices ORDER BY plz") == [
        ("01067", "Köln", None, 1234.5, "2024-12-31"),
        ("99999", None, "x", None, None),
    ]
    (tmp_path / "bad.csv").write_text("plz,ort,ort_1,preis,tag\n1,a,b,far,\n2,c,d,5,\n")
    with package.connect(data) as connection:
        connection.execute("CREATE TABLE rejected (source text, line bigint, column_name text, value text)")
    done = run_in_process(
        "load", "prices", tmp_path / "bad.csv", "--option", "rejects_table=rejected", "--data-dir", data
    )
    assert (done.returncode, "1 row was skipped" in done.stdout, "loaded 1 rows" in done.stdout) == (0, True, True)
    assert rows(data, "SELECT line, column_name, value FROM rejected") == [(2, "preis", "far")]
    done = run_in_process("load", "prices", tmp_path / "bad.csv", "--option", "colour=red", "--data-dir", data)
    assert (done.returncode, "22023" in done.stderr) == (1, True)


def test_a_file_without_the_first_ones_header_keeps_its_first_row(tmp_path: Path) -> None:
    data = tmp_path / "data"
    (tmp_path / "1.csv").write_text("\ufeffname,name,\nann,b,c\n", encoding="utf-8")
    (tmp_path / "2.csv").write_text("eve,f,g\n\n")
    (tmp_path / "3.csv").write_text("name,name,\njo,h,i\n")
    done = run_in_process("load", "--create", "people", tmp_path / "?.csv", "--data-dir", data)
    assert (done.returncode, done.stderr) == (0, "")
    assert rows(data, "SELECT name, name_1, column3 FROM people ORDER BY 1") == [
        ("ann", "b", "c"), ("eve", "f", "g"), ("jo", "h", "i"),
    ]  # fmt: skip
    (tmp_path / "utf16.csv").write_bytes("ärger,x,y\n".encode("utf-16"))
    done = run_in_process("load", "people", tmp_path / "utf16.csv", "--data-dir", data)
    assert (done.returncode, done.stderr) == (0, "")
    assert rows(data, "SELECT name FROM people WHERE column3 = 'y'") == [("ärger",)]


def test_the_database_is_asked_seldom_for_its_rows() -> None:
    class Asked:
        count = 0

        def progress(self) -> Progress:
            self.count += 1
            return Progress(0, 0, self.count)

    asked = Asked()
    running = load._Load(asked, 100)  # type: ignore[arg-type]
    running.report(1, None)
    shown = {running.progress().rows for _ in range(50)}
    assert (asked.count, shown) == (1, {1})
