"""A web log with text columns of many and of few distinct texts: first runs and later ones, on a GPU beside DuckDB.

    python -m benchmarks.bench_web_log [--rows 100000000] [--engine gpu|twin] [--case NAME] [--machine h200x1]

80 % of the addresses are distinct, 30 % of the titles, 90 % of the phrases and 60 % of the referers are empty; `kind`
has 50 texts. A statement's first run on gpudb reads its columns, and builds their dictionaries if they get any; the
server is fresh. Answers are compared. DuckDB holds its table in memory.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from statistics import median

import duckdb

from benchmarks.harness import Row, answers_equal, save_results
from benchmarks.systems import DuckDb, System, gpudb_server

MADE = """
SELECT i AS id,
  'https://site' || hash(i) % 997 || '.example/page/' || hash(i + 1) % {addresses} AS address,
  'Title of ' || hash(i + 2) % {titles} || ' in ' || hash(i + 2) % {titles} % 89 AS title,
  CASE WHEN i % 10 = 0 THEN 'phrase ' || hash(i + 3) % {rows} ELSE '' END AS phrase,
  CASE WHEN hash(i + 4) % 5 < 3 THEN '' ELSE 'https://from' || hash(i + 4) % 20011 || '.example/' || hash(i + 5) % 1009
    END AS referer,
  'kind ' || i % 50 AS kind,
  (hash(i + 6) % {users})::bigint AS user_id,
  (hash(i + 7) % 5000)::int AS region, (hash(i + 8) % 3000)::smallint AS width,
  (hash(i + 9) % 2)::smallint AS mobile, date '2026-01-01' + (hash(i + 10) % 90)::int AS day,
  timestamp '2026-01-01' + to_seconds((hash(i + 11) % 7776000)::int) AS asked
FROM range({rows}) r(i)
"""
SCHEMA = (
    "CREATE TABLE texts (id bigint, address text, title text, phrase text, referer text, kind text, user_id bigint,"
    " region int, width smallint, mobile smallint, day date, asked timestamp)"
)
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
    "count": "SELECT count(*) FROM texts",
    "filter": "SELECT count(*) FROM texts WHERE mobile <> 0",
    "sums": "SELECT sum(width), count(*), avg(width), sum(user_id % 1000) FROM texts",
    "distinct users": "SELECT count(DISTINCT user_id) FROM texts",
    "distinct phrases": "SELECT count(DISTINCT phrase) FROM texts",
    "days": "SELECT min(day), max(day) FROM texts",
    "group mobile": "SELECT mobile, count(*) FROM texts WHERE mobile <> 0 GROUP BY mobile ORDER BY 2 DESC",
    "users of regions": "SELECT region, count(DISTINCT user_id) u FROM texts GROUP BY 1 ORDER BY u DESC, 1 LIMIT 10",
    "four of regions": "SELECT region, sum(mobile), count(*) c, avg(width), count(DISTINCT user_id) FROM texts"
    " GROUP BY region ORDER BY c DESC, 1 LIMIT 10",
    "users of phrases": "SELECT phrase, count(DISTINCT user_id) u FROM texts WHERE phrase <> '' GROUP BY phrase"
    " ORDER BY u DESC, 1 LIMIT 10",
    "group users": "SELECT user_id, count(*) n FROM texts GROUP BY user_id ORDER BY n DESC, 1 LIMIT 10",
    "group users, phrases": "SELECT user_id, phrase, count(*) n FROM texts GROUP BY 1, 2"
    " ORDER BY n DESC, 1, 2 LIMIT 10",
    "group minutes": "SELECT user_id, extract(minute FROM asked) m, phrase, count(*) n FROM texts WHERE mobile = 1"
    " GROUP BY 1, 2, 3 ORDER BY n DESC, 1, 2, 3 LIMIT 10",
    "one user": "SELECT count(*) FROM texts WHERE user_id = 4711",
    "like, group": "SELECT phrase, min(address), count(*) c FROM texts WHERE address LIKE '%site7%' AND phrase <> ''"
    " GROUP BY phrase ORDER BY c DESC, 1 LIMIT 10",
    "two likes": "SELECT phrase, min(address), min(title), count(*) c, count(DISTINCT user_id) FROM texts"
    " WHERE title LIKE '%in 7%' AND address NOT LIKE '%site9%' AND phrase <> ''"
    " GROUP BY phrase ORDER BY c DESC, 1 LIMIT 10",
    "all columns": "SELECT * FROM texts WHERE address LIKE '%/page/777%' ORDER BY asked, id LIMIT 10",
    "phrases by time": "SELECT phrase FROM texts WHERE phrase <> '' ORDER BY asked, phrase LIMIT 10",
    "phrases sorted": "SELECT phrase FROM texts WHERE phrase <> '' ORDER BY phrase LIMIT 10",
    "lengths of regions": "SELECT region, avg(length(address)) l, count(*) c FROM texts WHERE address <> ''"
    " GROUP BY region HAVING count(*) > 100 ORDER BY l DESC, 1 LIMIT 25",
    "hosts of referers": r"SELECT regexp_replace(referer, '^https?://(?:www\.)?([^/]+)/.*$', '\1') k,"
    " avg(length(referer)) l, count(*) c, min(referer) FROM texts WHERE referer <> ''"
    " GROUP BY k ORDER BY l DESC, 1 LIMIT 25",
    "many sums": f"SELECT {', '.join(f'sum(width + {number})' for number in range(30))} FROM texts",
    "group region, width": "SELECT region, width, count(*) c, sum(mobile), avg(width) FROM texts WHERE phrase <> ''"
    " GROUP BY region, width ORDER BY c DESC, 1, 2 LIMIT 10",
    "constant and address": "SELECT 1, address, count(*) c FROM texts GROUP BY 1, 2 ORDER BY c DESC, 2 LIMIT 10",
    "offset": "SELECT title, count(*) v FROM texts WHERE day BETWEEN '2026-02-01' AND '2026-02-28' AND mobile = 0"
    " AND referer = '' GROUP BY title ORDER BY v DESC, 1 LIMIT 10 OFFSET 1000",
    "case": "SELECT CASE WHEN mobile = 0 AND region = 7 THEN referer ELSE '' END src, address, count(*) v FROM texts"
    " WHERE day >= '2026-03-01' GROUP BY src, address ORDER BY v DESC, 1, 2 LIMIT 10",
    "per minute": "SELECT date_trunc('minute', asked) m, count(*) FROM texts"
    " WHERE day BETWEEN '2026-03-01' AND '2026-03-02' GROUP BY m ORDER BY m LIMIT 10 OFFSET 1000",
}


def make_files(rows: int, folder: Path) -> None:
    """Writes the table as Parquet files: `hash` draws from as many texts as leave the shares above distinct."""
    # Of n draws out of m texts m * (1 - exp(-n / m)) are distinct: addresses are 997 sites times pages.
    addresses, titles = max(round(rows * 2.23 / 997), 1), max(round(rows * 0.313), 1)
    sql = MADE.format(rows=rows, addresses=addresses, titles=titles, users=max(rows // 5, 1))
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
    """Prints, and with --machine keeps, first and best later times of both systems; 1 if a case fails or answers
    differ.
    """
    parser = argparse.ArgumentParser(description="A web log on a GPU beside DuckDB")
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--engine", default="gpu", choices=("gpu", "twin"))
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--case", action="append", choices=tuple(CASES), help="only this case; may be repeated")
    parser.add_argument("--machine", help="keep the results under this label, such as h200x1")
    options = parser.parse_args()
    rows: list[Row] = []
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="gpudb-web-log-") as name:
        folder = Path(name) / "texts"
        folder.mkdir()
        make_files(options.rows, folder)
        peer = DuckDb()
        started = time.perf_counter()
        peer.load([SCHEMA], {"texts": folder}, [])
        print(f"DuckDB loads {options.rows} rows in {time.perf_counter() - started:.1f} s")
        with gpudb_server(engine=options.engine, workers=options.workers) as server:
            server.adopt([SCHEMA], {"texts": folder})
            for case in options.case or list(CASES):
                (ours, found), (theirs, wanted) = (measure(each, case, options.runs) for each in (server, peer))
                if not ours or not theirs:
                    wrong += 1
                    print(f"{case:20}failed: gpudb {'ran' if ours else found}, DuckDB {'ran' if theirs else wanted}")
                    continue
                agree = answers_equal(found, wanted)  # type: ignore[arg-type]
                wrong += not agree
                print(
                    f"{case:20}gpudb first {ours[0]:8.3f} s, later {min(ours[1:] or ours):8.3f} s   "
                    f"DuckDB first {theirs[0]:8.3f} s, later {min(theirs[1:] or theirs):8.3f} s"
                    f"{'' if agree else '   ANSWERS DIFFER'}",
                    flush=True,
                )
                for system, times in ((f"gpudb {options.engine}", ours), ("duckdb", theirs)):
                    for kind, spent in (("first", times[:1]), ("hot", times[1:] or times)):
                        figures = median(spent), min(spent), len(spent), options.rows
                        rows.append(Row(f"{case}, {kind}", system, *figures, answers_agree=agree))
        peer.close()
    for system in (f"gpudb {options.engine}", "duckdb"):
        for kind in ("first", "hot"):
            spent = [row.min_s or 0.0 for row in rows if row.system == system and row.case.endswith(f", {kind}")]
            print(f"{system:12}{kind:6}{sum(spent):8.2f} s in total, at most {max(spent, default=0):.2f} s")
    if options.machine:
        print(save_results("web-log", rows, {"duckdb": duckdb.__version__}, options.machine, "bench_web_log"))
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
