"""Queries and data with every kind of step, sink and expression: NULLs, skew, duplicate keys, overflow, no rows."""

from __future__ import annotations

import random

from tests.support.lab import Lab

TABLES = (
    "CREATE TABLE f (a int, b bigint, s smallint, n numeric(9,2), w numeric(20,4), d date, ts timestamp, t text,"
    " c char(4), x double precision, y boolean, k int, j bigint)",
    "CREATE TABLE g (k int, name text, v int, m numeric(6,3), z double precision)",
    "CREATE TABLE h (k int, j bigint, r int, u text)",
    "CREATE TABLE i AS SELECT n AS s, nullif(n % 40, 7) AS p, (n + 300) * 7 % 601 AS v, 'q' || n % 5 AS q"
    " FROM generate_series(-300, 300) n",
    "CREATE TABLE o AS SELECT n AS p, 'o' || n % 3 AS name, nullif(n * 2, 8) AS v, n % 9 AS w"
    " FROM generate_series(-40, 35) n",
    "CREATE TABLE l AS SELECT n AS w, 'l' || n AS z, n AS y FROM generate_series(-9, 9) n",
)
SNOWFLAKES = (
    "SELECT i.q, o.name, count(*), sum(f.a), sum(i.v), max(o.v) FROM f JOIN i ON f.s = i.s LEFT JOIN o ON i.p = o.p"
    " WHERE i.v < 50 GROUP BY 1, 2",
    "SELECT i.q, l.z, count(*), sum(f.a), sum(i.v), max(o.v) FROM f JOIN i ON f.s = i.s LEFT JOIN o ON i.p = o.p"
    " JOIN l ON o.w = l.w WHERE i.v < 100 AND l.y < 0 GROUP BY 1, 2",
    "SELECT i.q, count(*), sum(f.a), sum(i.v), max(o.v) FROM f LEFT JOIN i ON f.s = i.s LEFT JOIN o ON i.p = o.p"
    " WHERE o.v < i.v AND f.k = 3 GROUP BY 1",
    "SELECT f.b, i.v, o.v, l.z FROM f JOIN i ON f.s = i.s LEFT JOIN o ON i.p = o.p JOIN l ON o.w = l.w"
    " WHERE i.v < 100 AND l.y < 0",
)
"""Queries with chained lookups, which leave few rows."""
QUERIES = (
    "SELECT count(*), count(a), sum(a), avg(a), min(a), max(a) FROM f",
    "SELECT sum(b), avg(b), min(b), max(b), sum(s), sum(n), avg(n), min(n), max(w), sum(w) FROM f",
    "SELECT sum(x), avg(x), min(x), max(x), count(x) FROM f WHERE x > -1e300",
    "SELECT k, count(*), sum(a), min(t), max(t), min(d), max(ts), min(y::int) FROM f GROUP BY k",
    "SELECT t, c, y, count(*), sum(n * 2) FROM f GROUP BY t, c, y",
    "SELECT d, count(*) FROM f WHERE d >= '1999-02-28' GROUP BY d",
    "SELECT k, sum(s * 500), count(s) FROM f GROUP BY k",
    "SELECT b, count(*), sum(s) FROM f GROUP BY b",
    "SELECT d, k, count(*), sum(a), min(s) FROM f GROUP BY d, k",
    "SELECT b, j, w, ts, t, count(*), sum(a), max(x) FROM f GROUP BY b, j, w, ts, t",
    "SELECT extract(year from d), extract(month from d), extract(dow from d), count(*) FROM f GROUP BY 1, 2, 3",
    "SELECT floor(a / 3.5::float8)::int, ceil(n::float8)::bigint, count(*), sum(s) FROM f GROUP BY 1, 2",
    "SELECT floor(x * 10)::int + floor((x - 1) * 3)::int * 200 AS place, count(*) FROM f GROUP BY 1",
    "SELECT round(x)::int, trunc(x)::smallint, x::bigint, count(*) FROM f WHERE x BETWEEN -3e4 AND 3e4 GROUP BY 1, 2, 3",
    "SELECT date_part('hour', ts)::int, date_part('month', d)::smallint, avg(n), count(*) FROM f GROUP BY 1, 2",
    "SELECT date_trunc('week', ts), count(*), sum(a) FROM f GROUP BY 1",
    "SELECT date_trunc('hour', ts), date_trunc('day', ts), date_trunc('milliseconds', ts), count(*) FROM f GROUP BY 1, 2, 3",
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
    "SELECT 99999999999999999999::numeric + k, count(*) FROM f GROUP BY 1",
    "SELECT sum(a + k), sum(a * k - s), sum(n * w), sum(-a), avg(n * (1 - n)) FROM f",
    "SELECT sum(a * 2147483647) FROM f",
    "SELECT count(*) FROM f WHERE a > 100 AND a * 2147483647 > 0",
    "SELECT sum(b * b) FROM f WHERE b < 3000000000",
    "SELECT sum(b * b) FROM f",
    "SELECT name, count(*), sum(f.a), sum(v) FROM f JOIN g ON f.k = g.k GROUP BY name",
    "SELECT name, sum(z), max(m), count(v) FROM f LEFT JOIN g ON f.k = g.k GROUP BY name",
    "SELECT r, u, count(*), sum(a) FROM f JOIN h ON f.k = h.k AND f.j = h.j GROUP BY r, u",
    "SELECT count(*), sum(r) FROM f LEFT JOIN h ON f.j = h.j",
    "SELECT count(*), sum(r), count(u), min(f.a) FROM f LEFT JOIN h ON f.k = h.k AND h.r > f.a",
    "SELECT k2, count(*), sum(v), count(z) FROM (SELECT f.k AS k2, v, z FROM f LEFT JOIN g ON f.k = g.k AND g.v > f.a"
    " AND g.z < f.s) AS q GROUP BY k2",
    "SELECT count(*), sum(r), sum(v) FROM f LEFT JOIN h ON f.j = h.j AND (h.r <> f.s OR h.u > 'a') LEFT JOIN g"
    " ON h.r = g.v AND g.v < f.a + 3 WHERE f.s > 0 OR h.r IS NULL",
    "SELECT f.a, h.r, h.u FROM f LEFT JOIN h ON f.k + 1 = h.k + 1 AND h.r < f.a WHERE f.s > 250",
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
    "SELECT count(*) FILTER (WHERE d < timestamp '2000-03-01 12:00'), count(*) FILTER (WHERE d <= timestamp '2001-03-01'),"
    " count(*) FILTER (WHERE timestamp '2002-03-01 00:00:01' > d), count(*) FILTER (WHERE d >= timestamp '1999-05-05 01:00')"
    " FROM f",
    "SELECT count(*) FILTER (WHERE k > 2.5), count(*) FILTER (WHERE k >= -1.5), count(*) FILTER (WHERE k < -1.5),"
    " count(*) FILTER (WHERE 2.5 >= k), count(*) FILTER (WHERE -1.0 < k), count(*) FILTER (WHERE n <= -0.005),"
    " count(*) FILTER (WHERE k = 2.5 OR 3.0 = k), count(*) FILTER (WHERE n <> 1.250) FROM f WHERE a <= 7.00",
    "SELECT k, sum(b * 3000000000), avg(b * 3000000000), sum(w * w), sum(w * n) FROM f GROUP BY k",
    "SELECT count(*), sum(n) FROM f WHERE n > (SELECT avg(m) FROM g)",
    "SELECT k, sum(a) FROM f WHERE a > (SELECT max(v) FROM g WHERE v < 3) GROUP BY k",
    "SELECT count(*), sum(a) FROM f WHERE n < (SELECT 0.2 * avg(n) FROM f i WHERE i.k = f.k)",
    "SELECT count(*), sum(n) FROM f JOIN (SELECT k, avg(m) AS m FROM g GROUP BY k) q ON f.k = q.k WHERE f.n - q.m > 1.5",
    "SELECT count(*), sum(a) FROM f WHERE w * 3 < (SELECT avg(w) FROM f i WHERE i.k = f.k)",
    "SELECT sum(q.m), count(q.m) FROM f LEFT JOIN (SELECT k, avg(m) AS m FROM g GROUP BY k) q ON f.k = q.k",
    *SNOWFLAKES,
)


TEXTS = (
    "SELECT count(*), sum(v) FROM x WHERE t LIKE '%special%requests%'",
    "SELECT k, count(*) FROM x WHERE t NOT LIKE '%special%requests%' GROUP BY k",
    "SELECT v, k FROM x WHERE t LIKE 'a%' AND v > 2",
    "SELECT count(*) FROM x WHERE t LIKE '%b' OR t LIKE '_' OR t LIKE ''",
    "SELECT count(*) FROM x WHERE t LIKE '%a_b%' AND v < 90",
    "SELECT count(*) FROM x WHERE t LIKE '__%é%_' OR v = 3",
    "SELECT count(*) FROM x WHERE t LIKE '%日_%' OR t LIKE '%😀'",
    "SELECT count(*) FROM x WHERE t LIKE '%!%%!_%' ESCAPE '!'",
    "SELECT count(*) FROM x WHERE t LIKE '%\\\\%' OR t LIKE '%\\%%'",
    "SELECT count(*) FROM x WHERE t = 'special requests' OR t IN ('a', 'b', '日')",
    "SELECT count(*), count(t) FROM x WHERE t <> 'a' AND t IS NOT NULL",
    "SELECT count(*) FROM x WHERE t IS NULL OR t NOT IN ('a', '', 'ab')",
    "SELECT count(*) FROM x WHERE starts_with(t, 'sp') OR u ILIKE '%SPEC%q_e%'",
    "SELECT count(*) FROM x WHERE u NOT ILIKE 'A%z' AND u LIKE '%A%'",
    "SELECT k, sum(CASE WHEN t LIKE '%a%' THEN v WHEN u LIKE 'B%' THEN 1 ELSE 0 END) FROM x GROUP BY k",
    "SELECT g.k, count(*) FROM x JOIN g ON x.k = g.k WHERE t NOT LIKE '%a%b%' GROUP BY g.k",
    "SELECT count(*) FROM x WHERE EXISTS (SELECT 1 FROM g WHERE g.k = x.k AND g.v < x.v) AND t LIKE '%a'",
    "SELECT count(*), min(v) FROM (SELECT t AS w, v FROM x WHERE k > 0) AS y WHERE w LIKE '%ab%'",
    "SELECT v, k FROM x WHERE t LIKE '%a%' ORDER BY v, k LIMIT 5",
    "SELECT count(*), sum(n) FROM x WHERE n > 390 AND t LIKE '%a%'",
    "SELECT n, v FROM x WHERE n BETWEEN 200 AND 600 AND t NOT LIKE '%a%' AND u LIKE '%e%'",
)
"""Queries on unencoded texts."""


def fill_texts(lab: Lab, seed: int) -> None:
    """A table of mostly distinct texts in several alphabets, some of them long; those of `u` are ASCII."""
    rng = random.Random(seed)
    lab.run("CREATE TABLE x (n int, k int, v int, t text, u varchar(60))")
    nulls, rows = rng.choice((0.0, 0.2)), rng.choice((0, 5, 700))
    pieces = ("a", "b", "ab", "é", "日", "😀", "%", "_", "\\", "special ", "requests", " ", "c" * 40, "")
    plain = ("a", "B", "SPEC", "ial ", "request", "z", "Q", "  ")

    def text(of: tuple[str, ...]) -> str:
        return "NULL" if rng.random() < nulls else "'" + "".join(rng.choice(of) for _ in range(rng.randint(0, 7))) + "'"

    made = [f"({n}, {rng.randint(-2, 5)}, {rng.randint(0, 99)}, {text(pieces)}, {text(plain)})" for n in range(rows)]
    for first in range(0, rows, 350):
        lab.run(f"INSERT INTO x VALUES {', '.join(made[first : first + 350])}")


def fill(lab: Lab, seed: int) -> None:
    """Tables with seeded rows: some are empty, some have one key in nearly all rows."""
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
