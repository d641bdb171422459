"""ASOF JOIN in texts: what is read as one, and what stays as PostgreSQL's grammar reads it."""

from __future__ import annotations

import pytest

from gpudb.errors import GpudbError
from gpudb.sql.parse.parser import deparse, parse

READ = {
    "SELECT 1 FROM a ASOF JOIN b MATCH_CONDITION (a.t >= b.t) ON a.k = b.k WHERE x": (
        'SELECT 1 FROM a LEFT JOIN b ON "gpudb asof"(a.t >= b.t, a.k = b.k) WHERE x'
    ),
    'SELECT 1 FROM a LEFT ASOF JOIN (SELECT 2 FROM c JOIN d ON true) b MATCH_CONDITION ((a.t) > (b.t)) USING (k, "K")': (
        "SELECT 1 FROM a LEFT JOIN (SELECT 2 FROM c JOIN d ON true) b ON \"gpudb asof\"(a.t > b.t, true, 'k', 'K')"
    ),
    "SELECT 1 FROM a ASOF INNER JOIN b MATCH_CONDITION (a.t < b.t) INNER ASOF JOIN c MATCH_CONDITION (a.t < c.t)": (
        'SELECT 1 FROM a JOIN b ON "gpudb asof"(a.t < b.t, true) JOIN c ON "gpudb asof"(a.t < c.t, true)'
    ),
    "SELECT 1 FROM a x ASOF JOIN b y ON x.t >= y.t JOIN c ON true": (
        'SELECT 1 FROM a x JOIN b y ON "gpudb asof"(NULL, x.t >= y.t) JOIN c ON true'
    ),
    "SELECT 1 FROM a x ASOF LEFT OUTER JOIN b y USING (k, t), z": (
        "SELECT 1 FROM a x LEFT JOIN b y ON \"gpudb asof\"(NULL, true, 'k', 't'), z"
    ),
    "SELECT 'asof join (', (SELECT 1 FROM a x /* ASOF */ ASOF -- )\n JOIN b y MATCH_CONDITION (x.ü < y.t) -- ON\n"
    " ON (x.k = y.k)) FROM q JOIN r USING (k)": (
        'SELECT \'asof join (\', (SELECT 1 FROM a x LEFT JOIN b y ON "gpudb asof"(x."ü" < y.t, x.k = y.k))'
        " FROM q JOIN r USING (k)"
    ),
    "SELECT 1 FROM o JOIN (a ASOF JOIN b MATCH_CONDITION (a.t = b.t)) ON interval '1 h' > o.i": (
        "SELECT 1 FROM o JOIN (a LEFT JOIN b ON \"gpudb asof\"(a.t = b.t, true)) ON '1 h'::interval > o.i"
    ),
    "SELECT 1 FROM a ASOF JOIN b ON a.k = b.k": "SELECT 1 FROM a asof JOIN b ON a.k = b.k",
    "SELECT asof FROM match_condition asof": "SELECT asof FROM match_condition asof",
}
REFUSED = {
    "SELECT 1 FROM a x ASOF JOIN b y": "42601",
    "SELECT 1 FROM a x ASOF JOIN b y MATCH_CONDITION (x.t > y.t": "42601",
    "SELECT 1 FROM a x ASOF JOIN b y MATCH_CONDITION ()": "42601",
    "SELECT 1 FROM a x ASOF JOIN b y MATCH_CONDITION (x.t > y.t, true)": "42601",
    "SELECT 1 FROM a x ASOF JOIN b y MATCH_CONDITION (x.t > y.t AS c)": "42601",
    "SELECT 1 FROM a x ASOF JOIN b y MATCH_CONDITION (x.t > y.t) USING ()": "42601",
    "SELECT 1 FROM a x JOIN b y MATCH_CONDITION (x.t > y.t)": "42601",
    "SELECT 1 FROM a x CROSS ASOF JOIN b y MATCH_CONDITION (x.t > y.t)": "0A000",
}


@pytest.mark.parametrize("text", READ)
def test_read(text: str) -> None:
    """A stored query is parsed from what it is deparsed to."""
    (statement,) = parse(text)
    assert deparse(statement.node) == READ[text]
    assert deparse(parse(READ[text])[0].node) == READ[text]


def test_several_statements() -> None:
    first, second = [*READ][:2]
    assert [deparse(each.node) for each in parse(f"{first};\n{second};")] == [READ[first], READ[second]]


@pytest.mark.parametrize("text", REFUSED)
def test_refused(text: str) -> None:
    with pytest.raises(GpudbError) as raised:
        parse(text)
    assert raised.value.sqlstate == REFUSED[text]
