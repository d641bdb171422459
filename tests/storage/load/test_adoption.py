"""add_files: adopts Parquet files with their footers' statistics; refuses files that do not fit."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gpudb.errors import GpudbError
from gpudb.session.database import Database

ROWS = {
    "id": pa.array([1, 2, None], pa.int32()),
    "small": pa.array([1, -5, 300], pa.int16()),
    "name": pa.array(["a", None, "ccc"]).dictionary_encode(),
    "price": pa.array([Decimal("1.50"), Decimal("-7.25"), None], pa.decimal128(9, 2)),
    "at": pa.array([dt.datetime(2020, 1, 1), None, dt.datetime(2021, 5, 5, 5)], pa.timestamp("us")),
    "ratio": pa.array([1.5, float("nan"), None]),
}
TABLE = (
    "CREATE TABLE t (extra text, at timestamp, id int, name varchar(3), small smallint, price numeric(10,2),"
    " ratio double precision)"
)


def _run(database: Database, sql: str) -> list[tuple[Any, ...]]:
    session = database.session("gpudb")
    try:
        return [
            tuple(row.values())
            for result in session.run(sql)
            for batch in result.batches or ()
            for row in batch.to_pylist()
        ]
    finally:
        session.close()


def test_files_of_others_become_the_tables(tmp_path: Path) -> None:
    source = tmp_path / "given"
    source.mkdir()
    table = pa.table(ROWS)
    pq.write_table(table, source / "a.parquet", row_group_size=2)
    pq.write_table(table.slice(0, 1), source / "b.parquet", store_schema=False, compression="zstd")
    before = (source / "a.parquet").read_bytes()
    wanted = 4
    for _ in range(2):
        database = Database(tmp_path / "data")
        if wanted == 4:
            _run(database, TABLE)
            _run(database, "INSERT INTO t (id, name) VALUES (9, 'own')")
            assert _run(database, f"SELECT add_files('t', '{source}/*.parquet')") == [(4,)]
            wanted += 1
        # Columns may be renamed afterwards: files are read by field ids.
        else:
            _run(database, "ALTER TABLE t RENAME COLUMN name TO label")
            assert _run(database, "SELECT label FROM t WHERE id = 1") == [("a",), ("a",)]
        found = _run(database, "SELECT count(*), sum(price), max(at), min(small), count(extra), max(ratio) FROM t")
        assert str(found[0][1]) in {"-4.25", "{'v': Decimal('-4.25'), 's': 2}"} or "-4.25" in str(found[0][1])
        assert (found[0][0], found[0][2], found[0][3], found[0][4]) == (wanted, dt.datetime(2021, 5, 5, 5), -5, 0)
        assert found[0][5] != found[0][5]
        (kept,) = [each for each in database.store.catalog().relations.values() if each.name == "t"]
        statistics = {file.rows: file for file in kept.files if "given" not in file.path}  # type: ignore[union-attr]
        columns = {column.name: column.field_id for column in kept.columns}  # type: ignore[union-attr]
        assert statistics[3].minimums[columns["small"]] == -5
        assert statistics[3].nulls[columns["id"]] == 1
        assert columns["ratio"] not in statistics[3].maximums
        database.close()
    assert (source / "a.parquet").read_bytes() == before


@pytest.mark.parametrize(
    ("table", "state"),
    [
        ("CREATE TABLE t (id int NOT NULL, small smallint, name text, price numeric(10,2), at timestamp, ratio float8)", "23502"),
        (TABLE.replace("varchar(3)", "varchar(2)"), "22001"),
        (TABLE.replace("numeric(10,2)", "numeric(10,3)"), "42804"),
        (TABLE.replace("numeric(10,2)", "numeric"), "0A000"),
        (TABLE.replace("ratio double precision", "ratio real"), "42804"),
        (TABLE.replace("id int", "ident int"), "42703"),
        (TABLE.replace("extra text", "extra text DEFAULT 'x'"), "0A000"),
        (TABLE.replace("id int", "id int CHECK (id > 0)"), "0A000"),
        (TABLE.replace("small smallint", "small smallint UNIQUE"), "23505"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(tmp_path: Path, table: str, state: str) -> None:
    for name in ("a", "b"):
        pq.write_table(pa.table(ROWS), tmp_path / f"{name}.parquet")
    database = Database(None)
    try:
        _run(database, table)
        with pytest.raises(GpudbError) as caught:
            _run(database, f"SELECT add_files('t', '{tmp_path}/*.parquet')")
        assert caught.value.sqlstate == state
        (folder,) = database.store.directory.glob("tables/*/data")
        assert not list(folder.iterdir())
        (tmp_path / "a.parquet").write_bytes(b"PAR1" + b"\0" * 40 + b"PAR1")
        with pytest.raises(GpudbError, match=r"damaged|could not|0A000|not supported"):
            _run(database, f"SELECT add_files('t', '{tmp_path}/a.parquet')")
    finally:
        database.close()
