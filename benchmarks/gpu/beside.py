"""Short statements beside a long one: their times alone and side by side on one GPU, through psycopg.

    python -m benchmarks.gpu.beside [--rows 200000000] [--scale 10] [--small 1000000] [--each 5] [--data DIR] …

One client repeats a window over ROWS rows, which no kernel supports and which takes the general engine long. Meanwhile
another runs short statements in sequence: two that the fast path answers by kernels, over the star schema's lines at
SCALE, and one of the general engine over SMALL rows. Every answer is compared with the first; the first ones are
compared with the embedded engine's over the same files. Results are written to results/beside.MACHINE.json as they
come. Without GPUs it runs the engine twin.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import report, tables
from benchmarks.harness import Answer, Row, answers_equal, make_row, save_results
from benchmarks.systems import Gpudb, Wire, gpudb_server

WARM = 5
MIN_RUNS = 3
"""Minimum number of timed runs, whatever they take."""
ENDING_S = 60.0
"""Time for the long statement's client to end its last run."""
ALONE, BESIDE = "alone", "side by side"
LONG = "long window"
SMALL = """
CREATE TABLE small AS SELECT (i * 7919 % 1000)::int AS g, (i * 104729 % 1000003)::int AS v
    FROM generate_series(1::bigint, {rows}) i
"""


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement, the row count of its largest table, and a faster equivalent for the embedded engine, if any."""

    sql: str
    rows: int
    same: str = ""


def statements(lines: int, rows: int, small: int) -> dict[str, Statement]:
    """The long statement over `rows` rows first; then the short ones, over `lines` lines and `small` rows."""
    numbered = "SELECT row_number() OVER (PARTITION BY k ORDER BY v) AS n FROM t"
    # Rows of a key are numbered from one on.
    counted = "SELECT count(*) AS c FROM t GROUP BY k"
    ranked = "SELECT g, rank() OVER (PARTITION BY g ORDER BY v) AS n FROM small"
    long = Statement(
        f"SELECT count(*), sum(n), max(n) FROM ({numbered}) AS numbered",
        rows,
        f"SELECT sum(c)::bigint, sum(c * (c + 1) / 2), max(c) FROM ({counted}) AS counted",
    )
    total = Statement(
        "SELECT sum(lo_extendedprice * lo_discount) FROM lineorder WHERE lo_orderdate BETWEEN 19930101 AND 19931231"
        " AND lo_discount BETWEEN 1 AND 3 AND lo_quantity < 25",
        lines,
    )
    return {
        LONG: long,
        "sum, at once": total,
        "joins and groups, at once": Statement(tables.queries("ssb")["q2.1"], lines),
        "short window": Statement(f"SELECT g, max(n), sum(n) FROM ({ranked}) AS ranked GROUP BY g", small),
    }


@dataclass
class ClientRuns:
    """A client's runs: seconds of each, the first answer, and the number of later ones that differ from it."""

    answer: Answer | None = None
    seconds: list[float] = field(default_factory=list)
    wrong: int = 0

    def add(self, seconds: float, answer: Answer, *, timed: bool = True) -> None:
        """Records a run."""
        self.seconds += [seconds] if timed or not self.seconds else []
        if self.answer is None:
            self.answer = answer
        self.wrong += not answers_equal(answer, self.answer)


def repeat(run: Callable[[], Answer], seconds: float, runs: ClientRuns) -> ClientRuns:
    """Repeats a statement for some seconds."""
    ends = time.perf_counter() + seconds
    first = len(runs.seconds)
    while len(runs.seconds) - first < MIN_RUNS or time.perf_counter() < ends:
        begun = time.perf_counter()
        answer = run()
        runs.add(time.perf_counter() - begun, answer)
    return runs


@contextlib.contextmanager
def concurrent_client(dsn: str, sql: str, runs: ClientRuns) -> Iterator[None]:
    """A separate client that repeats a statement during the block; of its last run only the answer counts. Its error is
    raised at the end.
    """
    import psycopg

    over = threading.Event()
    begun = threading.Event()
    failed: list[BaseException] = []

    def run() -> None:
        try:
            with psycopg.connect(dsn, autocommit=True) as connection:
                connection.execute("SET gpudb.fallback = off")
                while not over.is_set():
                    at = time.perf_counter()
                    begun.set()
                    answer = connection.execute(sql.encode()).fetchall()
                    runs.add(time.perf_counter() - at, answer, timed=not over.is_set())
        except BaseException as error:
            failed.append(error)
            begun.set()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    begun.wait()
    try:
        yield
    finally:
        over.set()
        thread.join(ENDING_S)
    if failed:
        raise failed[0]
    if thread.is_alive():
        raise TimeoutError(f"a statement has not ended after {ENDING_S:.0f} s")


def quantile(seconds: Sequence[float], share: float) -> float:
    """Returns the time within which a share of the runs had their answer."""
    return sorted(seconds)[min(int(share * len(seconds)), len(seconds) - 1)]


def result_row(case: str, system: str, runs: ClientRuns, rows: int, more: str = "") -> Row:
    """A row of results with a note on the slowest runs."""
    note = f"95% within {1000 * quantile(runs.seconds, 0.95):.2f} ms, all within {1000 * max(runs.seconds):.2f}{more}"
    result_rows = len(runs.answer or [])
    made = make_row(case, system, runs.seconds, rows, result_rows=result_rows, note=note)
    made.answers_agree = False if runs.wrong else None
    print(f"{case}, {system}: {1000 * (made.median_s or 0):.2f} ms of {made.runs} runs, {note}", flush=True)
    return made


def explain_fast_path(system: Wire, sql: str) -> str:
    """Returns whether the fast path answers a statement, and its work on the host, by EXPLAIN."""
    lines = [str(line).strip() for (line,) in system.query(f"EXPLAIN (ANALYZE) {sql}")]
    return "".join(f"; {line}" for line in lines if line.startswith(("Fast Path:", "On Host:")))


def measure(
    system: Wire, statements_by_name: dict[str, Statement], each_s: float, keep: Callable[[list[Row]], None]
) -> dict[str, ClientRuns]:
    """Times every statement alone and side by side; calls `keep` with the rows so far. Returns the runs alone."""
    rows: list[Row] = []
    alone: dict[str, ClientRuns] = {}
    for name, each in statements_by_name.items():
        run = lambda sql=each.sql: system.query(sql)  # noqa: E731
        runs = ClientRuns(run())
        for _ in range(1 if name == LONG else WARM):
            run()
        alone[name] = repeat(run, each_s / 2, runs)
        rows.append(result_row(name, ALONE, runs, each.rows, explain_fast_path(system, each.sql)))
        keep(rows)
    long = statements_by_name[LONG]
    for name, each in statements_by_name.items():
        if name == LONG:
            continue
        beside, longs = ClientRuns(alone[name].answer), ClientRuns(alone[LONG].answer)
        with concurrent_client(system.dsn, long.sql, longs):
            repeat(lambda sql=each.sql: system.query(sql), each_s, beside)
        times = statistics.median(beside.seconds) / statistics.median(alone[name].seconds)
        rows.append(result_row(name, BESIDE, beside, each.rows, f"; {times:.2f} times its time alone"))
        times = statistics.median(longs.seconds) / statistics.median(alone[LONG].seconds)
        rows.append(
            result_row(f"{LONG} beside {name}", BESIDE, longs, long.rows, f"; {times:.2f} times its time alone")
        )
        keep(rows)
    return alone


def check_answers(rows: list[Row], asked: dict[str, Statement], alone: dict[str, ClientRuns], data: Path) -> None:
    """Marks rows by whether all answers of their statement were the embedded engine's over the same tables."""
    with contextlib.closing(Gpudb(data)) as embedded:
        for name, each in asked.items():
            begun = time.perf_counter()
            right = answers_equal(embedded.query(each.same or each.sql), alone[name].answer or [])
            print(f"{name}: {'agrees' if right else 'DIFFERS'}, {time.perf_counter() - begun:.1f} s", flush=True)
            for runs in rows:
                if runs.case == name or (name == LONG and runs.case.startswith(LONG)):
                    runs.answers_agree = right and runs.answers_agree is not False


def create_tables(system: Wire, suites: Sequence[tables.Suite], small: int) -> None:
    """Adopts the suites' tables, and creates the small one."""
    for suite in suites:
        system.adopt(tables.adopted_schema(suite), suite.tables)
    system.query_none(SMALL.format(rows=small))
    system.query_none("SET gpudb.fallback = off")


def main(arguments: list[str] | None = None) -> int:
    """Returns status 1 if an answer was wrong."""
    from gpudb.cli import machine

    parser = argparse.ArgumentParser(description="short statements beside a long one on one GPU")
    parser.add_argument("--rows", type=int, default=200_000_000, help="rows of the long statement")
    parser.add_argument("--scale", type=float, default=10, help="scale of the star schema benchmark")
    parser.add_argument("--small", type=int, default=1_000_000, help="rows of the small table")
    parser.add_argument("--each", type=float, default=5.0, help="seconds for each short statement")
    parser.add_argument("--data", type=Path, default=Path(tempfile.gettempdir()) / "gpudb-benchmarks")
    parser.add_argument("--machine")
    options = parser.parse_args(arguments)
    engine = "gpu" if machine.select_engine(machine.query_gpus())[0] == "gpu" else "twin"
    lines, wide = tables.ssb_lines(options.scale, options.data), tables.exchange(options.rows / 6e6, options.data)
    asked = statements(tables.count_rows(lines.tables["lineorder"]), options.rows, options.small)
    rows: list[Row] = []
    versions: dict[str, str] = {}

    def keep(found: list[Row]) -> None:
        rows[:] = found
        save_results("beside", rows, versions, options.machine, "gpu.beside")

    with tempfile.TemporaryDirectory(prefix="gpudb-beside-", dir=options.data) as folder:
        data = Path(folder) / "data"
        with gpudb_server(data, engine, 1) as system:
            versions["gpudb"] = system.version
            create_tables(system, [lines, wide], options.small)
            alone = measure(system, asked, options.each, keep)
        check_answers(rows, asked, alone, data)
        keep(list(rows))
    report.main()
    return 0 if all(each.answers_agree for each in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
