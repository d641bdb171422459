"""The data of the suites as Parquet files, generated once and kept; their schemas, queries and PostgreSQL's indexes.

python -m benchmarks.tables SUITE SCALE FOLDER only writes a suite's files.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpudb.demo import star_schema
from gpudb.demo.statements import read_create_table

HERE = Path(__file__).parent

TPCH = ("region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem")

# PostgreSQL's additions to the tables: primary keys, and an index on each foreign key.
_TPCH_KEYS = {
    "region": "r_regionkey", "nation": "n_nationkey", "supplier": "s_suppkey", "customer": "c_custkey",
    "part": "p_partkey", "partsupp": "ps_partkey, ps_suppkey", "orders": "o_orderkey",
    "lineitem": "l_orderkey, l_linenumber",
}  # fmt: skip
_TPCH_FOREIGN = {
    "supplier": ["s_nationkey"], "customer": ["c_nationkey"], "partsupp": ["ps_suppkey"], "orders": ["o_custkey"],
    "lineitem": ["l_partkey, l_suppkey", "l_suppkey"], "nation": ["n_regionkey"],
}  # fmt: skip
_TPCH_DECLARED = ("region", "nation", "supplier", "customer", "part")
_TPCH_ANALYSED = {
    "region": "r_name", "nation": "n_name", "customer": "c_mktsegment",
    "part": "p_brand, p_type, p_container, p_mfgr", "orders": "o_orderstatus, o_orderpriority",
    "lineitem": "l_returnflag, l_linestatus, l_shipmode, l_shipinstruct",
}  # fmt: skip
_SSB_KEYS = {"date1": "d_datekey", "customer": "c_custkey", "supplier": "s_suppkey", "part": "p_partkey"}
_SSB_FOREIGN = {"lineorder": ["lo_orderdate", "lo_custkey", "lo_suppkey", "lo_partkey"]}
_TPCDS_FOREIGN = {
    "store_sales": ["ss_sold_date_sk", "ss_customer_sk", "ss_ticket_number"],
    "store_returns": ["sr_returned_date_sk", "sr_customer_sk", "sr_ticket_number"],
    "catalog_sales": ["cs_sold_date_sk", "cs_bill_customer_sk", "cs_order_number"],
    "catalog_returns": ["cr_returned_date_sk", "cr_returning_customer_sk", "cr_order_number"],
    "web_sales": ["ws_sold_date_sk", "ws_bill_customer_sk", "ws_order_number"],
    "web_returns": ["wr_returned_date_sk", "wr_returning_customer_sk", "wr_order_number"],
    "inventory": ["inv_item_sk"], "customer": ["c_current_addr_sk", "c_current_cdemo_sk"],
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Suite:
    """Tables, queries and indexes of a benchmark at one scale; a table is a Parquet file, or a folder of some."""

    name: str
    schema: list[str]
    tables: dict[str, Path]
    queries: dict[str, str]
    indexes: list[str]
    declared: tuple[str, ...] = ()
    """Statements after the adoption of files: primary keys of tables that are quick to check, and ANALYZE of text
    columns that conditions compare.
    """

    @property
    def rows(self) -> int:
        """The rows of all tables."""
        return sum(map(count_rows, self.tables.values()))


def list_files(path: Path) -> list[Path]:
    """A table's files."""
    return sorted(path.glob("*.parquet")) if path.is_dir() else [path]


def count_rows(path: Path) -> int:
    """A table's rows."""
    import pyarrow.parquet as pq

    return sum(pq.read_metadata(file).num_rows for file in list_files(path))


def tpch(scale: float, folder: Path) -> Suite:
    """TPC-H by tpchgen-cli."""
    where = folder / f"tpch-{scale:g}"
    if not (where / "done").exists():
        where.mkdir(parents=True, exist_ok=True)
        program = _tpchgen()
        # With its default row groups of a few MB, a GPU decodes few bytes at once.
        sizes = ["--row-group-bytes", "64MB"]
        subprocess.run([program, "parquet", "-s", f"{scale:g}", "--output-dir", where, "--quiet", *sizes], check=True)
        (where / "done").touch()
    tables = {name: where / f"{name}.parquet" for name in TPCH}
    texts = queries("tpch")
    # The specification has this fraction of the scale, so that the number of groups is the same at any scale.
    texts["q11"] = texts["q11"].replace("0.0001000000", f"{0.0001 / scale:.10f}")
    keys = _index_statements({name: _TPCH_KEYS[name] for name in _TPCH_DECLARED}, {})
    analysed = [f"ANALYZE {name} ({columns})" for name, columns in _TPCH_ANALYSED.items()]
    indexes = _index_statements(_TPCH_KEYS, _TPCH_FOREIGN)
    return Suite("tpch", schema("tpch"), tables, texts, indexes, (*keys, *analysed))


def _tpchgen() -> str:
    """Returns tpchgen-cli beside this Python, or on the path."""
    beside = Path(sys.executable).with_name("tpchgen-cli")
    found = str(beside) if beside.exists() else shutil.which("tpchgen-cli")
    if found is None:
        raise FileNotFoundError("tpchgen-cli is not installed")
    return found


def ssb(scale: float, folder: Path) -> Suite:
    """The star schema benchmark by our own generator."""
    from gpudb.demo.star_schema import data as maker

    where = folder / f"ssb-{scale:g}"
    if not (where / "done").exists():
        where.mkdir(parents=True, exist_ok=True)
        maker.write(where, scale)
        (where / "done").touch()
    tables = {name: where / f"{name}.parquet" for name in maker.TABLES}
    return Suite("ssb", schema("ssb"), tables, queries("ssb"), _index_statements(_SSB_KEYS, _SSB_FOREIGN))


def ssb_lines(scale: float, folder: Path) -> Suite:
    """The star schema benchmark with the columns that its queries read; generated on a GPU if there is one."""
    return _generate("ssb", round(6_000_000 * scale), folder)


def exchange(scale: float, folder: Path) -> Suite:
    """Rows that are exchanged for groups and joins: 600 million at scale 100."""
    return _generate("exchange", round(6_000_000 * scale), folder)


def _generate(suite: str, rows: int, folder: Path) -> Suite:
    from benchmarks.fused.files import SCHEMAS

    where = folder / f"{suite}-{rows}"
    if not (where / "done").exists():
        where.mkdir(parents=True, exist_ok=True)
        # In its own process, which leaves nothing on the GPU.
        command = [sys.executable, "-m", "benchmarks.fused.files", suite, where, str(rows)]
        subprocess.run(command, check=True, cwd=HERE.parent)
    declared = {statement.split()[2]: statement for statement in schema(suite)}
    columns = SCHEMAS[suite]
    made = [f"CREATE TABLE {name} ({columns[name]})" if name in columns else declared[name] for name in declared]
    return Suite(suite, made, {name: where / name for name in declared}, queries(suite), [])


def adopted_schema(suite: Suite) -> list[str]:
    """The tables of a suite with the columns of its files, so that the files can be adopted."""
    import pyarrow.parquet as pq

    statements = []
    for name, path in suite.tables.items():
        fields = pq.read_schema(list_files(path)[0])
        whole = _columns_without_null(path)
        columns = (f"{each.name} {_sql_type(each.type)}{' NOT NULL' * (each.name in whole)}" for each in fields)
        statements.append(f"CREATE TABLE {name} ({', '.join(columns)})")
    return statements


def _columns_without_null(path: Path) -> set[str]:
    """Returns the columns of a table's files whose statistics count no NULL."""
    import pyarrow.parquet as pq

    nullable: set[str] = set()
    names: set[str] = set()
    for file in list_files(path):
        metadata = pq.read_metadata(file)
        for group in range(metadata.num_row_groups):
            for place in range(metadata.num_columns):
                column = metadata.row_group(group).column(place)
                names.add(column.path_in_schema)
                if column.statistics is None or column.statistics.null_count != 0:
                    nullable.add(column.path_in_schema)
    return names - nullable


def _sql_type(kind: Any) -> str:
    import pyarrow as pa

    if pa.types.is_decimal(kind):
        return f"NUMERIC({kind.precision},{kind.scale})"
    plain = {pa.int16(): "SMALLINT", pa.int32(): "INTEGER", pa.int64(): "BIGINT", pa.float64(): "DOUBLE PRECISION",
             pa.date32(): "DATE", pa.timestamp("us"): "TIMESTAMP"}  # fmt: skip
    return plain.get(kind, "TEXT")


def tpcds(scale: float, folder: Path) -> Suite:
    """TPC-DS by DuckDB's dsdgen; the schema declares the primary keys."""
    from benchmarks.data import tpcds as maker

    where = folder / f"tpcds-{scale:g}"
    if not (where / "done").exists():
        maker.write(where, scale)
        (where / "done").touch()
    tables = {name: where / f"{name}.parquet" for name in maker.TABLES}
    return Suite("tpcds", schema("tpcds"), tables, queries("tpcds"), _index_statements({}, _TPCDS_FOREIGN))


def groupby_join(scale: float, folder: Path) -> Suite:
    """The group-by and join benchmark: 100 million rows at scale 100. Queries return sums, not their million rows."""
    from benchmarks.data import groupby_join as maker

    where = folder / f"groupby_join-{scale:g}"
    if not (where / "done").exists():
        maker.write(where, round(1_000_000 * scale))
        (where / "done").touch()
    tables = {name: where / name for name in maker.TABLES}
    return Suite("groupby_join", schema("groupby_join"), tables, queries("groupby_join"), [])


def asof(scale: float, folder: Path) -> Suite:
    """Trades and quotes for ASOF joins: 100 million rows each at scale 100."""
    from benchmarks.data import asof as maker

    where = folder / f"asof-{scale:g}"
    if not (where / "done").exists():
        maker.write(where, round(1_000_000 * scale))
        (where / "done").touch()
    return Suite("asof", schema("asof"), {name: where / name for name in maker.TABLES}, queries("asof"), [])


def taxi(rows: int, folder: Path) -> Suite:
    """The taxi rides by our own generator."""
    from gpudb.demo import taxi as maker

    path = folder / f"taxi-{rows}.parquet"
    if not path.exists():
        import pyarrow.parquet as pq

        made = path.with_suffix(".part")
        with pq.ParquetWriter(made, maker.SCHEMA) as writer:
            for batch in maker.generate_rides(rows, seed=1):
                writer.write_batch(batch)
        made.rename(path)
    return Suite("taxi", schema("taxi"), {"trips": path}, queries("taxi"), [])


def schema(suite: str) -> list[str]:
    """The statements of a suite's schema.sql; the taxi rides' table is the demo's."""
    text = read_create_table() if suite == "taxi" else (find_folder(suite) / "schema.sql").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("--")]
    return [statement.strip() for statement in "\n".join(lines).split(";") if statement.strip()]


def find_folder(suite: str) -> Path:
    """The folder of a suite's SQL files: queries/SUITE, or the demo's."""
    return Path(star_schema.__file__).parent if suite == "ssb" else HERE / "queries" / suite


def queries(suite: str) -> dict[str, str]:
    """The queries of a suite by file name."""
    paths = sorted(find_folder(suite).glob("q*.sql"))
    return {path.stem: path.read_text(encoding="utf-8").strip().rstrip(";") for path in paths}


def _index_statements(keys: dict[str, str], foreign: dict[str, list[str]]) -> list[str]:
    primary = [f"ALTER TABLE {table} ADD PRIMARY KEY ({columns})" for table, columns in keys.items()]
    return primary + [f"CREATE INDEX ON {table} ({each})" for table, columns in foreign.items() for each in columns]


if __name__ == "__main__":
    globals()[sys.argv[1]](float(sys.argv[2]), Path(sys.argv[3]))
