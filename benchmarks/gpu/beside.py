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
from benchmarks.harness import Answer, Row, agree, row_of, save
from benchmarks.systems import Gpudb, Wire, gpudb_server

WARM = 5
LEAST = 3
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
class Told:
    """A client's runs: seconds of each, the first answer, and the number of later ones that differ from it."""

    answer: Answer | None = None
    seconds: list[float] = field(default_factory=list)
    wrong: int = 0

    def add(self, seconds: float, answer: Answer, *, timed: bool = True) -> None:
        """Records a run."""
        self.seconds += [seconds] if timed or not self.seconds else []
        if self.answer is None:
            self.answer = answer
        self.wrong += not agree(answer, self.answer)


def repeated(run: Callable[[], Answer], seconds: float, told: Told) -> Told:
    """Repeats a statement for some seconds."""
    ends = time.perf_counter() + seconds
    first = len(told.seconds)
    while len(told.seconds) - first < LEAST or time.perf_counter() < ends:
        begun = time.perf_counter()
        answer = run()
        told.add(time.perf_counter() - begun, answer)
    return told


@contextlib.contextmanager
def another(dsn: str, sql: str, told: Told) -> Iterator[None]:
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
                    told.add(time.perf_counter() - at, answer, timed=not over.is_set())
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


def within(seconds: Sequence[float], share: float) -> float:
    """Returns the time within which a share of the runs had their answer."""
    return sorted(seconds)[min(int(share * len(seconds)), len(seconds) - 1)]


def row(case: str, system: str, told: Told, rows: int, more: str = "") -> Row:
    """A row of results with a note on the slowest runs."""
    note = f"95% within {1000 * within(told.seconds, 0.95):.2f} ms, all within {1000 * max(told.seconds):.2f}{more}"
    result_rows = len(told.answer or [])
    made = row_of(case, system, told.seconds, rows, result_rows=result_rows, note=note)
    made.answers_agree = False if told.wrong else None
    print(f"{case}, {system}: {1000 * (made.median_s or 0):.2f} ms of {made.runs} runs, {note}", flush=True)
    return made


def explained(system: Wire, sql: str) -> str:
    """Returns whether the fast path answers a statement, and its work on the host, by EXPLAIN."""
    lines = [str(line).strip() for (line,) in system.query(f"EXPLAIN (ANALYZE) {sql}")]
    return "".join(f"; {line}" for line in lines if line.startswith(("At Once:", "On Host:")))


def measured(
    system: Wire, asked: dict[str, Statement], each_s: float, keep: Callable[[list[Row]], None]
) -> dict[str, Told]:
    """Times every statement alone and side by side; calls `keep` with the rows so far. Returns the runs alone."""
    rows: list[Row] = []
    alone: dict[str, Told] = {}
    for name, each in asked.items():
        run = lambda sql=each.sql: system.query(sql)  # noqa: E731
        told = Told(run())
        for _ in range(1 if name == LONG else WARM):
            run()
        alone[name] = repeated(run, each_s / 2, told)
        rows.append(row(name, ALONE, told, each.rows, explained(system, each.sql)))
        keep(rows)
    long = asked[LONG]
    for name, each in asked.items():
        if name == LONG:
            continue
        beside, longs = Told(alone[name].answer), Told(alone[LONG].answer)
        with another(system.dsn, long.sql, longs):
            repeated(lambda sql=each.sql: system.query(sql), each_s, beside)
        times = statistics.median(beside.seconds) / statistics.median(alone[name].seconds)
        rows.append(row(name, BESIDE, beside, each.rows, f"; {times:.2f} times its time alone"))
        times = statistics.median(longs.seconds) / statistics.median(alone[LONG].seconds)
        rows.append(row(f"{LONG} beside {name}", BESIDE, longs, long.rows, f"; {times:.2f} times its time alone"))
        keep(rows)
    return alone


def checked(rows: list[Row], asked: dict[str, Statement], alone: dict[str, Told], data: Path) -> None:
    """Marks rows by whether all answers of their statement were the embedded engine's over the same tables."""
    with contextlib.closing(Gpudb(data)) as embedded:
        for name, each in asked.items():
            begun = time.perf_counter()
            good = agree(embedded.query(each.same or each.sql), alone[name].answer or [])
            print(f"{name}: {'agrees' if good else 'DIFFERS'}, {time.perf_counter() - begun:.1f} s", flush=True)
            for told in rows:
                if told.case == name or (name == LONG and told.case.startswith(LONG)):
                    told.answers_agree = good and told.answers_agree is not False


def made(system: Wire, suites: Sequence[tables.Suite], small: int) -> None:
    """Adopts the suites' tables, and creates the small one."""
    for suite in suites:
        system.adopt(tables.adopted(suite), suite.tables)
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
    engine = "gpu" if machine.engine_of(machine.gpus())[0] == "gpu" else "twin"
    lines, wide = tables.ssb_lines(options.scale, options.data), tables.exchange(options.rows / 6e6, options.data)
    asked = statements(tables.rows_of(lines.tables["lineorder"]), options.rows, options.small)
    rows: list[Row] = []
    versions: dict[str, str] = {}

    def keep(found: list[Row]) -> None:
        rows[:] = found
        save("beside", rows, versions, options.machine, "gpu.beside")

    with tempfile.TemporaryDirectory(prefix="gpudb-beside-", dir=options.data) as folder:
        data = Path(folder) / "data"
        with gpudb_server(data, engine, 1) as system:
            versions["gpudb"] = system.version
            made(system, [lines, wide], options.small)
            alone = measured(system, asked, options.each, keep)
        checked(rows, asked, alone, data)
        keep(list(rows))
    report.main()
    return 0 if all(each.answers_agree for each in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
