"""Excel workbooks over the wire: read as tables, written by COPY, loaded; what Excel cannot hold is text or refused."""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import errors

import gpudb
from tests.support.command_line import run_in_process
from tests.support.lab import ENGINES, client_of_engine

xlsxwriter = pytest.importorskip("xlsxwriter")
pytest.importorskip("python_calamine")
Client = psycopg.Connection[tuple[Any, ...]]


@pytest.fixture(scope="module", params=ENGINES)
def client(request: pytest.FixtureRequest) -> Iterator[Client]:
    with client_of_engine(str(request.param)) as connection:
        yield connection


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """Two sheets: `Rides` below an empty row and column, with an empty row, and `2024`, without a header."""
    path = tmp_path / "book.xlsx"
    made = xlsxwriter.Workbook(path)
    day, moment = (made.add_format({"num_format": form}) for form in ("yyyy-mm-dd", "yyyy-mm-dd hh:mm:ss"))
    sheet = made.add_worksheet("Rides")
    sheet.write_row(2, 1, ["id", "plz", "fare", "day", "start", "paid", "mixed", "id", ""])
    for row, number in ((3, 1), (5, 2)):
        sheet.write_number(row, 1, number)
        sheet.write_string(row, 2, f"0123{number}")
        sheet.write_number(row, 3, number / 2)
        sheet.write_datetime(row, 4, dt.date(2024, 2, 27 + number), day)
        sheet.write_datetime(row, 5, dt.datetime(2024, 1, 1, 10, number, 30), moment)
        sheet.write_boolean(row, 6, number == 1)
        sheet.write(row, 7, "N/A" if number == 1 else 7)
    sheet.write_formula(5, 8, "=1/0", None, "#DIV/0!")
    sheet.write_string(5, 9, "last")
    plain = made.add_worksheet("2024")
    plain.write_row(0, 0, [1, "a"])
    plain.write_row(1, 0, [2, "b"])
    made.close()
    return path


def test_a_sheet_is_a_table(client: Client, book: Path) -> None:
    cursor = client.execute(f"SELECT * FROM '{book}'")
    assert [each.name for each in cursor.description or ()] == [
        "id", "plz", "fare", "day", "start", "paid", "mixed", "id_1", "column9",
    ]  # fmt: skip
    assert cursor.fetchall() == [
        (1, "01231", 0.5, dt.date(2024, 2, 28), dt.datetime(2024, 1, 1, 10, 1, 30), True, "N/A", None, None),
        (2, "01232", 1.0, dt.date(2024, 2, 29), dt.datetime(2024, 1, 1, 10, 2, 30), False, "7", None, "last"),
    ]
    second = client.execute(f"SELECT * FROM read_xlsx('{book}', sheet => '2024') WHERE column1 > 1").fetchall()
    assert second == [(2, "b")]
    named = client.execute(f"SELECT * FROM read_xlsx('{book}', sheet => '2024', header => true)").fetchall()
    assert named == [(2, "b")]
    texts = f"SELECT id, day, paid, right(filename, 9) FROM read_xlsx('{book}', all_varchar => true) WHERE id = '1'"
    assert client.execute(texts).fetchall() == [("1", "2024-02-28", "true", "book.xlsx")]
    declared = f"SELECT * FROM read_xlsx('{book}') AS f (fare numeric(5,2), plz int)"
    assert str(client.execute(declared).fetchall()[0]) == "(Decimal('0.50'), 1231)"


def test_what_is_wrong_is_told(client: Client, book: Path) -> None:
    (book.parent / "no.xlsx").write_text("no workbook")
    (book.parent / "packed.xlsx.gz").write_bytes(b"\x1f\x8b")
    for query, state, word in (
        (f"read_xlsx('{book}', sheet => 'None')", "22023", "Rides, 2024"),
        (f"read_xlsx('{book}', colour => 'red')", "22023", "sheet"),
        (f"read_xlsx('{book}', skip => 'x')", "22023", "skip"),
        (f"read_xlsx('{book}', skip => 9)", "XX001", "empty"),
        (f"'{book.parent}/no.xlsx'", "XX001", "no.xlsx"),
        (f"'{book.parent}/none.xlsx'", "58P01", "none.xlsx"),
        (f"'{book.parent}/packed.xlsx.gz'", "0A000", "compressed"),
    ):
        with pytest.raises(psycopg.Error) as caught:
            client.execute(f"SELECT * FROM {query}")
        told = f"{caught.value.diag.message_primary} {caught.value.diag.message_hint}"
        assert (caught.value.sqlstate, word in told) == (state, True), (query, told)


def test_what_is_written_is_read(client: Client, tmp_path: Path) -> None:
    path = tmp_path / "out.xlsx"
    query = """
        SELECT * FROM (VALUES
            (1, '01', '=1+1', 12345678901234567890::numeric, 1.50::numeric(10,2), 0.25::float8, date '2024-02-29',
             timestamp '2024-01-01 10:20:30.125', timestamptz '2024-01-01 10:00+00', time '10:00:01', true,
             ARRAY[1, 2], interval '1 day', date '1850-01-01', 9007199254740993),
            (2, NULL, 'ü' || chr(10), NULL, NULL, NULL, NULL, NULL, NULL, NULL, false, NULL, NULL, NULL, NULL)
        ) AS v (id, code, f, n, p, x, d, t, z, h, b, a, i, old, big)"""
    client.execute("SET TimeZone = 'UTC'")
    assert client.execute(f"COPY ({query}) TO '{path}'").statusmessage == "COPY 2"
    found = client.execute(f"SELECT * FROM '{path}' ORDER BY id").fetchall()
    assert found == [
        (1, "01", "=1+1", "12345678901234567890", 1.5, 0.25, dt.date(2024, 2, 29),
         dt.datetime(2024, 1, 1, 10, 20, 30, 125000), "2024-01-01 10:00:00+00", dt.time(10, 0, 1), True,
         "{1,2}", "1 day", "1850-01-01", "9007199254740993"),
        (2, None, "ü\n", None, None, None, None, None, None, None, False, None, None, None, None),
    ]  # fmt: skip
    client.execute(f"COPY (SELECT 1 AS n WHERE false) TO '{path}' (FORMAT xlsx)")
    assert client.execute(f"SELECT * FROM '{path}'").fetchall() == []
    with pytest.raises(errors.ProgramLimitExceeded, match="32767"):
        client.execute(f"COPY (SELECT repeat('x', 40000)) TO '{path}'")
    assert client.execute(f"SELECT count(n) FROM '{path}'").fetchall() == [(0,)]
    with pytest.raises(errors.FeatureNotSupported, match="xlsx"):
        client.execute(f"CREATE TABLE IF NOT EXISTS from_excel (n int); COPY from_excel FROM '{path}'")


def test_workbooks_are_loaded(client: Client, book: Path, tmp_path: Path) -> None:
    client.execute("DROP TABLE IF EXISTS from_book; CREATE TABLE from_book (id int, plz text)")
    client.execute(f"COPY (SELECT id, plz FROM '{book}') TO '{tmp_path}/two.xlsx'")
    assert client.execute(f"SELECT load_data('from_book', '{tmp_path}/two.xlsx')").fetchall() == [(2,)]
    assert client.execute("SELECT * FROM from_book ORDER BY id").fetchall() == [(1, "01231"), (2, "01232")]


def test_gpudb_load_makes_a_table_of_a_workbook(book: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    done = run_in_process("load", "--create", "rides", book, "--data-dir", data)
    assert (done.returncode, done.stderr) == (0, "")
    assert "loaded 2 rows" in done.stdout
    options = ("--option", "sheet=2024", "--option", "header=false")
    done = run_in_process("load", "--create", "second", book, *options, "--data-dir", data)
    assert (done.returncode, done.stderr) == (0, "")
    with gpudb.connect(data) as connection:
        assert connection.sql("SELECT plz, fare FROM rides ORDER BY id").fetchall() == [("01231", 0.5), ("01232", 1.0)]
        assert connection.sql("SELECT * FROM second ORDER BY 1").fetchall() == [(1, "a"), (2, "b")]


def test_without_the_libraries_a_hint_says_what_to_install(
    client: Client, book: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = book.rename(book.with_name("unread.xlsx"))
    for name, query in (
        ("python_calamine", f"SELECT * FROM '{book}'"),
        ("xlsxwriter", f"COPY (SELECT 1) TO '{book.parent}/unwritten.xlsx'"),
    ):
        with monkeypatch.context() as patched, pytest.raises(errors.FeatureNotSupported) as caught:
            patched.setitem(sys.modules, name, None)
            client.execute(query)
        assert "gpudb-sql[excel]" in (caught.value.diag.message_hint or "")
    assert not (book.parent / "unwritten.xlsx").exists()
