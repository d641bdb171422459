"""A suite on one GPU, query by query: cold, hot, and EXPLAIN ANALYZE, written as it comes.

    python -m benchmarks.gpu.power [--suite tpch] --scale 100 [--runs 3] [--seconds 400] [--out FOLDER]
        [--only q17 q18] [--check]

The suite's files are generated and adopted; TPC-H's primary keys of the smaller tables are declared, and text columns
of conditions are analysed. Each query runs once cold, then hot, then under EXPLAIN ANALYZE, whose text goes to
FOLDER/qNN.txt; FOLDER/power.json and results/power[-SUITE]-SCALE.MACHINE.json have the results so far. After `seconds`
no further query is started. With --check DuckDB, with all processors, then answers the same queries over the same
tables in its memory as often, as far as there is time, and answers are compared. Without a GPU it runs the engine twin.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks import report, tables
from benchmarks.harness import Answer, Row, answers_equal, save_results
from benchmarks.systems import DuckDb, System, Wire, gpudb_server

SYSTEM, DUCKDB = "gpudb gpu", "duckdb"
SUITES = {"tpch": tables.tpch, "tpcds": tables.tpcds, "groupby_join": tables.groupby_join, "asof": tables.asof}


def main() -> int:
    """Runs and prints; returns status 1 if an answer differs or a query has none."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", choices=list(SUITES), default="tpch")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=400.0, help="no query starts later")
    parser.add_argument("--data", type=Path, default=Path(tempfile.gettempdir()) / "gpudb-benchmarks")
    parser.add_argument("--out", type=Path, default=Path(tempfile.gettempdir()) / "gpudb-power")
    parser.add_argument("--only", nargs="+", metavar="QUERY")
    parser.add_argument("--engine", choices=["gpu", "twin"])
    parser.add_argument("--plain", action="store_true", help="no primary keys, and no statistics")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--machine", help="the results' label, such as h200x1")
    options = parser.parse_args()
    return _Power(options).run()


class _Power:
    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._begun = time.perf_counter()
        self._report: dict[str, Any] = {"scale": options.scale, "queries": {}}
        self._right = True
        self._answers: dict[str, Answer] = {}

    def run(self) -> int:
        options = self._options
        options.out.mkdir(parents=True, exist_ok=True)
        options.data.mkdir(parents=True, exist_ok=True)
        suite = SUITES[options.suite](options.scale, options.data)
        self._log(f"files of scale {options.scale:g}")
        with (
            tempfile.TemporaryDirectory(prefix="gpudb-power-", dir=options.data) as folder,
            gpudb_server(Path(folder) / "data", options.engine or _engine(), 1) as server,
        ):
            self._log("server up")
            self._adopt(server, suite)
            rows, version = suite.rows, server.version
            server.query_none("SET gpudb.fallback = off")
            server.query_none("SET statement_timeout = '120s'")
            for name, text in suite.queries.items():
                if options.only and name not in options.only:
                    continue
                if self._is_over(name):
                    self._right = False
                    break
                self._query(server, name, text)
                self._save(rows, version)
        if options.check:
            self._check(suite, lambda: self._save(rows, version))
        self._summary()
        report.main()
        return 0 if self._right else 1

    def _log(self, text: str) -> None:
        print(f"{time.perf_counter() - self._begun:7.1f} s  {text}", flush=True)

    def _is_over(self, name: str) -> bool:
        over = time.perf_counter() - self._begun > self._options.seconds
        if over:
            self._log(f"{name} and what follows: no time left")
        return over

    def _adopt(self, server: Wire, suite: Any) -> None:
        server.adopt(tables.adopted_schema(suite), suite.tables)
        self._log("files adopted")
        if not self._options.plain:
            for statement in suite.declared:
                server.query_none(statement)
            self._log("primary keys checked, text analysed")

    def _check(self, suite: Any, save: Callable[[], None]) -> None:
        """Compares the answers and times with DuckDB's."""
        with closing(DuckDb()) as duck:
            for table, path in suite.tables.items():
                files = [str(file) for file in tables.list_files(path)]
                duck.query(f"CREATE TABLE {table} AS SELECT * FROM read_parquet({files})")
            self._log("DuckDB's tables are loaded")
            for name, answer in self._answers.items():
                if self._is_over(f"comparing {name}"):
                    break
                figures = self._report["queries"][name]
                try:
                    expected, _ = _time_query(duck, suite.queries[name])
                    times = [_time_query(duck, suite.queries[name])[1] for _ in range(self._options.runs)]
                except Exception as error:
                    figures["duckdb_error"] = f"{type(error).__name__}: {error}"[:300]
                    self._log(f"{name}  {figures['duckdb_error']}")
                    continue
                figures["duckdb_ms"], figures["duckdb_least_ms"] = round(statistics.median(times), 2), min(times)
                figures["agrees"] = answers_equal(answer, expected)
                self._right &= figures["agrees"]
                self._log(
                    f"{name}  {'agrees' if figures['agrees'] else 'DIFFERS'}, {figures['hot_ms']} ms,"
                    f" DuckDB {figures['duckdb_ms']} ms"
                )
                save()

    def _query(self, server: Wire, name: str, text: str) -> None:
        figures: dict[str, Any] = {}
        self._report["queries"][name] = figures
        try:
            answer, figures["cold_ms"] = _time_query(server, text)
            # The general engine may have answered the first run while kernels were compiled.
            figures["second_ms"] = _time_query(server, text)[1]
            hot = [_time_query(server, text)[1] for _ in range(self._options.runs)]
            figures["hot_ms"], figures["least_ms"] = round(statistics.median(hot), 2), min(hot)
            figures["rows"] = len(answer)
            lines = [row[0] for row in server.query(f"EXPLAIN (ANALYZE, COSTS OFF) {text}")]
            (self._options.out / f"{name}.txt").write_text("\n".join(lines) + "\n")
            figures["host"] = sorted({line.strip() for line in lines if line.strip().startswith("Cpu")})
            self._answers[name] = answer
        except Exception as error:
            figures["error"] = f"{type(error).__name__}: {error}"[:300]
            self._right = False
        self._log(f"{name}  {figures}")

    def _summary(self) -> None:
        found = self._report["queries"]
        hot = {name: each["hot_ms"] for name, each in found.items() if "hot_ms" in each}
        print("\nhot, ms: " + "  ".join(f"{name} {ms:.1f}" for name, ms in sorted(hot.items(), key=lambda p: -p[1])))
        print(f"total of {len(hot)} queries: {sum(hot.values()):.1f} ms hot, "
              f"{sum(found[name]['cold_ms'] for name in hot):.0f} ms cold")  # fmt: skip

    def _save(self, table_rows: int, version: str) -> None:
        """Writes results/power-SCALE.MACHINE.json, and FOLDER/power.json."""
        (self._options.out / "power.json").write_text(json.dumps(self._report, indent=1) + "\n")
        rows = []
        found = self._report["queries"]
        for name, figures in found.items():
            if "hot_ms" not in figures:
                continue
            counted = (table_rows, figures["rows"], None, figures.get("agrees"))
            first = f"first run {figures['cold_ms'] / 1000:.2f} s"
            rows.append(
                Row(
                    name,
                    SYSTEM,
                    figures["hot_ms"] / 1000,
                    figures["least_ms"] / 1000,
                    self._options.runs,
                    *counted,
                    first,
                )
            )
            if "duckdb_ms" in figures:
                times = figures["duckdb_ms"] / 1000, figures["duckdb_least_ms"] / 1000
                rows.append(Row(name, DUCKDB, *times, self._options.runs, *counted))
        for system in dict.fromkeys(row.system for row in rows):
            of = [row for row in rows if row.system == system]
            times = [sum(times) for times in zip(*((row.median_s or 0.0, row.min_s or 0.0) for row in of), strict=True)]
            note = None if len(of) == len(found) else f"of {len(of)} queries"
            rows.append(Row("total", system, *times, of[0].runs, table_rows, note=note))
        suite = "" if self._options.suite == "tpch" else f"{self._options.suite}-"
        save_results(
            f"power-{suite}{self._options.scale:g}", rows, {SYSTEM: version}, self._options.machine, "gpu.power"
        )


def _time_query(server: System, text: str) -> tuple[Answer, float]:
    begun = time.perf_counter()
    answer = server.query(text)
    return answer, round(1000 * (time.perf_counter() - begun), 2)


def _engine() -> str:
    from gpudb.cli import machine

    return "gpu" if machine.select_engine(machine.query_gpus())[0] == "gpu" else "twin"


if __name__ == "__main__":
    sys.exit(main())
