"""PL/pgSQL beside PostgreSQL: loops of arithmetic, of rows, of statements and of handled errors.

    python -m benchmarks.bench_plpgsql [--machine LABEL]

Each function returns what it has computed, and the answers are compared. A loop of a million additions is to take at
most three times PostgreSQL's time. With --machine results are written to results/plpgsql.MACHINE.json.
"""

from __future__ import annotations

import argparse
import sys

from benchmarks.harness import Answer, Row, check_answers, make_row, save_results, time_runs
from benchmarks.systems import Wire, gpudb_server, postgres

CASES = {
    "additions": (1_000_000, "x int := 0", "FOR i IN 1..n LOOP x := x + 1; END LOOP; RETURN x;"),
    "while": (1_000_000, "x int := 0; i int := 0", "WHILE i < n LOOP i := i + 1; x := x + i % 7; END LOOP; RETURN x;"),
    "conditions": (
        300_000,
        "x int := 0",
        "FOR i IN 1..n LOOP IF i % 3 = 0 AND i % 5 <> 0 THEN x := x + 1; ELSE x := x - 1; END IF; END LOOP; RETURN x;",
    ),
    "numeric": (300_000, "x numeric := 0", "FOR i IN 1..n LOOP x := x + 1.25; END LOOP; RETURN x;"),
    "text": (100_000, "x text", "FOR i IN 1..n LOOP x := 'row ' || i; END LOOP; RETURN length(x);"),
    "array": (
        100_000,
        "a int[] := '{}'; x int := 0",
        "FOR i IN 1..n LOOP a[i % 100 + 1] := i; x := x + a[i % 7 + 1] % 10; END LOOP; RETURN x;",
    ),
    "rows": (
        50_000,
        "r record; x bigint := 0",
        "FOR r IN SELECT g, g * 2 AS h FROM generate_series(1, n) g LOOP x := x + r.g + r.h; END LOOP; RETURN x;",
    ),
    "recursion": (18, "", "RETURN CASE WHEN n < 2 THEN n ELSE recursion(n - 1) + recursion(n - 2) END;"),
    "queries": (
        200,
        "c int; x int := 0",
        "FOR i IN 1..n LOOP SELECT count(*) INTO c FROM generate_series(1, i) g; x := x + c; END LOOP; RETURN x;",
    ),
    "handled errors": (
        2_000,
        "x int := 0",
        "FOR i IN 1..n LOOP BEGIN x := x + 1 / (i - i); EXCEPTION WHEN division_by_zero THEN x := x + 2; END; END LOOP;"
        " RETURN x;",
    ),
}
"""By case: the argument, the declarations and the body."""


def measure(system: Wire) -> tuple[list[Row], dict[tuple[str, str], Answer]]:
    """Times each case on a system; its rows and answers."""
    rows, answers = [], {}
    for case, (size, declarations, body) in CASES.items():
        name = "recursion" if case == "recursion" else "bench_" + case.replace(" ", "_")
        declared = f"DECLARE {declarations};" if declarations else ""
        system.connection.execute(
            f"CREATE FUNCTION {name}(n int) RETURNS bigint LANGUAGE plpgsql AS "
            f"$$ {declared} BEGIN {body} END $$".encode()
        )
        sql = f"SELECT {name}({size})".encode()
        times, answer = time_runs(lambda sql=sql: system.connection.execute(sql).fetchall(), warm=1, budget_s=20)
        rows.append(make_row(case, system.name, times, size, result_rows=1))
        answers[case, system.name] = answer
    return rows, answers


def main() -> int:
    """Measures both systems and prints their times; 1 if answers differ or the additions take too long."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--machine", help="write results under this label")
    options = parser.parse_args()
    with postgres() as peer, gpudb_server() as server:
        versions = {"PostgreSQL": peer.version, "gpudb": server.version}
        rows, answers = measure(peer)
        own_rows, own_answers = measure(server)
    rows, answers = rows + own_rows, answers | own_answers
    check_answers(rows, answers, peer.name)
    times = {(row.case, row.system): row.median_s or 0.0 for row in rows}
    for case in CASES:
        theirs, ours = times[case, peer.name], times[case, server.name]
        print(f"{case:16}PostgreSQL {1000 * theirs:8.1f} ms   gpudb {1000 * ours:8.1f} ms   {ours / theirs:6.1f} times")
    if options.machine:
        save_results("plpgsql", rows, versions, options.machine, "bench_plpgsql")
    if not all(row.answers_agree for row in rows):
        print("answers differ")
        return 1
    return 0 if times["additions", server.name] <= 3 * times["additions", peer.name] else 1


if __name__ == "__main__":
    sys.exit(main())
