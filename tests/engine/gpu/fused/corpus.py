"""Queries and data that meet every kind of step, sink and expression: NULLs, skew, repeated keys, overflow, no rows."""

from __future__ import annotations

import random

from tests.engine.conftest import Lab

TABLES = (
    "CREATE TABLE f (a int, b bigint, s smallint, n numeric(9,2), w numeric(20,4), d date, ts timestamp, t text,"
    " c char(4), x double precision, y boolean, k int, j bigint)",
    "CREATE TABLE g (k int, name text, v int, m numeric(6,3), z double precision)",
    "CREATE TABLE h (k int, j bigint, r int, u text)",
)
QUERIES = (
    "SELECT count(*), count(a), sum(a), avg(a), min(a), max(a) FROM f",
    "SELECT sum(b), avg(b), min(b), max(b), sum(s), sum(n), avg(n), min(n), max(w), sum(w) FROM f",
    "SELECT sum(x), avg(x), min(x), max(x), count(x) FROM f WHERE x > -1e300",
    "SELECT k, count(*), sum(a), min(t), max(t), min(d), max(ts), min(y::int) FROM f GROUP BY k",
    "SELECT t, c, y, count(*), sum(n * 2) FROM f GROUP BY t, c, y",
    "SELECT d, count(*) FROM f WHERE d >= '1999-02-28' GROUP BY d",
    "SELECT b, count(*), sum(s) FROM f GROUP BY b",
    "SELECT b, j, w, ts, t, count(*), sum(a), max(x) FROM f GROUP BY b, j, w, ts, t",
    "SELECT extract(year from d), extract(month from d), extract(dow from d), count(*) FROM f GROUP BY 1, 2, 3",
    "SELECT extract(year from ts), extract(hour from ts), extract(doy from d), count(*) FROM f GROUP BY 1, 2, 3",
    "SELECT extract(minute from ts), extract(quarter from ts), extract(isodow from d), extract(day from d), count(*)"
    " FROM f GROUP BY 1, 2, 3, 4",
    "SELECT count(*) FROM f WHERE t LIKE '%a%' AND t <> 'ab' AND k IN (1, 2, 3, NULL)",
    "SELECT substring(t, 1, 1), length(t), count(*) FROM f WHERE t NOT LIKE 'b_' OR t IS NULL GROUP BY 1, 2",
    "SELECT count(*) FILTER (WHERE a > 0), sum(a) FILTER (WHERE y), sum(CASE WHEN y THEN n ELSE 1.25 END) FROM f",
    "SELECT sum(CASE WHEN a > 3 THEN b WHEN y THEN s ELSE NULL END), sum(coalesce(a, 7)) FROM f",
    "SELECT count(*) FROM f WHERE (a < 5 OR y) AND NOT (s > 2 AND n < 1.5) AND y IS NOT TRUE",
    "SELECT count(*) FROM f WHERE a IS DISTINCT FROM s AND x IS NOT NULL AND n + 1 > w - a",
    "SELECT cast(n AS int), count(*) FROM f GROUP BY 1",
    "SELECT sum(a + k), sum(a * k - s), sum(n * w), sum(-a), avg(n * (1 - n)) FROM f",
    "SELECT sum(a * 2147483647) FROM f",
    "SELECT count(*) FROM f WHERE a > 100 AND a * 2147483647 > 0",
    "SELECT sum(b * b) FROM f WHERE b < 3000000000",
    "SELECT sum(b * b) FROM f",
    "SELECT name, count(*), sum(f.a), sum(v) FROM f JOIN g ON f.k = g.k GROUP BY name",
    "SELECT name, sum(z), max(m), count(v) FROM f LEFT JOIN g ON f.k = g.k GROUP BY name",
    "SELECT r, u, count(*), sum(a) FROM f JOIN h ON f.k = h.k AND f.j = h.j GROUP BY r, u",
    "SELECT count(*), sum(r) FROM f LEFT JOIN h ON f.j = h.j",
    "SELECT count(*), sum(v), sum(r) FROM f JOIN g ON f.k = g.k LEFT JOIN h ON g.v = h.r WHERE g.v IS NOT NULL",
    "SELECT count(*), sum(a) FROM f WHERE EXISTS (SELECT 1 FROM h WHERE h.k = f.k)",
    "SELECT count(*), sum(a) FROM f WHERE NOT EXISTS (SELECT 1 FROM h WHERE h.k = f.k AND h.r > 1)",
    "SELECT count(*), sum(a) FROM f WHERE EXISTS (SELECT 1 FROM h WHERE h.k = f.k AND h.r <> f.a)",
    "SELECT k, count(*) FROM f WHERE NOT EXISTS (SELECT 1 FROM h WHERE h.j = f.j AND h.u > 'a' AND h.r < f.s) GROUP BY k",
    "SELECT count(*) FROM f WHERE EXISTS (SELECT 1 FROM g WHERE g.k = f.k AND g.v > f.a AND f.s < 100)",
    "SELECT k, count(DISTINCT b), sum(DISTINCT b) FROM f GROUP BY k",
    "SELECT count(DISTINCT t), avg(CASE WHEN y THEN n ELSE 0 END) FROM f",
    "SELECT count(DISTINCT t) FROM f WHERE a < 5",
    "SELECT k, avg(CASE WHEN y THEN n WHEN a > 3 THEN 0 END), sum(CASE WHEN a < 4 THEN n * 2 ELSE 1 END) FROM f GROUP BY k",
    "SELECT count(*) FROM f WHERE k NOT IN (SELECT v FROM g WHERE v IS NOT NULL)",
    "SELECT count(*) FROM f WHERE k NOT IN (SELECT v FROM g)",
    "SELECT count(*) FROM f WHERE t IN (SELECT name FROM g) AND t NOT IN (SELECT u FROM h WHERE u IS NOT NULL)",
    "SELECT name, count(*) FROM f JOIN g ON f.t = g.name GROUP BY name",
    "SELECT DISTINCT k, y FROM f",
    "SELECT count(*), sum(a), min(t) FROM f WHERE false",
    "SELECT k, min(x), max(x), sum(x) FROM f GROUP BY k",
    "SELECT k, sum(a) s FROM f GROUP BY k ORDER BY s DESC NULLS LAST, k LIMIT 3",
    "SELECT * FROM f WHERE a > 5 AND y",
    "SELECT n * 2, t, f.k, g.name, extract(year from d) FROM f JOIN g ON f.k = g.k WHERE s < 0",
    "SELECT a * 2147483647 FROM f WHERE s > 250",
    "SELECT b, a, s, t FROM f ORDER BY b DESC, a, s, t LIMIT 5",
    "SELECT x, t, a, s, b FROM f WHERE k = 3 ORDER BY x, t, a, s, b LIMIT 3 OFFSET 2",
    "SELECT t, n, w FROM f ORDER BY t DESC NULLS LAST, n, w LIMIT 7",
    "SELECT ts, f.a, v FROM f JOIN g ON f.k = g.k ORDER BY ts NULLS FIRST, a, v, s LIMIT 4",
    "SELECT w - n, a FROM f WHERE a IS NOT NULL ORDER BY w - n, a LIMIT 2",
    "SELECT y, d, a, b, s FROM f ORDER BY y, d, a, b, s LIMIT 400",
    "SELECT k, bool_and(y), bool_or(y), every(a < 5), bool_or(s > 280) FILTER (WHERE y) FROM f GROUP BY k",
    "SELECT a, x * a, x / 4 FROM f WHERE sqrt(a ^ 2 + s ^ 2) < 20 AND a * 1e3::float8 > s",
    "SELECT sqrt(a) FROM f WHERE s > 200",
    "SELECT sum(s / a::float8) FROM f WHERE k = 5",
    "SELECT sum(1e-200::float8 * (a * 1e-200::float8)) FROM f WHERE k = 4",
    "SELECT count(*) FROM f WHERE ts >= d AND d < timestamp '2003-01-01'",
)


def fill(lab: Lab, seed: int) -> None:
    """The tables, with rows that a seed decides: some of them none, some with one key that nearly all have."""
    rng = random.Random(seed)
    for statement in TABLES:
        lab.run(statement)
    nulls = rng.choice((0.0, 0.2, 0.9))
    skew = rng.choice((0.0, 0.9))
    wide = rng.choice((8, 3_000_000_000))

    def one(value: str, *, null: float = nulls) -> str:
        return "NULL" if rng.random() < null else value

    def key() -> str:
        return "3" if rng.random() < skew else str(rng.randint(-2, 9))

    def day() -> str:
        return f"{rng.randint(1996, 2004)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"

    def text() -> str:
        return "'" + "".join(rng.choice("ab") for _ in range(rng.randint(0, 3))) + "'"

    rows = rng.choice((0, 1, 7, 300, 1000))
    made = [
        ", ".join(
            (
                one(str(rng.randint(-9, 9))),
                one(str(rng.randint(-wide, wide))),
                one(str(rng.randint(-300, 300))),
                one(f"{rng.randint(-9999, 9999) / 100:.2f}"),
                one(f"{rng.randint(-(10**9), 10**9)}.{rng.randint(0, 9999):04}"),
                one(f"'{day()}'"),
                one(f"'{day()} {rng.randint(0, 23):02}:{rng.randint(0, 59):02}:07'"),
                one(text()),
                one(text()),
                one(rng.choice(("1.5", "-0.0", "0.0", "'NaN'", "'Infinity'", "1e10", "-2.25"))),
                one(rng.choice(("true", "false"))),
                one(key()),
                one(str(rng.randint(0, 4) * 10**10)),
            )
        )
        for _ in range(rows)
    ]
    for first in range(0, rows, 500):
        lab.run(f"INSERT INTO f VALUES {', '.join(f'({row})' for row in made[first : first + 500])}")
    for k in range(-1, rng.choice((0, 6))):
        floats = rng.choice(("0.5", "1e3"))
        lab.run(f"INSERT INTO g VALUES ({k}, {one(text())}, {one(str(k * 2))}, {one(f'{k}.125')}, {floats})")
    for _ in range(rng.choice((0, 12))):
        row = f"{one(key())}, {one(str(rng.randint(0, 4) * 10**10))}, {rng.randint(0, 3)}, {one(text())}"
        lab.run(f"INSERT INTO h VALUES ({row})")
