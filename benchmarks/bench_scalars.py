"""Every documented scalar function over a table of distinct rows, on the engines cpu and twin beside PostgreSQL.

    python -m benchmarks.bench_scalars [--rows N] [--engines cpu twin] [--only REGEX] [--worst N] [--save]

Each call of an overload is reduced to one row by an aggregate, so that no result travels and none is pruned. Times are
the shortest of a few runs, after one that compiles the statement; a call that looks slow is measured again. Values of
every 97th row are compared with PostgreSQL's. Calls that cannot be measured are listed with their errors. `--save`
writes results/scalars.MACHINE.json. The program fails if an answer differs or a ratio exceeds 5.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import psycopg

from benchmarks.harness import Answer, Row, answers_equal, make_row, save_results
from benchmarks.scalar_calls import ScalarCall, list_calls, list_columns, make_table
from benchmarks.systems import Wire, gpudb_server, postgres

MAX_RATIO = 5.0
_LIMIT_S = 60
_RUNS, _MORE_RUNS = 2, 4
_NOTABLE = 3.0
"""A call that takes so many times PostgreSQL's time is measured again."""


def _fill(peer: Wire, systems: list[Wire], rows: int) -> None:
    """Makes the table on PostgreSQL, and copies it to the others."""
    peer.query_none(make_table(rows))
    peer.query_none("VACUUM ANALYZE scalars")
    for system in systems:
        system.query_none(f"CREATE TABLE scalars ({list_columns()})")
        with (
            peer.connection.cursor().copy("COPY scalars TO STDOUT") as source,
            system.connection.cursor().copy("COPY scalars FROM STDIN") as sink,
        ):
            for piece in source:
                sink.write(piece)


def _time(system: Wire, sql: str, runs: int) -> list[float]:
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        system.query_none(sql)
        times.append(time.perf_counter() - start)
    return times


def _choose(peer: Wire, call: ScalarCall) -> str:
    """Returns the first of the call's expressions that PostgreSQL evaluates for all rows; raises its last error."""
    for expression in call.expressions:
        try:
            peer.query_none(f"SELECT {call.reduce(expression, call.result)} FROM scalars")
        except psycopg.Error as error:
            problem = error
        else:
            return expression
    raise problem


def _sample(system: Wire, expression: str) -> Answer:
    """Returns the call's values of some rows as texts, or as floats, which may differ in their last digit."""
    rows = system.query(f"SELECT int4_0, {expression} FROM scalars WHERE int4_0 % 97 = 0")
    return [(key, value if isinstance(value, float) else repr(value)) for key, value in rows]


def _measure(call: ScalarCall, peer: Wire, systems: list[Wire], table_rows: int, problems: list[str]) -> Iterator[Row]:
    try:
        expression = _choose(peer, call)
        expected = _sample(peer, expression)
    except psycopg.Error as error:
        problems.append(f"{call.label}: PostgreSQL: {str(error).splitlines()[0]}")
        return
    sql = f"SELECT {call.reduce(expression, call.result)} FROM scalars"
    theirs = _time(peer, sql, _RUNS)
    for system in systems:
        try:
            agree = answers_equal(_sample(system, expression), expected)
            ours = _time(system, sql, 1 + _RUNS)[1:]
            if min(ours) > _NOTABLE * min(theirs):
                theirs += _time(peer, sql, _MORE_RUNS)
                ours += _time(system, sql, _MORE_RUNS if min(ours) < 1 else 1)
        except psycopg.Error as error:
            problems.append(f"{call.label}: {system.name}: {str(error).splitlines()[0]} ({expression})")
            continue
        yield make_row(call.label, system.name, ours, table_rows, answers_agree=agree, note=expression)
    yield make_row(call.label, peer.name, theirs, table_rows)


def _report(rows: list[Row], trusted: str, worst: int) -> int:
    """Prints the ratios by call, the largest first; returns how many exceed the limit or have other answers."""
    peers = {row.case: row for row in rows if row.system == trusted}
    ratios = [((row.min_s or 0.0) / (peers[row.case].min_s or 1.0), row) for row in rows if row.system != trusted]
    ratios.sort(key=lambda pair: -pair[0])
    print(f"{'ratio':>8} {'ms':>9} {'peer ms':>9}  {'system':14} call")
    for ratio, row in ratios[:worst]:
        ours, theirs = (1000 * (each.min_s or 0) for each in (row, peers[row.case]))
        print(f"{ratio:8.2f} {ours:9.1f} {theirs:9.1f}  {row.system:14} {row.case}")
    differing = [row for row in rows if row.answers_agree is False]
    for row in differing:
        print(f"answers differ: {row.system}: {row.case}: {row.note}")
    above = sum(ratio > MAX_RATIO for ratio, _ in ratios)
    print(f"{len(peers)} calls, {above} above {MAX_RATIO:g} times PostgreSQL, {len(differing)} answers differ")
    return above + len(differing)


def main() -> int:
    """Measures all calls on all systems; 1 if answers differ or a ratio exceeds the limit."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--engines", nargs="+", default=["cpu", "twin"], choices=("cpu", "twin"))
    parser.add_argument("--timezone", default="UTC", help="the sessions' TimeZone")
    parser.add_argument("--only", default="", help="calls that a regular expression finds")
    parser.add_argument("--worst", type=int, default=10_000, help="print so many ratios")
    parser.add_argument("--save", action="store_true", help="write results/scalars.MACHINE.json")
    options = parser.parse_args()
    rows: list[Row] = []
    problems: list[str] = []
    with ExitStack() as stack:
        peer = stack.enter_context(postgres())
        systems = [
            stack.enter_context(gpudb_server(engine=each, workers=2 * (each == "twin"))) for each in options.engines
        ]
        for system in (peer, *systems):
            system.query_none(f"SET TimeZone = '{options.timezone}'")
        _fill(peer, systems, options.rows)
        for system in (peer, *systems):
            system.query_none(f"SET statement_timeout = '{_LIMIT_S}s'")
        versions: dict[str, Any] = {"PostgreSQL": peer.version, "gpudb": systems[0].version}
        for call in list_calls():
            if re.search(options.only, call.label):
                made = list(_measure(call, peer, systems, options.rows, problems))
                rows += made
                times = (f"{row.system} {1000 * (row.min_s or 0):.1f} ms" for row in made)
                print(f"{call.label}: {', '.join(times) or problems[-1]}", file=sys.stderr, flush=True)
        failures = _report(rows, peer.name, options.worst)
    print("not measured:", *problems, sep="\n  ")
    if options.save:
        save_results("scalars", rows, versions, program="bench_scalars")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
