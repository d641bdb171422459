"""Changes of one row in a table of 10 million, and the scans after them, beside PostgreSQL.

    python -m benchmarks.bench_few_rows [--rows N] [--engine cpu|twin] [--machine LABEL]

Each round scans the table twice, deletes or updates one row by its key, and scans it twice again. Compared are the
median of the changes, which is to be under 100 ms for a deletion, and the median ratio of the scan right after a change
to the one right before, which is to be at most 1.05. The answers of all scans are compared with PostgreSQL's. With
--machine results are written to results/few_rows.MACHINE.json.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable

from benchmarks.harness import Answer, Row, check_answers, make_row, save_results
from benchmarks.systems import Wire, gpudb_server, postgres

ROUNDS, PEER_SCANS = 15, 3
"""Rounds of each case, and in how many of them PostgreSQL scans, which takes seconds."""
MAX_DELETE_S, MAX_RATIO = 0.1, 1.05
SCANS = {
    "sum": "SELECT count(*), sum(amount) FROM few",
    "groups": "SELECT kind, count(*), sum(amount), max(id) FROM few GROUP BY kind ORDER BY kind",
}
CHANGES = {"delete": "DELETE FROM few WHERE id = {}", "update": "UPDATE few SET amount = amount + 1 WHERE id = {}"}


def _time(run: Callable[[str], object], statement: str) -> float:
    start = time.perf_counter()
    run(statement)
    return time.perf_counter() - start


def measure(
    system: Wire, size: int, scanned: int, ratios: dict[tuple[str, str], list[float]]
) -> tuple[list[Row], dict[tuple[str, str], Answer]]:
    """Times all cases on a system; its rows and the answers of the last scans."""
    system.query_none("CREATE TABLE few (id bigint PRIMARY KEY, kind text, amount int, note text)")
    system.query_none(
        "INSERT INTO few SELECT i, 'kind ' || i % 50, i % 1000, 'note ' || i % 100003"
        f" FROM generate_series(1::bigint, {size}) i"
    )
    system.query_none("VACUUM ANALYZE few")
    rows: list[Row] = []
    answers: dict[tuple[str, str], Answer] = {}
    key = 1
    for change, statement in CHANGES.items():
        changed: list[float] = []
        for scan, query in SCANS.items():
            before: list[float] = []
            after: list[float] = []
            later: list[float] = []
            for number in range(ROUNDS):
                key = (key * 48271 + number) % size + 1
                if number < scanned:
                    system.query(query)
                    before.append(_time(system.query, query))
                changed.append(_time(system.query_none, statement.format(key)))
                if number < scanned:
                    after.append(_time(system.query, query))
                    later.append(_time(system.query, query))
            found = system.query(query)
            case = f"{scan} after {change}"
            answers[case, system.name] = found
            rows.append(make_row(case, system.name, after, size, result_rows=len(found)))
            rows.append(make_row(f"{scan} before {change}", system.name, before, size))
            rows.append(make_row(f"{scan} later after {change}", system.name, later, size))
            ratios[case, system.name] = [new / old for new, old in zip(after, before, strict=True)]
        rows.append(make_row(change, system.name, changed, size, result_rows=0))
    return rows, answers


def main() -> int:
    """Measures both systems and prints their times; 1 if answers differ or a limit is exceeded."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--engine", default="cpu", choices=("cpu", "twin"))
    parser.add_argument("--machine", help="write results under this label")
    options = parser.parse_args()
    ratios: dict[tuple[str, str], list[float]] = {}
    with postgres() as peer:
        rows, answers = measure(peer, options.rows, PEER_SCANS, ratios)
        versions = {"PostgreSQL": peer.version}
        trusted = peer.name
    with gpudb_server(engine=options.engine, workers=2 * (options.engine == "twin")) as server:
        own_rows, own_answers = measure(server, options.rows, ROUNDS, ratios)
        versions["gpudb"] = server.version
        own = server.name
    rows, answers = rows + own_rows, answers | own_answers
    check_answers(rows, answers, trusted)
    times = {(row.case, row.system): row.median_s or 0.0 for row in rows}
    for case in dict.fromkeys(row.case for row in rows):
        theirs, ours = times[case, trusted], times[case, own]
        print(f"{case:26}PostgreSQL {1000 * theirs:8.1f} ms   gpudb {1000 * ours:8.1f} ms")
    medians = {case: statistics.median(found) for case, found in ratios.items()}
    for (case, name), ratio in medians.items():
        print(f"{case:26}{name}: {ratio:.3f} times the scan before")
    if options.machine:
        save_results("few_rows", rows, versions, options.machine, "bench_few_rows")
    if any(row.answers_agree is False for row in rows):
        print("answers differ")
        return 1
    slower = any(ratio > MAX_RATIO for (_, name), ratio in medians.items() if name == own)
    return 1 if slower or times["delete", own] > MAX_DELETE_S else 0


if __name__ == "__main__":
    sys.exit(main())
