"""Blocks of text that workers read: their values are those of the embedded engine's reader, or they are refused."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from gpudb.catalog.file_tables import FileColumn, FileTable
from gpudb.storage.files import text_blocks
from gpudb.storage.files.discovery import stamp_file
from gpudb.storage.files.reader_sql import render_files
from gpudb.storage.files.text_reader import NotReadAlike, read_csv_block, read_json_block
from gpudb.types import BOOL, DATE, FLOAT4, FLOAT8, INT2, INT4, INT8, TEXT, TIMESTAMP, TIMESTAMPTZ, SqlType, numeric

CSV: Mapping[str, object] = {"delimiter": ",", "quote": '"', "escape": '"', "null": "", "header": True}
VALUES = """1|+1|-1|-0|0x1F| 1|1 |1.0|1.5|1e3|1_000|007|99999|9223372036854775807|9223372036854775808|nan|NaN|-nan|inf|-inf
Infinity|1e400|1e-400|.5|5.|-.5|1d|true|false|True|TRUE|t|f|yes|on|2024-01-01|2024-1-1|2024-01-01 |2024/01/01|20240101
2024-02-30|10000-01-01|0000-01-01|0001-01-01|2024-01-01 10:00:00|2024-01-01T10:00:00|2024-01-01 10:00|2024-01-01 10
2024-01-01 10:00:00.5|2024-01-01 10:00:00.123456|2024-01-01 10:00:00.1234567|2024-01-01 10:00:00Z
2024-01-01 10:00:00+02|2024-01-01 10:00:00+02:00|2024-01-01 24:00:00|infinity|epoch|1.005|12345678.12|123456789.12|abc
a b| a |NULL|null|N/A|\\N|""|"1"|"a""b"|"a,b"|"2024-01-01"|" 1"|"true"|é""".replace("\n", "|").split("|")
TYPES = (BOOL, INT2, INT4, INT8, FLOAT4, FLOAT8, numeric(10, 2), TEXT, DATE, TIMESTAMP, TIMESTAMPTZ)


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as made:
        made.execute("SET TimeZone = 'UTC'")
        yield made


def _list_values(column: pa.ChunkedArray) -> list[Any]:
    """The values of a column; days and microseconds as numbers, since Python has no year 10000."""
    if pa.types.is_date32(column.type):
        column = column.cast(pa.int32())
    elif pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    return list(column.to_pylist())


def _read_embedded(
    connection: duckdb.DuckDBPyConnection, path: Path, format: Any, types: Mapping[str, SqlType]
) -> list[tuple[Any, ...]] | None:
    """The rows as the embedded engine reads them; None if it refuses them."""
    columns = tuple(FileColumn(name, type, type.duckdb) for name, type in types.items())
    table = FileTable((stamp_file(path),), format, columns, options=CSV if format == "csv" else {})
    try:
        found = connection.sql(render_files(table)).to_arrow_table()
    except duckdb.Error:
        return None
    arrays = [_list_values(found.column(name).cast(type.arrow)) for name, type in types.items()]
    return list(zip(*arrays, strict=True))


def _read_blocks(path: Path, format: str, types: Mapping[str, SqlType]) -> list[tuple[Any, ...]] | None:
    """The rows as workers read them; None if they refuse them."""
    data, rows = path.read_bytes(), []
    quote = '"' if format == "csv" else ""
    try:
        for block in text_blocks.find_text_blocks(stamp_file(path), quote, header=format == "csv"):
            some = pa.py_buffer(data[block.offset : block.offset + block.size])
            if format == "csv":
                table = read_csv_block(some, [*types], types, CSV, block.rows)
            else:
                table = read_json_block(some, types, block.rows)
            rows += list(zip(*map(_list_values, table.columns), strict=True))
    except NotReadAlike:
        return None
    return rows


@pytest.mark.parametrize("type", TYPES, ids=str)
def test_values_of_csv(connection: duckdb.DuckDBPyConnection, tmp_path: Path, type: SqlType) -> None:
    taken = 0
    for number, value in enumerate(VALUES):
        path = tmp_path / f"{number}.csv"
        path.write_text(f"k,v\n1,{value}\n", encoding="utf-8")
        types = {"k": INT8, "v": type}
        found = _read_blocks(path, "csv", types)
        if found is not None:
            taken += 1
            assert repr(found) == repr(_read_embedded(connection, path, "csv", types)), value
    assert taken


@pytest.mark.parametrize("seed", range(10))
def test_records_of_csv(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Quoted newlines, doubled quotes and quotes within fields, in blocks of any size."""
    draw, taken = random.Random(seed), 0
    atoms = ["1", "", '"a"', '""', '"a\nb"', '"a,b"', "x y", '"x""y"', "é", "NULL", '5"', '"q"z']
    types = {"k": TEXT, "v": TEXT}
    for number in range(30):
        monkeypatch.setattr(text_blocks, "BLOCK_BYTES", draw.choice([4, 7, 16, 1 << 20]))
        usual = atoms if draw.random() < 0.3 else atoms[:10]
        rows = [f"{draw.choice(usual)},{draw.choice(usual)}" for _ in range(draw.randint(1, 12))]
        path = tmp_path / f"{number}.csv"
        path.write_text("k,v\n" + "\n".join(rows) + draw.choice(["", "\n"]), encoding="utf-8")
        found = _read_blocks(path, "csv", types)
        if found is not None:
            taken += 1
            assert found == _read_embedded(connection, path, "csv", types), path.read_text()
    assert taken > 10


@pytest.mark.parametrize("type", [INT8, FLOAT8, TEXT, BOOL, numeric(38, 0)], ids=str)
def test_values_of_json(connection: duckdb.DuckDBPyConnection, tmp_path: Path, type: SqlType) -> None:
    values = '1 -1 1.0 1.5 1e3 -0 9223372036854775807 9223372036854775808 true null "1" "abc" "" [1] {"a":1} "\\u00e9"'
    lines = [f'{{"k":1,"v":{value}}}' for value in values.split()]
    lines += ['{"k":1}', "{}", "null", "[]", '{"K":1,"V":5}', '{"k":1,"v":null,"z":[1,{"q":2}]}', '{"k":1', '{"k":1,}']
    taken = 0
    for number, line in enumerate(lines):
        path = tmp_path / f"{number}.jsonl"
        path.write_text(f'{{"k":1,"v":null}}\n{line}\n', encoding="utf-8")
        types = {"k": INT8, "v": type}
        found = _read_blocks(path, "json", types)
        if found is not None:
            taken += 1
            assert repr(found) == repr(_read_embedded(connection, path, "json", types)), line
    assert taken
