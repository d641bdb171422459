"""Csv as people write it, on every engine: options of read_csv, of which COPY's reader reads some, and what is wrong."""

from __future__ import annotations

import datetime as dt
import gzip
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest

from gpudb.duckdb.literals import quote_literal
from tests.support.lab import ENGINES, client_of_engine

Client = psycopg.Connection[tuple[Any, ...]]

_UMLAUTS = "id,name\n01,Bjørn\n02,Ünal\n"
_NAMED = [("01", "Bjørn"), ("02", "Ünal")]
_ROWS: dict[str, tuple[bytes, str, list[tuple[Any, ...]]]] = {
    "utf16": (_UMLAUTS.encode("utf-16"), "", _NAMED),
    "utf16be": (_UMLAUTS.encode("utf-16-be"), "encoding => 'UTF-16BE'", _NAMED),
    "latin1": (_UMLAUTS.encode("latin-1"), "encoding => 'latin-1'", _NAMED),
    "win1252": ("id,price\n1,€5\n".encode("cp1252"), "encoding => 'WIN1252'", [(1, "€5")]),
    "mark": ('\ufeffid,n\r\n01,"a\r\nb"\r\n02,\r\n'.encode(), "", [("01", "a\r\nb"), ("02", None)]),
    "packed": (gzip.compress(_UMLAUTS.encode("latin-1")), "encoding => 'latin1'", _NAMED),
    "comments": (
        b'# first, line\n\n#second " quote\nid,n\n  # x\n01,2 # tail\n02,"\n#4"\n',
        "comment => '#'",
        [("01", "2 # tail"), ("02", "\n#4")],
    ),
    "single": (b"n\n#1\n1\n\n2\n", "comment => '#'", [(1,), (None,), (2,)]),
    "preamble": (b'Report, of the "year\n\nid,n\n1,2\n', "skip => 2", [(1, 2)]),
    "headless": (b"a,b\n01,x\n", "skip => 1, header => false", [("01", "x")]),
    "blank": (b"\r\n\r\nid,n\r\n1,2\r\n\r\n3,4", "", [(1, 2), (3, 4)]),
    "padded": (b"a,b,c\n1,2,3\n4\n5,\n", "null_padding => true", [(1, 2, 3), (4, None, None), (5, None, None)]),
    "padded_sniffed": (
        b"PLZ;Ort;Preis\n01067;Dresden;1.234,50\n99999;-\n",
        "\"null\" => ARRAY['', '-'], null_padding => true, thousands => '.', decimal_separator => ','",
        [("01067", "Dresden", 1234.5), ("99999", None, None)],
    ),
    "nulls": (
        b'a,b\n1,NA\nNULL,x\n-,"NA"\n,y\n',
        "nullstr => ARRAY['NA', 'NULL', '-', '']",
        [(1, None), (None, "x"), (None, "NA"), (None, "y")],
    ),
    "grouped": (
        b'a,b\n"1,234.5",x\n"-2,000,000",y\n12,z\n',
        "thousands => ','",
        [(1234.5, "x"), (-2e6, "y"), (12.0, "z")],
    ),
    "german": (
        b"a;b\n1.234,5;x\n2,25;y\n",
        "thousands => '.', decimal_separator => ','",
        [(1234.5, "x"), (2.25, "y")],
    ),
    "days": (
        b"d,t\n31/12/2024,1.2.2024 10:30\n,\n",
        "dateformat => '%d/%m/%Y', timestampformat => '%d.%m.%Y %H:%M'",
        [(dt.date(2024, 12, 31), dt.datetime(2024, 2, 1, 10, 30)), (None, None)],
    ),
    "odd_days": (b"t\n31/12/2024 10:00:00\n", "", [("31/12/2024 10:00:00",)]),
    "texts": (b"a,b\n1,2\n", "all_varchar => true, delim => ','", [("1", "2")]),
    "long_numbers": (b"a\n12345678901234567890\n", "", [(Decimal("12345678901234567890"),)]),
    "later_text": (b"a\n" + b"1\n" * 25_000 + b"x\n", "sample_size => -1", [("x",)]),
    "later_zero": (b"a,b\n" + b"1,2024-01-01\n" * 25_000 + b"007,2024-01-01\n", "", [("007", dt.date(2024, 1, 1))]),
    "same_names": (b"a,A,,a,a_1\n1,2,3,4,5\n", "", [(1, 2, 3, 4, 5)]),
    "wide": (",".join(f"c{n}" for n in range(200)).encode() + b"\n" + b"7," * 199 + b"07\n", "", [(*[7] * 199, "07")]),
    "skipped": (b"a,b\n1,2\nx\n3,4\n5,6,7\n" + b"8,9\n" * 25_000 + b"y,1\n", "ignore_errors => true", [(3, 4)]),
}
_LIMITS = {"later_text": "WHERE a = 'x'", "later_zero": "WHERE a = '007'", "skipped": "WHERE a = 3"}


@pytest.fixture(scope="module", params=ENGINES)
def client(request: pytest.FixtureRequest) -> Iterator[Client]:
    with client_of_engine(str(request.param)) as connection:
        yield connection


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("written")
    for name, (content, _, _) in _ROWS.items():
        (made / f"{name}.csv{'.gz' if name == 'packed' else ''}").write_bytes(content)
    return made


def _call(folder: Path, name: str) -> str:
    options = _ROWS[name][1]
    path = quote_literal(str(folder / f"{name}.csv{'.gz' if name == 'packed' else ''}"))
    return f"read_csv({', '.join([path, *([options] if options else [])])})"


@pytest.mark.parametrize("name", _ROWS)
def test_rows_of_files(client: Client, folder: Path, name: str) -> None:
    call = _call(folder, name)
    assert client.execute(f"SELECT * FROM {call} {_LIMITS.get(name, '')}").fetchall() == _ROWS[name][2]
    total = {"later_text": 25_001, "later_zero": 25_001, "skipped": 25_002}.get(name, len(_ROWS[name][2]))
    assert client.execute(f"SELECT count(*) FROM {call}").fetchall() == [(total,)]


def test_duckdb_reads_the_same_rows(client: Client, folder: Path) -> None:
    """Where DuckDB has the option, and reads the file."""
    known = ("preamble", "padded", "grouped", "german", "texts", "long_numbers", "later_text", "wide", "nulls", "mark")
    for name in known:
        call = _call(folder, name)
        given = call.replace("=>", "=").replace("ARRAY[", "[").removesuffix(")") + ", allow_quoted_nulls = false)"
        expected = duckdb.sql(f"SELECT * FROM {given}").fetchall()
        plain = [tuple(int(x) if isinstance(x, Decimal) else x for x in row) for row in expected]
        found = client.execute(f"SELECT * FROM {call}").fetchall()
        assert [tuple(int(x) if isinstance(x, Decimal) else x for x in row) for row in found] == plain, name


@pytest.mark.parametrize(
    ("content", "options", "state", "words"),
    [
        (b"a,b\n1,2\n3\n", "", "22P04", ("Line 3", "null_padding => true")),
        (b"a,b\n1,2\n3,4,5\n", "", "22P04", ("Line 3", "ignore_errors => true")),
        (b"a,b\n1,2\n3,4,5\n", "null_padding => true", "22P04", ("line 3", "3,4,5")),
        (b"a\n" + b"1\n" * 25_000 + b"x\n", "", "22P02", ("Line 25002", '"x"', "sample_size => -1")),
        (b"a,b\n" + b"1,2\n" * 25_000 + b"x,2\n", "skip => 1", "22P02", ("line 25002, column column1", '"x"')),
        (b"a,b\n" + b"1,2\n" * 25_000 + b"07,2\n", "skip => 1", "22P02", ("line 25002", '"07"', "all_varchar")),
        ("a,b\n1,Ü\n".encode("latin-1"), "", "22021", ("Line 2", "encoding =>")),
        ("a,b\n1,Üx\n".encode("cp1252"), "encoding => 'utf-16'", "22021", ("line 1",)),
        (b'a,b\n1,2\n3,"x"y\n', "", "22P04", ("Line 3", "quote")),
        (b'a,b\n"1,23",2\n"1,234",2\n', "thousands => ',', header => true", "22P02", ("line 2, column a", '"1,23"')),
        (b"a\n1\n", "skip => 'x'", "22023", ("skip",)),
        (b"a\n1\n", "encoding => 'klingon'", "22023", ("klingon",)),
        (b"a\n1\n", "dateformat => '%Q'", "22023", ("dateformat", "%Q")),
        (b"a\n1\n", "thousands => '5'", "22023", ("thousands",)),
        (b"a\n1\n", "comment => '##'", "22023", ("comment",)),
        (b"a\n1\n", "delim => ',', delimiter => ';'", "42601", ("delimiter",)),
        (b"a\n1\n", "sample_size => 0", "22023", ("sample_size",)),
        (b"a\n1\n", "colour => 'red'", "22023", ("colour", "ignore_errors")),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told(
    client: Client, tmp_path: Path, content: bytes, options: str, state: str, words: tuple[str, ...]
) -> None:
    path = tmp_path / "wrong.csv"
    path.write_bytes(content)
    query = f"SELECT * FROM read_csv({', '.join([quote_literal(str(path)), *([options] if options else [])])})"
    with pytest.raises(psycopg.Error) as caught:
        client.execute(query)
    diagnosis = caught.value.diag
    shown = " ".join(
        str(each)
        for each in (
            diagnosis.message_primary, diagnosis.message_detail, diagnosis.message_hint, diagnosis.context,
        )
    )  # fmt: skip
    assert caught.value.sqlstate == state, shown
    assert all(word in shown for word in words), shown


def test_what_is_found_and_left_out_is_told(client: Client, folder: Path) -> None:
    told: list[str] = []

    def take(diagnosis: Any) -> None:
        told.append(diagnosis.message_primary)

    client.add_notice_handler(take)
    client.execute("DISCARD ALL")
    (folder / "found.csv").write_text("id;n\n1;2\n", encoding="utf-8")
    client.execute(f"SELECT * FROM '{folder}/found.csv'; SELECT * FROM '{folder}/found.csv'")
    assert [each for each in told if "found.csv" in each] == [
        f"file \"{folder}/found.csv\" is read with a header and the delimiter ';'"
    ]
    client.execute(f"SELECT sum(a) FROM {_call(folder, 'skipped')}")
    client.remove_notice_handler(take)
    assert f'3 rows were skipped in file "{folder}/skipped.csv", first at line 3: "x"' in told


def test_several_files(client: Client, folder: Path) -> None:
    for number, text in ((1, "# one\nid,n\n1,2\n"), (2, "id,n\n# two\n3,4\n")):
        below = folder / f"year={number}"
        below.mkdir(exist_ok=True)
        (below / "x.csv").write_text(text, encoding="utf-8")
    paths = f"ARRAY['{folder}/year=1/x.csv', '{folder}/year=2/x.csv']"
    query = f"SELECT id, n, year, right(filename, 12) FROM read_csv({paths}, comment => '#') ORDER BY id"
    assert client.execute(query).fetchall() == [(1, 2, 1, "year=1/x.csv"), (3, 4, 2, "year=2/x.csv")]
    (folder / "more.csv").write_text("m,id\n5,6\n", encoding="utf-8")
    mixed = f"ARRAY['{folder}/year=1/x.csv', '{folder}/more.csv'], hive_partitioning => false, union_by_name => true"
    query = f"SELECT id, n, m FROM read_csv({mixed}, comment => '#') ORDER BY id"
    assert client.execute(query).fetchall() == [(1, 2, None), (6, None, 5)]
