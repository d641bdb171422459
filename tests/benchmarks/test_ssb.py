"""The star schema's tables: the generator's cardinalities and domains, independent of the division into parts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from gpudb.demo.star_schema import data as ssb

SCALE = 0.1


@pytest.fixture(scope="module")
def tables() -> dict[str, pa.Table]:
    return {name: ssb.table(name, SCALE) for name in ssb.TABLES}


def _range(column: pa.ChunkedArray) -> tuple[object, object]:
    bounds = pc.min_max(column).as_py()
    return bounds["min"], bounds["max"]


def test_cardinalities(tables: dict[str, pa.Table]) -> None:
    rows = {name: len(table) for name, table in tables.items()}
    assert rows | {"lineorder": 0} == {
        "date1": 2556,
        "customer": 3000,
        "supplier": 200,
        "part": 20_000,
        "lineorder": 0,
    }
    assert abs(rows["lineorder"] / 600_000 - 1) < 0.01
    assert [ssb.units("part", scale) for scale in (1, 2, 10, 100)] == [200_000, 400_000, 800_000, 1_400_000]
    assert ssb.units("lineorder", 10) == 15_000_000


def test_no_nulls_and_the_schema(tables: dict[str, pa.Table]) -> None:
    for name, table in tables.items():
        assert table.schema == ssb.SCHEMAS[name]
        assert all(column.null_count == 0 for column in table.columns)


def test_parts_make_the_whole() -> None:
    whole = ssb.table("lineorder", 0.3)
    pieces = [batch for part in range(3) for batch in ssb.batches("lineorder", 0.3, part=part, parts=3)]
    assert pa.Table.from_batches(pieces).equals(whole)
    assert not ssb.table("lineorder", 0.01, seed=1).equals(ssb.table("lineorder", 0.01))


def test_keys_meet(tables: dict[str, pa.Table]) -> None:
    lines = tables["lineorder"]
    for column, table, key in (
        ("lo_custkey", "customer", "c_custkey"),
        ("lo_partkey", "part", "p_partkey"),
        ("lo_suppkey", "supplier", "s_suppkey"),
        ("lo_orderdate", "date1", "d_datekey"),
        ("lo_commitdate", "date1", "d_datekey"),
    ):
        assert pc.all(pc.is_in(lines[column], tables[table][key].combine_chunks())).as_py(), column
        assert len(tables[table][key].unique()) == len(tables[table])
    assert 0 not in {key % 3 for key in lines["lo_custkey"].unique().to_pylist()}  # a third never orders


def test_domains(tables: dict[str, pa.Table]) -> None:
    lines, parts, days = tables["lineorder"], tables["part"], tables["date1"]
    assert _range(lines["lo_quantity"]) == (1, 50)
    assert _range(lines["lo_discount"]) == (0, 10)
    assert _range(lines["lo_tax"]) == (0, 8)
    assert _range(lines["lo_linenumber"]) == (1, 7)
    assert _range(lines["lo_orderdate"]) == (19920101, 19980802)
    assert len(parts["p_brand1"].unique()) == 1000
    assert len(parts["p_category"].unique()) == 25
    assert pc.all(pc.starts_with(parts["p_brand1"].combine_chunks(), "MFGR#")).as_py()
    assert len(tables["customer"]["c_nation"].unique()) == 25
    assert len(tables["customer"]["c_city"].unique()) == 250
    assert {"UNITED KI1", "UNITED KI5"} <= set(tables["customer"]["c_city"].to_pylist())
    assert _range(days["d_weeknuminyear"]) == (1, 53)
    assert days["d_date"][59].as_py() == "February 29, 1992"
    assert _range(days["d_daynuminyear"]) == (1, 366)


def test_money_adds_up(tables: dict[str, pa.Table]) -> None:
    lines = {name: tables["lineorder"][name].to_numpy() for name in ssb.SCHEMAS["lineorder"].names}
    extended = lines["lo_extendedprice"].astype(np.int64)
    assert (lines["lo_revenue"] == extended * (100 - lines["lo_discount"]) // 100).all()
    assert (extended % lines["lo_quantity"] == 0).all()
    assert (lines["lo_supplycost"] == extended // lines["lo_quantity"] * 6 // 10).all()
    charged = lines["lo_revenue"].astype(np.int64) * (100 + lines["lo_tax"]) // 100
    order, place = np.unique(lines["lo_orderkey"], return_inverse=True)
    total = np.bincount(place, charged).astype(np.int64)
    assert (total[place] == lines["lo_ordtotalprice"]).all()
    assert len(order) == 150_000


def test_files(tmp_path: Path) -> None:
    ssb.write(tmp_path, 0.1, parts=2)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "customer.parquet",
        "date1.parquet",
        "lineorder.0.parquet",
        "lineorder.1.parquet",
        "part.parquet",
        "supplier.parquet",
    ]
    read = pa.concat_tables([pq.read_table(tmp_path / f"lineorder.{part}.parquet") for part in range(2)])
    assert read.equals(ssb.table("lineorder", 0.1))
