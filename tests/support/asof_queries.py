"""The tables trades and quotes, and random queries over them with LATERAL subqueries that return the nearest row."""

from __future__ import annotations

import random

SETUP = """
CREATE TABLE trades AS SELECT i AS id, CASE WHEN i % 17 > 0 THEN i * 7 % 23 END AS k,
    CASE WHEN i % 19 > 0 THEN timestamp '2024-03-01' + interval '1 second' * (i * 104729 % 90000) END AS t,
    CASE WHEN i % 29 > 0 THEN (i * 31 % 100)::float8 / 8 ELSE 'NaN' END AS x, (i * 37 % 50)::smallint AS h,
    date '2024-01-01' + i % 90 AS d, (i % 61 * 0.25)::numeric(9,2) AS n, 's' || i % 3 AS g, i % 5 > 0 AS b
    FROM generate_series(1, 700) AS i;
CREATE TABLE quotes AS SELECT i AS id, CASE WHEN i % 13 > 0 THEN i * 11 % 25 END AS k,
    CASE WHEN i % 23 > 0 THEN timestamp '2024-03-01' + interval '1 second' * (i * 104723 % 89989) END AS t,
    timestamp '2024-03-01' + interval '1 second' * (i * 104723 % 89989 + i * 13 % 5000) AS known,
    CASE WHEN i % 31 > 0 THEN (i * 17 % 100)::float8 / 8 ELSE 'NaN' END AS x, (i * 41 % 50)::bigint AS h,
    date '2024-01-01' + i * 7 % 90 AS d, (i % 59 * 0.25)::numeric(9,2) AS n, 's' || i % 4 AS g, i % 3 > 0 AS b
    FROM generate_series(1, 900) AS i
"""
COLUMNS = ("k", "g", "b", "d", "x")
TIMES = ("t", "x", "h", "d", "n")


def draw_query(draws: random.Random) -> str:
    """Returns a query with one answer, whichever of several rows of one time is taken."""
    operator, time = draws.choice((">=", ">", "<=", "<")), draws.choice(TIMES)
    back = operator[0] == ">"
    conditions = _draw_conditions(draws, operator, time, back=back)
    known = any("known" in each for each in conditions)
    ties = "" if known else draws.choice((", q.id", ", q.id DESC"))
    draws.shuffle(conditions)
    nearest = (
        f"LATERAL (SELECT q.*, a.id + q.id AS both FROM quotes q WHERE {' AND '.join(conditions)}"
        f" ORDER BY q.{time}{' DESC' if back else ''}{ties} LIMIT 1) q"
    )
    source = f"trades a {draws.choice(('LEFT', 'INNER'))} JOIN {nearest} ON true"
    shown = f"a.id, q.{time}, q.both, q.known"
    if draws.random() < 0.3:
        kind, side = draws.choice(("JOIN", "LEFT JOIN")), draws.choice(("a", "q"))
        source += f" {kind} (SELECT k, count(*) AS c FROM quotes GROUP BY k) c ON c.k = {side}.k"
        shown += ", c.c"
    filters = ("q.id IS NULL", "q.b", "q.id % 3 = 1", "a.id % 2 = 0", "q.h > a.h", "q.k = 3", "a.k = 3")
    where = f" WHERE {draws.choice(filters)}" if draws.random() < 0.6 else ""
    if draws.random() < 0.25:
        return f"SELECT a.g, count(*), count(q.{time}), min(q.id), max(q.{time}) FROM {source}{where} GROUP BY a.g"
    return f"SELECT {shown} FROM {source}{where}"


def _draw_conditions(draws: random.Random, operator: str, time: str, *, back: bool) -> list[str]:
    """Returns keys, the comparison of the times, a tolerance, a second time and conditions on one side."""
    keys = [each for each in draws.sample(COLUMNS, draws.choice((0, 1, 1, 2))) if each != time]
    found = [f"a.{key} = q.{key}" for key in keys] + [f"a.{time} {operator} q.{time}"]
    far = draws.choice((2, 5))
    if time == "t" and draws.random() < 0.4:
        found.append(f"q.t {'> a.t -' if back else '< a.t +'} interval '{far} hours'")
    if time in {"h", "d"} and draws.random() < 0.4:
        found.append(f"a.{time} - q.{time} {f'< {far}' if back else f'>= -{far}'}")
    if time == "t" and back and draws.random() < 0.4:
        found.append(f"a.t {operator} q.known")
    if draws.random() < 0.3:
        found.append(draws.choice(("q.b", "a.b", "q.id > 100", "q.g <> 's1'", "a.h > 7")))
    return found
