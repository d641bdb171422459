"""Files whose columns have names that SQL has to quote: read, filtered, written and loaded on every engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from psycopg import errors

import gpudb
from tests.support.command_line import run_in_process
from tests.support.lab import ENGINES, client_of_engine

Client = psycopg.Connection[tuple[Any, ...]]
_NAMES = (
    "a b",
    "c.d",
    'q"uote',
    "it's",
    "select",
    "Größe",
    "UPPER",
    "x::int",
    "[0]",
    "{n}",
    "%s",
    "a,b",
    " led ",
    "§1",
)


@pytest.fixture(scope="module", params=ENGINES)
def client(request: pytest.FixtureRequest) -> Iterator[Client]:
    with client_of_engine(str(request.param)) as connection:
        yield connection


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One table of three rows in each format; row r has r * 100 + place in each column."""
    made = tmp_path_factory.mktemp("odd names")
    rows = pa.table({name: [row * 100 + place for row in range(3)] for place, name in enumerate(_NAMES)})
    pq.write_table(rows, made / "odd.parquet")
    pyarrow.feather.write_feather(rows, made / "odd.arrow")
    lines = [",".join('"' + name.replace('"', '""') + '"' for name in _NAMES)]
    lines += [",".join(str(value) for value in row.values()) for row in rows.to_pylist()]
    (made / "odd.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return made


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "csv"])
def test_each_name_is_read(client: Client, folder: Path, suffix: str, tmp_path: Path) -> None:
    source = f"'{folder}/odd.{suffix}'"
    cursor = client.execute(f"SELECT * FROM {source}")
    assert tuple(each.name for each in cursor.description or ()) == _NAMES
    listed = ", ".join(f"sum({_quote(name)})" for name in _NAMES)
    assert client.execute(f"SELECT {listed} FROM {source}").fetchall() == [
        tuple(300 + 3 * place for place in range(len(_NAMES)))
    ]
    for place, name in enumerate(_NAMES):
        found = client.execute(f"SELECT {_quote(name)} AS x FROM {source} WHERE {_quote(name)} > 150 ORDER BY 1")
        assert found.fetchall() == [(200 + place,)], name
    written = tmp_path / "copy.parquet"
    client.execute(f"COPY (SELECT * FROM {source}) TO '{written}'")
    assert tuple(pq.read_schema(written).names) == _NAMES


def test_names_that_differ_in_case_are_refused(client: Client, tmp_path: Path) -> None:
    pq.write_table(pa.table({"Name": [1], "name": [2]}), tmp_path / "cased.parquet")
    with pytest.raises(errors.FeatureNotSupported, match='"Name" and "name"'):
        client.execute(f"SELECT * FROM '{tmp_path}/cased.parquet'")
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["n", "n"])
    pq.write_table(twice, tmp_path / "twice.parquet")
    with pytest.raises(errors.FeatureNotSupported, match='"n" and "n"'):
        client.execute(f"SELECT * FROM '{tmp_path}/twice.parquet'")


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "csv"])
def test_a_table_is_made_of_them(folder: Path, tmp_path: Path, suffix: str) -> None:
    data = tmp_path / "data"
    done = run_in_process("load", "--create", "odd", folder / f"odd.{suffix}", "--data-dir", data)
    assert (done.returncode, done.stderr) == (0, "")
    with gpudb.connect(data) as connection:
        assert connection.table("odd").columns == tuple(name.lower() for name in _NAMES)
        assert connection.sql('SELECT sum("c.d"), sum("größe"), sum(" led ") FROM odd').fetchall() == [(303, 315, 336)]
