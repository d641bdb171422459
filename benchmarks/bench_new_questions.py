"""First runs of statements that were never asked before: drawn questions over TPC-H and TPC-DS, beside DuckDB.

    python -m benchmarks.bench_new_questions [--engine gpu|twin|cpu] [--scale 1] [--count 500] [--seed 1]

Each question runs on gpudb twice, and twice on DuckDB over tables in memory; answers are compared. Printed are the
median, the ninth decile and the 99th percentile of first and second runs, by schema, then the slowest questions, those
that failed, and those that did not run on the engine's workers.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles

import duckdb

from benchmarks import tables
from benchmarks.data import questions
from benchmarks.harness import Answer, Row, answers_equal, save_results
from benchmarks.systems import DuckDb, Wire, gpudb_server

_LIMIT_S = 60
KEYS = {"tpch": questions.TPCH_KEYS, "tpcds": questions.TPCDS_KEYS}


@dataclass(slots=True)
class Asked:
    """A question, the seconds of its runs on both systems, and what is wrong with it."""

    kind: str
    sql: str
    ours: list[float]
    theirs: list[float]
    wrong: str = ""
    reason: str = ""
    """Why it did not run on workers."""


def run(system: Wire | DuckDb, sql: str) -> tuple[list[float], Answer | Exception]:
    """Runs a statement twice; seconds of each, and its answer or its error."""
    times: list[float] = []
    answer: Answer | Exception = []
    for _ in range(2):
        started = time.perf_counter()
        try:
            answer = system.query(sql)
        except Exception as error:  # shown as failed, and the others still run
            return times, error
        times.append(time.perf_counter() - started)
    return times, answer


def ask(name: str, options: argparse.Namespace) -> list[Asked]:
    """Asks the questions of one schema."""
    suite = getattr(tables, name)(options.scale, options.data)
    peer = DuckDb()
    peer.load(suite.schema, suite.tables, [])
    with duckdb.connect() as sampled:
        for table, path in suite.tables.items():
            files = [str(each) for each in tables.list_files(path)]
            sampled.execute(f"CREATE VIEW {table} AS FROM read_parquet({files})")
        schema = questions.read_schema(suite.schema, KEYS[name], sampled)
    asked: list[Asked] = []
    with gpudb_server(engine=options.engine, workers=options.workers if options.engine != "cpu" else 0) as server:
        server.adopt(tables.adopted_schema(suite), suite.tables)
        server.query_none(f"SET statement_timeout = '{_LIMIT_S}s'")
        reasons: list[str] = []
        server.connection.add_notice_handler(lambda notice: reasons.append(str(notice.message_primary)))
        for kind, sql in questions.ask(schema, options.count, options.seed):
            reasons.clear()
            ours, found = run(server, sql)
            reason = "; ".join(dict.fromkeys(reasons))
            theirs, wanted = run(peer, sql)
            asked.append(Asked(kind, sql, ours, theirs, _compare(found, wanted), reason))
    peer.close()
    return asked


def _compare(found: Answer | Exception, wanted: Answer | Exception) -> str:
    if isinstance(wanted, Exception):
        return f"DuckDB: {wanted}"
    if isinstance(found, Exception):
        return f"gpudb: {type(found).__name__} {found}"
    return "" if answers_equal(found, wanted, 1e-6) else f"answers differ: {found[:2]} instead of {wanted[:2]}"


def show(name: str, asked: list[Asked], slowest: int) -> None:
    """Prints percentiles, the slowest first runs, failures and statements that did not run on workers."""
    right = [each for each in asked if len(each.ours) == 2 and len(each.theirs) == 2]
    for label, times in (
        ("gpudb first", [each.ours[0] for each in right]),
        ("gpudb second", [each.ours[1] for each in right]),
        ("duckdb first", [each.theirs[0] for each in right]),
        ("duckdb second", [each.theirs[1] for each in right]),
    ):
        cuts = quantiles(times, n=100)
        print(
            f"{name} {label:14}median {median(times) * 1000:8.1f} ms   p90 {cuts[89] * 1000:8.1f} ms   "
            f"p99 {cuts[98] * 1000:8.1f} ms   most {max(times) * 1000:8.1f} ms   total {sum(times):6.1f} s"
        )
    for kind in questions.KINDS:
        times = [each.ours[0] for each in right if each.kind == kind]
        if times:
            print(f"  {kind:15}{len(times):4} questions, first run median {median(times) * 1000:8.1f} ms")
    for each in sorted(right, key=lambda each: -each.ours[0])[:slowest]:
        print(f"  {each.ours[0]:6.2f} s, then {each.ours[1]:6.3f} s, DuckDB {min(each.theirs):6.3f} s: {each.sql}")
    for each in asked:
        if each.wrong:
            print(f"  WRONG {each.wrong}: {each.sql}")
    for each in asked:
        if each.reason:
            print(f"  NOTICE {each.reason}: {each.sql}")


def main() -> int:
    """Asks, prints and, with --machine, keeps the figures; 1 if an answer is wrong or missing."""
    parser = argparse.ArgumentParser(description="First runs of new questions, beside DuckDB")
    parser.add_argument("--engine", default="gpu", choices=("gpu", "twin", "cpu"))
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--count", type=int, default=250, help="questions of each schema")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--schema", action="append", choices=tuple(KEYS), help="only this schema; may be repeated")
    parser.add_argument("--slowest", type=int, default=10, help="how many slow questions to print")
    parser.add_argument("--data", type=Path, default=Path(tempfile.gettempdir()) / "gpudb-benchmarks")
    parser.add_argument("--machine", help="keep the results under this label, such as h200x1")
    options = parser.parse_args()
    rows: list[Row] = []
    wrong = 0
    for name in options.schema or KEYS:
        asked = ask(name, options)
        show(name, asked, options.slowest)
        wrong += sum(bool(each.wrong) for each in asked)
        right = [each for each in asked if len(each.ours) == 2 and len(each.theirs) == 2]
        for run_number, label in ((0, "first"), (1, "second")):
            for system, times in (
                (f"gpudb {options.engine}", [each.ours[run_number] for each in right]),
                ("duckdb", [each.theirs[run_number] for each in right]),
            ):
                cuts = quantiles(times, n=100)
                for figure, value in (("median", median(times)), ("p90", cuts[89]), ("p99", cuts[98])):
                    rows.append(Row(f"{name} {label} {figure}", system, value, min(times), len(times), options.count))
    if options.machine:
        print(save_results("new-questions", rows, {"duckdb": duckdb.__version__}, options.machine))
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
