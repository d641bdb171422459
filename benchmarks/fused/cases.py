"""Plans the queries over tables of full size, of which only the small ones exist, and writes their pipelines.

python -m benchmarks.fused.cases FOLDER FILE: FOLDER keeps the small tables, FILE is the input of `roofline`.
"""

from __future__ import annotations

import lzma
import pickle
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import polars as pl
import pyarrow.parquet as pq

from benchmarks import tables
from benchmarks.fused.data import TABLES, Case, Spec
from gpudb.catalog.model import Catalog
from gpudb.demo.star_schema import data as ssb
from gpudb.engine.gpu.backend.base import ComputedFrame
from gpudb.engine.gpu.backend.host import HostBackend
from gpudb.engine.gpu.cache.host_columns import ResidentTables
from gpudb.engine.gpu.cache.partition import Partition
from gpudb.engine.gpu.fused.columns.packed_column import PackedColumn
from gpudb.engine.gpu.fused.numpy_backend import executor
from gpudb.engine.gpu.fused.planning.matching import find_scan
from gpudb.engine.gpu.fused.planning.prepare import prepare
from gpudb.engine.gpu.fused.planning.prepared_pipeline import ColumnFacts
from gpudb.engine.gpu.fused.translate.typed_values import Dictionary
from gpudb.engine.gpu.planning.request_planner import Planner
from gpudb.engine.gpu.stage.stage_executor import StageTask, execute_stage
from gpudb.engine.protocol import Request
from gpudb.plan.physical.exchange_planning import Costs
from gpudb.plan.tree.fused_nodes import Fused
from gpudb.session.database import Database
from gpudb.session.execution.binding.binding import bind_statement, parse_statements
from gpudb.sql.bind.binder import StatementBinder

SCALE = 100
MORE = {
    "join": "SELECT cat, count(*), avg(ax) FROM t0 NATURAL JOIN t1 GROUP BY cat",
    "scan": "SELECT * FROM t_64g WHERE x BETWEEN y - 2 AND y + 2",
    "sphere": "SELECT * FROM t_64g WHERE sqrt((x - 200) ^ 2 + (y - 300) ^ 2 + (z - 400) ^ 2) < 10",
    "nulls": "SELECT passenger_count, avg(total_amount) FROM rides GROUP BY passenger_count",
    "like": "SELECT count(*) FROM comments WHERE comment NOT LIKE '%special%requests%'",
    "first": "SELECT * FROM t_64g WHERE z < 5000 ORDER BY x, y, z, id LIMIT 20",
    "ranges": "SELECT cat, count(*), avg(aid), max(bid) FROM t0 WHERE aid < 50000 and cid > 50000 GROUP BY cat",
}
_MAKE = (
    "CREATE TABLE t0 (id int, cat text, aid int, bid int, cid int)",
    "INSERT INTO t0 VALUES (1, 'aaa', 1, 1, 1)",
    "CREATE TABLE t_64g (id int, x int, y int, z int)",
    "INSERT INTO t_64g VALUES (1, 1, 1, 1)",
    "CREATE TABLE rides (passenger_count smallint, total_amount numeric(10,2))",
    "INSERT INTO rides VALUES (1, 7.25)",
    "CREATE TABLE comments (id int, comment text)",
    "INSERT INTO comments VALUES (1, 'slyly special requests')",
    "CREATE TABLE t1 (aid int, ax double precision)",
    "INSERT INTO t1 SELECT i, i * 0.25 FROM generate_series(0, 99999) AS s(i)",
    "INSERT INTO trips (pickup_datetime, dropoff_datetime, cab_type, passenger_count, trip_distance, total_amount)"
    " VALUES ('2010-01-01', '2010-01-01', 'green', 1, 1.5, 7.25)",
)


class _CaseFound(Exception):
    def __init__(self, case: Case) -> None:
        self.case = case


class _Source:
    """A large table, by statistics of its columns."""

    def __init__(self, table: str, names: Sequence[str]) -> None:
        self.rows, self._specs = TABLES[table]
        self._names = names
        self.asked: tuple[str, ...] = ()

    def _spec(self, column: int) -> Spec:
        return self._specs[self._names[column]]

    def facts(self, column: int, *, raw: bool = False) -> ColumnFacts:
        spec = self._spec(column)
        if spec.form.is_text:
            return ColumnFacts((0, 0), False, raw_ascii=True)
        dictionary = Dictionary(pl.Series(list(spec.texts))) if spec.texts else None
        return ColumnFacts((spec.low, spec.high), spec.nulls > 0, dictionary)

    def segments(self, columns: Sequence[int], raw: Sequence[int] = ()) -> list[executor.Segment]:
        self.asked = tuple(self._names[column] for column in columns)
        specs = [self._spec(column) for column in columns]
        packed = tuple(PackedColumn(each.form, each.base, self.rows, None, None, each.low, each.high) for each in specs)
        return [executor.Segment(self.rows, packed)]


def plan_cases(folder: Path) -> Iterator[Case]:
    """Returns the pipelines of all queries."""
    database = Database(None)
    session = database.session("gpudb")

    def run(sql: str) -> None:
        for result in session.run(sql):
            for _ in result.batches or ():
                pass

    schemas = tables.schema("ssb") + tables.schema("taxi")
    # Only the largest table of TPC-H: the others share their names with the star schema's.
    schemas += [each for each in tables.schema("tpch") if "lineitem" in each.split("(")[0].lower()]
    for statement in (*schemas, *_MAKE):
        run(statement)
    for name, path in _small_tables(folder).items():
        run(f"SELECT load_data('{name}', '{path}')")
    texts = {f"ssb {name}": text for name, text in tables.queries("ssb").items()}
    texts |= {f"taxi {name}": text for name, text in tables.queries("taxi").items()}
    texts |= {f"tpch {name}": text for name, text in tables.queries("tpch").items() if name in {"q01", "q06"}}
    texts |= MORE
    transaction = database.store.begin()
    catalog = _enlarge_tables(transaction.catalog)
    planner = Planner(database.cpu, Costs(workers=1, broadcast=2**34), fuse=True)
    for name, text in texts.items():
        (statement,) = parse_statements(text)
        query: Any = bind_statement(StatementBinder(catalog, statement.text), statement)
        try:
            _capture_case(planner, Request(query, catalog), name)
        except _CaseFound as found:
            yield found.case
    transaction.rollback()
    session.close()
    database.close()


def _small_tables(folder: Path) -> dict[str, Path]:
    folder.mkdir(parents=True, exist_ok=True)
    made = {}
    for name in ssb.TABLES:
        made[name] = folder / f"{name}.parquet"
        if not made[name].exists():
            scale = 0.0001 if name == "lineorder" else SCALE
            pq.write_table(ssb.table(name, scale), made[name])
    return made | {"lineitem": tables.tpch(0.001, folder).tables["lineitem"]}


def _enlarge_tables(catalog: Catalog) -> Catalog:
    """Returns the catalog with the large tables at full size."""
    relations: dict[Any, Any] = dict(catalog.relations)
    for key, relation in relations.items():
        if relation.name in TABLES and getattr(relation, "files", ()):
            file = replace(relation.files[0], rows=TABLES[relation.name][0])
            relations[key] = replace(relation, files=(file,))
    return replace(catalog, relations=MappingProxyType(relations))


def _capture_case(planner: Planner, request: Request, name: str) -> None:
    def kernels(
        node: Fused,
        builds: Sequence[ComputedFrame],
        partition: Partition,
        parameters: Sequence[object],
        key: Any = None,
    ) -> Any:
        scan = find_scan(node.root)
        if scan.table.name not in TABLES:
            # A build side, whose rows exist.
            return None
        source = _Source(scan.table.name, scan.names)
        prepared = prepare(node, source, builds, parameters)
        pipeline = executor.specialize(prepared.pipeline, prepared.segments[0])
        case = Case(name, scan.table.name, source.asked, pipeline, prepared.lookups, prepared.tables, prepared.top)
        raise _CaseFound(case)

    tables = ResidentTables(2**33)
    stages = planner.plan(request).stages
    outputs: dict[int, Any] = {}
    for stage in stages:
        received = {number: outputs[number] for number in stage.inputs}
        outputs[stage.number] = execute_stage(
            StageTask(stage, Partition(0, 1), ()), tables, received, HostBackend(), kernels
        )
    raise AssertionError(f"{name} has no fused part")


def main() -> None:
    """Writes the pipelines, compressed."""
    folder, file = Path(sys.argv[1]), Path(sys.argv[2])
    cases = list(plan_cases(folder))
    file.write_bytes(lzma.compress(pickle.dumps(cases, protocol=5), preset=1))
    print(f"{len(cases)} pipelines, {file.stat().st_size / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()
