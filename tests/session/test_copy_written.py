"""COPY FROM of csv as people write it: the options of read_csv, with COPY's errors, its rejects and its lines."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.support.session_fixtures import Connect

Connection = psycopg.Connection[tuple[Any, ...]]
_TEXT = (
    "Report; 2024\r\n"
    "code;price;day;note\r\n"
    "# a comment; with 'quotes\r\n"
    '01;1.234,50;31.12.2024;"a\r\n# b"\r\n'
    "\r\n"
    "02;-;NA\r\n"
)
_OPTIONS = (
    "FORMAT csv, HEADER, DELIMITER ';', SKIP 1, COMMENT '#', NULL ('', '-', 'NA'), NULL_PADDING, THOUSANDS '.',"
    " DECIMAL_SEPARATOR ',', DATEFORMAT '%d.%m.%Y', ENCODING 'UTF16'"
)


@pytest.fixture
def client(connect: Connect) -> Iterator[Connection]:
    with connect() as connection:
        connection.execute("CREATE TEMP TABLE prices (code text, price numeric(8,2), day date, note text)")
        yield connection


def _copy(client: Connection, options: str, data: bytes, table: str = "prices") -> str:
    with client.cursor() as cursor:
        with cursor.copy(f"COPY {table} FROM STDIN ({options})") as copying:
            copying.write(data)
        return cursor.statusmessage or ""


def test_all_options_at_once(client: Connection, tmp_path: Path) -> None:
    (tmp_path / "prices.csv").write_bytes(_TEXT.encode("utf-16"))
    expected = [("01", Decimal("1234.50"), dt.date(2024, 12, 31), "a\r\n# b"), ("02", None, None, None)]
    assert _copy(client, _OPTIONS, _TEXT.encode("utf-16")) == "COPY 2"
    client.execute(f"COPY prices FROM '{tmp_path}/prices.csv' ({_OPTIONS})")
    assert client.execute("SELECT * FROM prices").fetchall() == expected * 2


def test_lines_of_errors_are_those_of_the_file(client: Connection) -> None:
    client.execute("CREATE TEMP TABLE rejected (line bigint, column_name text, value text)")
    data = b'x\n#\n1,2\n\n#,"\n3,far\n4,"5\n6"\n7,8\n'
    columns = "prices (code, price)"
    with pytest.raises(psycopg.errors.InvalidTextRepresentation) as caught:
        _copy(client, "FORMAT csv, SKIP 1, COMMENT '#'", data, columns)
    assert caught.value.diag.context == 'COPY prices, line 6, column price: "far"'
    options = "FORMAT csv, SKIP 1, COMMENT '#', ON_ERROR ignore, REJECTS_TABLE 'rejected'"
    assert _copy(client, options, data, columns) == "COPY 2"
    assert client.execute("SELECT * FROM rejected").fetchall() == [(6, "price", "far"), (8, "price", "5\n6")]
    assert client.execute("SELECT code FROM prices").fetchall() == [("1",), ("7",)]


def test_empty_lines_are_nulls_of_the_only_column(client: Connection) -> None:
    client.execute("CREATE TEMP TABLE only_column (n int)")
    _copy(client, "FORMAT csv, SKIP 1, COMMENT '#', HEADER", b"x\nn\n1\n\n#\n2\n", "only_column")
    assert client.execute("SELECT n FROM only_column").fetchall() == [(1,), (None,), (2,)]


def test_a_byte_order_mark_of_a_file_is_no_value(client: Connection, tmp_path: Path) -> None:
    (tmp_path / "marked.csv").write_text("\ufeffa,1,,x\n", encoding="utf-8")
    client.execute(f"COPY prices FROM '{tmp_path}/marked.csv' (FORMAT csv)")
    assert client.execute("SELECT code FROM prices").fetchall() == [("a",)]


def test_a_large_file_of_many_blocks(client: Connection, tmp_path: Path) -> None:
    """Comments, quotes and what is skipped lie at the edges of pieces and blocks."""
    rows = [f'# {number} "\n{number},"{number}.5"\n' for number in range(200_000)]
    (tmp_path / "many.csv").write_text('skipped "\n' + "".join(rows), encoding="utf-8")
    client.execute(f"COPY prices (code, price) FROM '{tmp_path}/many.csv' (FORMAT csv, SKIP 1, COMMENT '#')")
    found = client.execute("SELECT count(*), count(DISTINCT code), sum(price) FROM prices").fetchone()
    assert found == (200_000, 200_000, Decimal("20000000000.00"))


@pytest.mark.parametrize(
    ("options", "state"),
    [
        ("FORMAT csv, SKIP 'x'", "22023"),
        ("FORMAT csv, COMMENT '##'", "22023"),
        ("FORMAT csv, COMMENT ','", "22023"),
        ("FORMAT csv, COMMENT '#', ESCAPE '\\'", "22023"),
        ("FORMAT csv, THOUSANDS '.'", "22023"),
        ("FORMAT csv, DATEFORMAT '%Q'", "22023"),
        ("FORMAT csv, NULL_PADDING 'maybe'", "42601"),
        ("FORMAT csv, NULL ('a', 'b,c')", "0A000"),
        ("FORMAT csv, ENCODING 'klingon'", "22023"),
        ("FORMAT text, ENCODING 'UTF16'", "22023"),
        ("FORMAT text, SKIP 1", "0A000"),
        ("FORMAT text, NULL ('a', 'b')", "0A000"),
    ],
)
def test_options_that_cannot_be(client: Connection, options: str, state: str) -> None:
    with pytest.raises(psycopg.Error) as caught:
        _copy(client, options, b"")
    assert caught.value.sqlstate == state, caught.value


def test_copy_to_has_none_of_them(client: Connection) -> None:
    for options in ("SKIP 1", "NULL ('a', 'b')", "DATEFORMAT '%d'", "ENCODING 'UTF16'"):
        statement = f"COPY prices TO STDOUT (FORMAT csv, {options})"
        with pytest.raises(psycopg.Error) as caught, client.cursor() as cursor, cursor.copy(statement):
            pass
        assert caught.value.sqlstate in ("0A000", "22023"), options


def test_numbers_and_days_of_another_form_are_errors(client: Connection) -> None:
    for options, data, shown in (
        ("THOUSANDS ','", b'a,"1,23",,\n', '"1,23"'),
        ("DECIMAL_SEPARATOR ',', DELIMITER ';'", b"a;1.5;;\n", '"1.5"'),
        ("DATEFORMAT '%d/%m/%Y'", b"a,,2024-01-01,\n", '"2024-01-01"'),
        ("DATEFORMAT '%d/%m/%Y'", b"a,,31/02/2024,\n", '"31/02/2024"'),
    ):
        with pytest.raises(psycopg.errors.DataError) as caught:
            _copy(client, f"FORMAT csv, {options}", data)
        assert shown in (caught.value.diag.message_primary or "")
        assert "line 1, column" in (caught.value.diag.context or "")
