"""PL/pgSQL beside PostgreSQL: loops of arithmetic, of rows, of statements and of handled errors, and triggers.

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

_AUDIT = "INSERT INTO bench_audit VALUES (tg_op, new.id, new.name, now()); RETURN NULL;"
_COUNT = "PERFORM count(*) FROM generate_series(1, new.id % 5); RETURN NULL;"
TRIGGERS = {
    "no trigger": (20_000, "", ""),
    "before row": (
        20_000,
        "BEFORE INSERT ON bench_rows FOR EACH ROW",
        "IF new.name IS NULL THEN new.name := 'none'; END IF; new.held := new.held * 2; RETURN new;",
    ),
    "after row": (20_000, "AFTER INSERT ON bench_rows FOR EACH ROW", _AUDIT),
    "after statement": (
        20_000,
        "AFTER INSERT ON bench_rows REFERENCING NEW TABLE AS added FOR EACH STATEMENT",
        "INSERT INTO bench_audit SELECT tg_op, id, name, now() FROM added; RETURN NULL;",
    ),
    "row by row": (500, "AFTER INSERT ON bench_rows FOR EACH ROW", _COUNT),
}
"""By case: the rows of an INSERT, the trigger, and the body of its function."""


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


def measure_triggers(system: Wire) -> tuple[list[Row], dict[tuple[str, str], Answer]]:
    """Times an INSERT of rows under each trigger on a system; its rows, and what the tables hold afterwards."""
    rows, answers = [], {}
    run = system.connection.execute
    run(b"CREATE TABLE bench_rows (id int, name text, held int)")
    run(b"CREATE TABLE bench_audit (op text, id int, name text, at timestamptz)")
    for case, (size, declared, body) in TRIGGERS.items():
        name = "bench_" + case.replace(" ", "_")
        if declared:
            run(f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} END $$".encode())
            run(f"CREATE TRIGGER bench {declared} EXECUTE FUNCTION {name}()".encode())
        sql = f"INSERT INTO bench_rows SELECT g, 'n' || g, g FROM generate_series(1, {size}) g".encode()

        def insert(sql: bytes = sql) -> Answer:
            run(b"TRUNCATE bench_rows, bench_audit")
            run(sql)
            return run(b"SELECT count(*), sum(held), (SELECT count(*) FROM bench_audit) FROM bench_rows").fetchall()

        times, answer = time_runs(insert, warm=1, budget_s=20)
        rows.append(make_row(case, system.name, times, size, result_rows=1))
        answers[case, system.name] = answer
        if declared:
            run(b"DROP TRIGGER bench ON bench_rows")
    return rows, answers


def main() -> int:
    """Measures both systems and prints their times; 1 if answers differ or the additions take too long."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--machine", help="write results under this label")
    options = parser.parse_args()
    with postgres() as peer, gpudb_server() as server:
        versions = {"PostgreSQL": peer.version, "gpudb": server.version}
        rows, answers = [], {}
        for run in (measure, measure_triggers):
            for system in (peer, server):
                found, known = run(system)
                rows, answers = rows + found, answers | known
    check_answers(rows, answers, peer.name)
    times = {(row.case, row.system): row.median_s or 0.0 for row in rows}
    for case in (*CASES, *TRIGGERS):
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
