"""gpudb compared with DuckDB and PostgreSQL on the same data: queries, COPY, large results, latency.

    python -m benchmarks.compare [--only ssb tpch tpcds copy select latency] [--scale 1] [--without postgresql]
    python -m benchmarks.compare --only tpch ssb-lines exchange --scale 30 --workers 1 2 4    # on so many GPUs each

With --explain another column has the time of kernels, which divides a query's time into kernels and overhead; with
--general the same queries also run without kernels, by the general engine.

Each suite's answers are compared before its times are printed; results go to benchmarks/results/SUITE.MACHINE.json.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.harness import Answer, Row, check_answers, make_row, save_results, time_runs

SUITES = ("ssb", "tpch", "tpcds", "copy", "select", "latency")
LARGE = ("ssb-lines", "exchange")
"""Suites whose files are generated on a GPU; they run only if they are named."""
SYSTEMS = ("gpudb", "gpudb server", "gpudb gpu", "duckdb", "cudf-polars", "postgresql")
ON_GPU = {"gpudb gpu", "cudf-polars"}
TRUSTED = "postgresql"
BUDGET_S = {"postgresql": 20.0}
"""Time limit for all runs of one case in seconds, if it differs from `--budget`."""
SLOW_S = 2.0
"""A query that takes longer is not run again under EXPLAIN ANALYZE."""
_KERNEL_TIME = re.compile(r"Kernel Time: ([\d.]+) ms")
_BEGAN = time.monotonic()


class Session:
    """One run of the program: its options and its results so far."""

    def __init__(self, options: argparse.Namespace) -> None:
        from gpudb.cli import machine

        self.options = options
        self.versions: dict[str, str] = {}
        self.interrupted = False
        self._gpu = machine.select_engine(machine.query_gpus())[0] == "gpu"

    def includes(self, system: str) -> bool:
        """Returns whether a system takes part."""
        return system not in self.options.without and (system not in ON_GPU or self._gpu)

    @property
    def engine(self) -> str:
        """The engine with several workers: GPUs, or the engine twin without GPUs."""
        return "gpu" if self._gpu else "twin"

    def record_version(self, system: Any) -> None:
        """Records a system's version."""
        self.versions[system.name] = system.version

    def write(self, name: str, rows: list[Row]) -> Path:
        """Writes a suite's results; those of the general engine also in a file of their own."""
        name = f"{name}-general" if self.options.general else name
        return save_results(name, rows, self.versions, self.options.machine)

    def save(self, name: str, rows: list[Row]) -> None:
        """Writes a suite's results and prints them."""
        path = self.write(name, rows)
        show(name, rows)
        print(f"→ {path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}\n", flush=True)


def main(arguments: list[str] | None = None) -> int:
    """Runs the suites; returns status 1 if answers differ."""
    parser = argparse.ArgumentParser(description="gpudb and its peers on the same data")
    parser.add_argument("--only", nargs="+", choices=[*SUITES, *LARGE], default=list(SUITES), metavar="SUITE")
    parser.add_argument("--scale", type=float, default=1.0, help="scale factor of ssb, tpch and tpcds; 1 is 1 GB")
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of copy and select")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--warm", type=int, default=2, help="warm-up runs")
    parser.add_argument("--explain", type=Path, help="folder for gpudb's EXPLAIN ANALYZE of each query")
    parser.add_argument("--general", action="store_true", help="also run gpudb's workers without fused kernels")
    parser.add_argument("--budget", type=float, default=60, help="seconds for all runs of one case")
    parser.add_argument(
        "--workers", nargs="+", type=int, help="numbers of GPUs for gpudb and cudf-polars; tables are adopted as files"
    )
    parser.add_argument("--without", nargs="+", choices=SYSTEMS, default=[], metavar="SYSTEM")
    parser.add_argument("--data", type=Path, default=Path(tempfile.gettempdir()) / "gpudb-benchmarks")
    parser.add_argument("--machine", help="the results' label, such as cpu2")
    parser.add_argument("--peers", nargs="+", type=int, help="other numbers of GPUs for cudf-polars")
    session = Session(parser.parse_args(arguments))
    right = True
    for suite in session.options.only:
        rows = _RUN[suite](session)
        right &= all(row.answers_agree is not False for row in rows)
        if rows:
            session.save(suite, rows)
        if session.interrupted:
            break
    report.main()
    return 0 if right and not session.interrupted else 1


# ---- queries


def run_queries(session: Session, name: str) -> list[Row]:
    """Runs a suite's queries on each system in turn, alone on the machine, warm, over loaded tables."""
    from benchmarks import tables

    suite = getattr(tables, name.replace("-", "_"))(session.options.scale, session.options.data)
    rows: list[Row] = []
    answers: dict[tuple[str, str], Answer] = {}
    times: list[Row] = []
    try:
        for system in _open_systems(session, suite):
            times = []
            for case, text in suite.queries.items():
                times.append(_run_case(session, system, case, text, suite.rows, answers))
                _print_progress(times[-1])
            done, times = times, []
            rows += [*done, _total(system.name, done, suite.rows)]
            if session.options.explain and system.name.startswith("gpudb"):
                session.write(name, rows)  # so that timings survive however this run ends
                quick = {row.case for row in done if row.median_s is not None and row.median_s < SLOW_S}
                kernels = explain(system, suite, quick, session.options.explain)
                rows += [*kernels, _total(kernels[0].system, kernels, suite.rows)] if kernels else []
            _check_answers(rows, answers)
            session.write(name, rows)  # what follows may never end
    except KeyboardInterrupt:
        rows += times
        _check_answers(rows, answers)
        session.interrupted = True
        print("interrupted: kept is what was measured before", file=sys.stderr, flush=True)
    return rows


def _check_answers(rows: list[Row], answers: dict[tuple[str, str], Answer]) -> None:
    systems = {name for _, name in answers}
    if len(systems) > 1:  # a single system has nothing to compare with
        check_answers(rows, answers, next((each for each in (TRUSTED, "duckdb") if each in systems), min(systems)))


def _open_systems(session: Session, suite: Any) -> Iterator[Any]:
    """Yields each system with the suite's tables loaded; closes it before the next one is opened."""
    from benchmarks.systems import CudfPolars, DuckDb, Gpudb, gpudb_server, postgres

    if session.options.workers:
        yield from _open_on_workers(session, suite)
        return
    with ExitStack() as stack:
        data_dir = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gpudb-benchmark-"))) / "data"
        if any(map(session.includes, ("gpudb", "gpudb server", "gpudb gpu"))):
            with closing(Gpudb(data_dir)) as embedded:
                _load(session, embedded, suite)
                if session.includes("gpudb"):
                    yield embedded
        if session.includes("gpudb server"):
            with gpudb_server(data_dir) as server:
                session.record_version(server)
                yield server
        if session.includes("gpudb gpu"):
            with gpudb_server(data_dir, "gpu") as server:
                session.record_version(server)
                yield server
    if session.includes("cudf-polars"):
        with closing(CudfPolars(suite, session.options.scale)) as polars:
            _load(session, polars, suite)
            yield polars
    if session.includes("duckdb"):
        with closing(DuckDb()) as duck:
            _load(session, duck, suite)
            yield duck
    if session.includes("postgresql"):
        with postgres() as server:
            _load(session, server, suite)
            yield server


def _open_on_workers(session: Session, suite: Any) -> Iterator[Any]:
    """Runs gpudb and cudf-polars on several numbers of GPUs, and DuckDB on all processors, over the same files."""
    from benchmarks.systems import CudfPolars, DuckDb, gpudb_server
    from benchmarks.tables import adopted_schema

    schema = adopted_schema(suite)
    with tempfile.TemporaryDirectory(prefix="gpudb-benchmark-", dir=session.options.data) as folder:
        for number, count in enumerate(session.options.workers):
            with gpudb_server(Path(folder) / "data", session.engine, count) as server:
                session.record_version(server)
                if number == 0:
                    times, _ = time_runs(lambda s=server: s.adopt(schema, suite.tables), warm=0, runs=1)
                    print(f"{suite.name}: files adopted in {times[0]:.1f} s", file=sys.stderr, flush=True)
                    for statement in suite.declared:
                        server.query_none(statement)
                server.query_none("SET gpudb.fallback = off")
                yield server
                if session.options.general:
                    server.query_none("SET gpudb.fused = off")
                    server.name += ", general"
                    session.record_version(server)
                    yield server
    if session.includes("duckdb"):
        with closing(DuckDb()) as duck:
            session.record_version(duck)
            duck.load(schema, suite.tables, [])
            yield duck
    if session.includes("cudf-polars"):
        for count in session.options.peers or session.options.workers:
            with closing(CudfPolars(suite, session.options.scale, count)) as polars:
                _load(session, polars, suite)
                yield polars


def _load(session: Session, system: Any, suite: Any) -> None:
    session.record_version(system)
    times, _ = time_runs(lambda: system.load(suite.schema, suite.tables, suite.indexes), warm=0, runs=1)
    print(f"{suite.name}: {system.name} loaded in {times[0]:.1f} s", file=sys.stderr, flush=True)


def _run_case(
    session: Session, system: Any, case: str, text: str, table_rows: int, answers: dict[tuple[str, str], Answer]
) -> Row:
    try:
        times, answer = time_runs(
            lambda: system.query(text),
            warm=session.options.warm,
            runs=session.options.runs,
            budget_s=BUDGET_S.get(system.name, session.options.budget),
        )
    except Exception as error:
        return Row(case, system.name, None, None, 0, table_rows, note=f"{type(error).__name__}: {error}"[:200])
    answers[case, system.name] = answer
    return make_row(case, system.name, times, table_rows, result_rows=len(answer))


def explain(system: Any, suite: Any, quick: set[str], folder: Path) -> list[Row]:
    """Writes EXPLAIN ANALYZE of a suite's `quick` queries, EXPLAIN of the others, or the error; returns the kernels'
    time of queries that have some, for each kernel the slowest worker's.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    for case, text in suite.queries.items():
        how = "EXPLAIN (ANALYZE)" if case in quick else "EXPLAIN"
        try:
            text_plan = "\n".join(str(line) for (line,) in system.query(f"{how} {text}"))
        except Exception as error:
            text_plan = f"{type(error).__name__}: {error}"
        name = system.name.replace(",", "").replace(" ", "-")
        (folder / f"{suite.name}-{name}-{case}.txt").write_text(text_plan + "\n", encoding="utf-8")
        if times := _KERNEL_TIME.findall(text_plan):
            spent = sum(map(float, times)) / 1000
            rows.append(Row(case, f"{system.name}, kernels", spent, spent, 1, suite.rows))
    return rows


def _total(system: str, rows: list[Row], table_rows: int) -> Row:
    medians = [row.median_s for row in rows if row.median_s is not None]
    whole = len(medians) == len(rows)
    note = None if whole else f"{len(rows) - len(medians)} without a time"
    least = sum(row.min_s or 0.0 for row in rows)
    return Row("total", system, sum(medians), least, min(row.runs for row in rows), table_rows, note=note)


def _print_progress(row: Row) -> None:
    took = f"{row.median_s * 1000:9.1f} ms" if row.median_s is not None else f"{'—':>9}    {row.note}"
    print(f"{time.monotonic() - _BEGAN:6.1f} s  {row.case:8} {row.system:13} {took}", file=sys.stderr, flush=True)


# ---- the wire


def _open_servers(session: Session) -> Iterator[Any]:
    from benchmarks.systems import gpudb_server, postgres

    for name, start in (("gpudb server", gpudb_server), ("postgresql", postgres)):
        if session.includes(name):
            with start() as system:
                session.record_version(system)
                yield system


def run_copy(session: Session) -> list[Row]:
    """COPY FROM STDIN of taxi rides, 51 columns, by psycopg; the CSV exists beforehand, each run has a new table."""
    from benchmarks.tables import schema
    from gpudb.demo.taxi import generate_csv

    count = session.options.rows
    pieces = list(generate_csv(count, seed=1))
    size = sum(map(len, pieces))
    rows = []
    answers: dict[tuple[str, str], Answer] = {}
    for system in _open_servers(session):

        def copy(system: Any = system) -> None:
            system.query_none("DROP TABLE IF EXISTS trips")
            system.query_none(schema("taxi")[0])
            with system.connection.cursor().copy("COPY trips FROM STDIN (FORMAT csv)") as out:
                for piece in pieces:
                    out.write(piece)

        times, _ = time_runs(copy, warm=1, runs=min(3, session.options.runs), budget_s=180)
        totals = "SELECT count(*), sum(trip_id), sum(total_amount), max(pickup_datetime), count(pickup) FROM trips"
        answers["taxi rides", system.name] = system.query(totals)
        rows.append(make_row("taxi rides", system.name, times, count, bytes=size))
        _print_progress(rows[-1])
    check_answers(rows, answers, TRUSTED)
    return rows


_SELECTED = """
CREATE TABLE selected (id bigint, whole integer, price numeric(10,2), name text, at timestamp)
"""


def run_select(session: Session) -> list[Row]:
    """SELECT of all rows of a table of five columns, by psycopg: as text, and converted to Python values."""
    import psycopg

    count = session.options.rows
    lines = [
        f"{i},{i * 7919 % 100_000},{i % 100_000}.{i % 100:02},name {i % 5000},2024-01-{1 + i % 28:02} 12:00:00\n"
        for i in range(count)
    ]
    data = "".join(lines).encode()
    rows = []
    answers: dict[tuple[str, str], Answer] = {}
    for system in _open_servers(session):
        system.query_none(_SELECTED)
        with system.connection.cursor().copy("COPY selected FROM STDIN (FORMAT csv)") as out:
            out.write(data)
        system.query_none("ANALYZE selected")

        def raw(system: Any = system) -> int:
            result = system.connection.pgconn.exec_(b"SELECT * FROM selected")
            assert result.status == psycopg.pq.ExecStatus.TUPLES_OK
            return int(result.ntuples)

        for case, run in (("libpq", raw), ("psycopg", lambda s=system: len(s.query("SELECT * FROM selected")))):
            times, got = time_runs(run, warm=2, runs=session.options.runs)
            rows.append(make_row(case, system.name, times, count, result_rows=got, bytes=len(data)))
            _print_progress(rows[-1])
        answers["psycopg", system.name] = system.query("SELECT * FROM selected WHERE id % 97 = 0")
    check_answers(rows, answers, TRUSTED)
    return rows


def run_latency(session: Session) -> list[Row]:
    """SELECT 1 by psycopg in sequence: by the simple protocol, and by a prepared statement."""
    rows = []
    for system in _open_servers(session):
        connection = system.connection
        cases: dict[str, Callable[[], Any]] = {
            "SELECT 1": partial(_fetch, connection, "SELECT 1"),
            "SELECT $1, prepared": partial(_fetch, connection, "SELECT %s::int", (1,), prepare=True),
        }
        for case, run in cases.items():
            times, answer = time_runs(run, warm=200, runs=2000)
            rows.append(make_row(case, system.name, times, 0, result_rows=len(answer)))
            rows[-1].answers_agree = answer == [(1,)]
            _print_progress(rows[-1])
    return rows


def _fetch(connection: Any, *arguments: Any, **options: Any) -> Answer:
    return connection.execute(*arguments, **options).fetchall()  # type: ignore[no-any-return]


_RUN: dict[str, Callable[[Session], list[Row]]] = {
    "ssb": lambda session: run_queries(session, "ssb"),
    "tpch": lambda session: run_queries(session, "tpch"),
    "tpcds": lambda session: run_queries(session, "tpcds"),
    "ssb-lines": lambda session: run_queries(session, "ssb-lines"),
    "exchange": lambda session: run_queries(session, "exchange"),
    "copy": run_copy,
    "select": run_select,
    "latency": run_latency,
}


# ---- output


def show(name: str, rows: list[Row]) -> None:
    """One line for each case, one column for each system, and gpudb's ratios to its peers."""
    from rich.console import Console
    from rich.table import Table

    systems = list(dict.fromkeys(row.system for row in rows))
    ours = systems[0]
    table = Table(title=name, title_justify="left", header_style="bold")
    table.add_column("case")
    for system in systems:
        table.add_column(f"{system}, ms", justify="right")
    for system in systems[1:]:
        table.add_column(f"{system} / {ours}", justify="right")
    table.add_column("answers")
    for case in dict.fromkeys(row.case for row in rows):
        line = {row.system: row for row in rows if row.case == case}
        base = line[ours].median_s if ours in line else None
        cells = [_milliseconds(line.get(system)) for system in systems]
        ratios = [_ratio(line.get(system), base) for system in systems[1:]]
        verdicts = {row.answers_agree for row in line.values()} - {None}
        mark = "" if not verdicts else "agree" if verdicts == {True} else "[bold red]differ[/]"
        table.add_row(case, *cells, *ratios, mark)
    Console(highlight=False, width=140).print(table)
    speeds = [row for row in rows if row.bytes and row.median_s]
    for row in speeds:
        rate = row.table_rows / (row.median_s or 1)
        print(
            f"  {row.case}, {row.system}: {rate:,.0f} rows/s, {(row.bytes or 0) / (row.median_s or 1) / 1e6:,.0f} MB/s"
        )


def _milliseconds(row: Row | None) -> str:
    if row is None or row.median_s is None:
        return "—"
    return f"{row.median_s * 1000:,.2f}" + ("*" if row.note else "")


def _ratio(row: Row | None, base: float | None) -> str:
    return f"{row.median_s / base:.2f}" if row is not None and row.median_s and base else ""


if __name__ == "__main__":
    raise SystemExit(main())
