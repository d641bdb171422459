"""Text columns of many and of few distinct texts: first touch and later runs, on a GPU beside DuckDB, over made data.

80 % of the addresses are distinct, 30 % of the titles, and 90 % of the phrases are empty; `kind` has 50 texts. A
statement's first run on gpudb reads its columns, and builds their dictionaries if they get any. Answers are compared.
DuckDB holds its table in memory.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import duckdb

from benchmarks.harness import answers_equal
from benchmarks.systems import DuckDb, System, gpudb_server

MADE = """
SELECT i AS id,
  'https://site' || hash(i) % 997 || '.example/page/' || hash(i + 1) % {addresses} AS address,
  'Title of ' || hash(i + 2) % {titles} || ' in ' || hash(i + 2) % {titles} % 89 AS title,
  CASE WHEN i % 10 = 0 THEN 'phrase ' || hash(i + 3) % {rows} ELSE '' END AS phrase,
  'kind ' || i % 50 AS kind
FROM range({rows}) r(i)
"""
SCHEMA = "CREATE TABLE texts (id bigint, address text, title text, phrase text, kind text)"
CASES = {
    "few: group": "SELECT kind, count(*) FROM texts GROUP BY kind ORDER BY kind",
    "like": "SELECT count(*) FROM texts WHERE address LIKE '%/page/77%'",
    "equal": "SELECT count(*) FROM texts WHERE title = 'Title of 7 in 7'",
    "in": "SELECT count(*) FROM texts WHERE phrase IN ('phrase 1', 'phrase 22', 'phrase 333')",
    "not empty": "SELECT count(*) FROM texts WHERE phrase <> ''",
    "less": "SELECT count(*) FROM texts WHERE address < 'https://site5'",
    "length": "SELECT sum(length(address)) FROM texts",
    "min and max": "SELECT min(address), max(title) FROM texts",
    "upper": "SELECT count(*) FROM texts WHERE upper(title) LIKE '%IN 77'",
    "group phrases": "SELECT phrase, count(*) n FROM texts WHERE phrase <> '' GROUP BY 1 ORDER BY n DESC, 1 LIMIT 10",
    "group titles": "SELECT title, count(*) n FROM texts GROUP BY 1 ORDER BY n DESC, 1 LIMIT 10",
    "group addresses": "SELECT address, count(*) n FROM texts GROUP BY 1 ORDER BY n DESC, 1 LIMIT 10",
    "distinct": "SELECT count(DISTINCT address) FROM texts",
    "top": "SELECT address, id FROM texts ORDER BY address, id LIMIT 10",
    "regexp": r"SELECT count(DISTINCT regexp_replace(address, '^https://([^/]+)/.*$', '\1')) FROM texts",
}


def make_files(rows: int, folder: Path) -> None:
    """Writes the table as Parquet files: `hash` draws from as many texts as leave the shares above distinct."""
    # Of n draws out of m texts m * (1 - exp(-n / m)) are distinct: addresses are 997 sites times pages.
    sql = MADE.format(rows=rows, addresses=max(round(rows * 2.23 / 997), 1), titles=max(round(rows * 0.313), 1))
    with duckdb.connect() as maker:
        maker.execute(f"COPY ({sql}) TO '{folder}' (FORMAT parquet, PER_THREAD_OUTPUT true)")


def measure(system: System, case: str, runs: int) -> tuple[list[float], object]:
    """Runs a case; the seconds of each run, and its last answer or its error."""
    times: list[float] = []
    answer: object = None
    for _ in range(runs):
        started = time.perf_counter()
        try:
            answer = system.query(CASES[case])
        except Exception as error:  # a case that fails is shown as failed, and the others still run
            return [], error
        times.append(time.perf_counter() - started)
    return times, answer


def main() -> int:
    """Prints first and best later times of both systems; 1 if a case fails or answers differ."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--engine", default="gpu", choices=("gpu", "twin"))
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--case", action="append", choices=tuple(CASES), help="only this case; may be repeated")
    options = parser.parse_args()
    cases = options.case or list(CASES)
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="gpudb-texts-") as name:
        folder = Path(name) / "texts"
        folder.mkdir()
        make_files(options.rows, folder)
        peer = DuckDb()
        started = time.perf_counter()
        peer.load([SCHEMA], {"texts": folder}, [])
        print(f"DuckDB loads {options.rows} rows in {time.perf_counter() - started:.1f} s")
        with gpudb_server(engine=options.engine, workers=options.workers) as server:
            server.adopt([SCHEMA], {"texts": folder})
            for case in cases:
                (ours, found), (theirs, wanted) = (measure(each, case, options.runs) for each in (server, peer))
                if not ours or not theirs:
                    wrong += 1
                    print(f"{case:18}failed: gpudb {'ran' if ours else found}, DuckDB {'ran' if theirs else wanted}")
                    continue
                agree = answers_equal(found, wanted)  # type: ignore[arg-type]
                wrong += not agree
                print(
                    f"{case:18}gpudb first {ours[0]:8.3f} s, later {min(ours[1:] or ours):8.3f} s   "
                    f"DuckDB first {theirs[0]:8.3f} s, later {min(theirs[1:] or theirs):8.3f} s"
                    f"{'' if agree else '   ANSWERS DIFFER'}"
                )
        peer.close()
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
