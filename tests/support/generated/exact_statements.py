"""Random statements of exact arithmetic: quotients, averages, deviations, correlations and roundings, in groups,
windows and rows, over integers and numerics with NULLs and extremes.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

SETUP = """
CREATE TABLE ex (id int, k int2, t text, i int2, j int4, b int8, n numeric(7, 2), m numeric(15, 4), c numeric, x float8,
    w int8, h numeric(38, 0), y numeric(12, 10));
INSERT INTO ex SELECT g, CASE WHEN g % 13 > 0 THEN g % 7 END, 't' || g % 3,
    CASE g % 11 WHEN 0 THEN NULL WHEN 1 THEN -32768 WHEN 2 THEN 32767 ELSE g * 37 % 2001 - 1000 END,
    CASE g % 9 WHEN 0 THEN NULL WHEN 1 THEN -2147483648 ELSE g * 7919 % 200003 - 100000 END,
    CASE g % 10 WHEN 0 THEN NULL WHEN 3 THEN 0 ELSE g * 1000003::int8 % 20000000019 - 10000000000 END,
    CASE g % 8 WHEN 0 THEN NULL WHEN 1 THEN 0 WHEN 2 THEN 99999.99 ELSE (g * 31 % 20001 - 10000) / 100.0 END,
    CASE g % 12 WHEN 0 THEN NULL ELSE (g * 1000033::int8 % 2000000011 - 1000000000) / 10000.0 END,
    CASE g % 6 WHEN 0 THEN NULL WHEN 1 THEN g % 17 WHEN 2 THEN (g % 100) / 8.0 ELSE round(g / 7.0, g % 5) END,
    CASE g % 5 WHEN 0 THEN NULL ELSE (g % 41) / 4.0 - 5 END,
    CASE WHEN g % 14 > 0 THEN (9223372036854775807 - g * 1000003::int8) * CASE g % 7 WHEN 0 THEN -1 ELSE 1 END END,
    CASE WHEN g % 15 > 0 THEN 98765432109876543210987654321098765432::numeric - g * 1000003 END,
    CASE WHEN g % 16 > 0 THEN (g * 7919 % 1009 + 1) * 0.0000000001 END FROM generate_series(1, 400) g;
INSERT INTO ex VALUES (401, 50, 'u', 1, 2, 3, 4, 5, 6, 7, 8, 9, 0.5),
    (402, 51, 'v', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
"""
_COLUMNS = ("i", "j", "b", "n", "m", "c")
_SMALL, _INTEGERS = ("i", "n", "c"), ("i", "j", "b")
_DIVISORS = ("7", "-3", "0.5", "16", "100")
_DEVIATIONS = ("stddev", "stddev_pop", "stddev_samp", "variance", "var_pop", "var_samp")
_PAIRS = (
    "corr", "covar_pop", "covar_samp", "regr_slope", "regr_intercept", "regr_r2", "regr_sxx", "regr_sxy", "regr_avgx",
    "regr_avgy", "regr_syy", "regr_count",
)  # fmt: skip
_CONSTANTS = ("0", "1", "-3", "7", "0.5", "2.25", "-0.004", "100", "1000003")


def statements(draw: random.Random) -> Iterator[str]:
    """Yields statements without end."""
    while True:
        yield draw.choice((_grouped, _grouped, _whole, _rows, _windows, _wide))(draw)


def _value(draw: random.Random, depth: int = 2) -> str:
    """Returns a number expression."""
    if depth == 0 or draw.random() < 0.35:
        return draw.choice(_COLUMNS) if draw.random() < 0.8 else draw.choice(_CONSTANTS)
    left = _value(draw, depth - 1)
    match draw.randrange(7):
        case 0:
            return f"({left} + {_constant(draw)})"
        case 1:
            return f"({left}::numeric - {_value(draw, depth - 1)})"
        case 2:
            return f"({draw.choice(_SMALL)}::numeric * {draw.choice(_SMALL)})"
        case 3:
            # More than 20 decimals, which gpudb does not carry, would differ in what is computed from them.
            return f"({draw.choice(_INTEGERS)}::numeric / {draw.choice(_DIVISORS)})"
        case 4:
            return (
                f"CASE WHEN {draw.choice(_COLUMNS)} > {_constant(draw)} THEN {left} ELSE {_value(draw, depth - 1)} END"
            )
        case 5:
            return f"round({left}::numeric, {draw.randint(0, 4)})"
        case _:
            return f"abs({left})"


def _constant(draw: random.Random) -> str:
    return draw.choice(_CONSTANTS)


def _aggregate(draw: random.Random) -> str:
    chosen = f" FILTER (WHERE {draw.choice(_COLUMNS)} > {_constant(draw)})" if draw.random() < 0.2 else ""
    match draw.randrange(8):
        case 0 | 1:
            return f"avg({_value(draw)}){chosen}"
        case 2 | 3:
            return f"{draw.choice(_DEVIATIONS)}({_value(draw, 1)}){chosen}"
        case 4:
            # Of a constant PostgreSQL's running sums have a variance of digits that were lost, which is not 0.
            return f"{draw.choice(_PAIRS)}({draw.choice(_COLUMNS)}, {draw.choice(_COLUMNS)}){chosen}"
        case 5:
            return f"sum({_value(draw, 1)}){chosen} / nullif(count({draw.choice(_COLUMNS)}), {draw.randint(0, 3)})"
        case 6:
            return f"avg({draw.choice(_COLUMNS)}) / nullif(avg({draw.choice(_COLUMNS)}), 0)"
        case _:
            return f"sum({draw.choice(_COLUMNS)} + {_constant(draw)})"


def _grouped(draw: random.Random) -> str:
    keys = draw.choice(("k", "t", "k, t", "i % 3"))
    calls = ", ".join(_aggregate(draw) for _ in range(draw.randint(1, 3)))
    return f"SELECT {keys}, {calls} FROM ex{_where(draw)} GROUP BY {keys}"


def _whole(draw: random.Random) -> str:
    return f"SELECT {', '.join(_aggregate(draw) for _ in range(draw.randint(1, 4)))} FROM ex{_where(draw)}"


def _rows(draw: random.Random) -> str:
    dividend, divisor = (_plain(draw) for _ in range(2))
    divisor = f"nullif({divisor}, 0)" if draw.random() < 0.8 else divisor
    return f"SELECT id, {dividend}::numeric / {divisor}, {_value(draw)} FROM ex{_where(draw)}"


def _plain(draw: random.Random) -> str:
    """Returns a number expression without a quotient."""
    return next(value for value in iter(lambda: _value(draw), None) if "/" not in value)


def _windows(draw: random.Random) -> str:
    order = draw.choice(("", " ORDER BY id", " ORDER BY id ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING"))
    function = draw.choice(("avg", "avg", "sum", *_DEVIATIONS))
    return f"SELECT id, {function}({_value(draw, 1)}) OVER (PARTITION BY k{order}) FROM ex{_where(draw)}"


def _wide(draw: random.Random) -> str:
    """Returns a statement over values of 19 or 38 digits, or tiny ones, whose results need another layout."""
    column = draw.choice("wwhy")
    where = _where(draw)
    match draw.randrange(6):
        case 0:
            return f"SELECT {draw.choice(('k', 't'))}, avg({column}) FROM ex{where} GROUP BY 1"
        case 1:
            return f"SELECT avg({column}), count(*) FROM ex{where}"
        case 2:
            return f"SELECT id, {column}::numeric / {draw.choice(('7', '-3', '16', '1000003'))} FROM ex{where}"
        case 3:
            return f"SELECT k, {draw.choice(_DEVIATIONS)}({draw.choice('wy')}) FROM ex{where} GROUP BY k"
        case 4:
            value = f"{draw.choice('nmcwh')}::numeric"
            return f"SELECT id, {draw.choice(('round', 'trunc'))}({value}, k - {draw.randint(0, 6)}) FROM ex{where}"
        case _:
            return f"SELECT id, avg({draw.choice('wy')}) OVER (PARTITION BY k ORDER BY id) FROM ex{where}"


def _where(draw: random.Random) -> str:
    if draw.random() < 0.6:
        return ""
    return f" WHERE {draw.choice(_COLUMNS)} {draw.choice(('<', '>', '<>'))} {_constant(draw)}"
