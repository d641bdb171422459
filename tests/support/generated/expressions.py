"""Nested typed expressions: operators, functions, casts and SQL syntax, over literals and a table's columns.

A maker gets a type and draws one of the ways to build an expression of it. It draws from all operators and casts of
PostgreSQL's tables; functions are those listed here.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import cache

from gpudb.functions.library import casts, functions_by_name, operators_by_name
from tests.support.generated.statement import ZONES, Made
from tests.support.generated.values import VALUES, literal

FUNCTIONS = (
    "abs ceil floor round trunc sign sqrt cbrt exp ln log log10 power mod div gcd lcm degrees radians sin cos atan2 factorial"
    " width_bucket scale trim_scale min_scale"
    " length char_length octet_length bit_length upper lower initcap lpad rpad ltrim rtrim btrim left right reverse replace"
    " translate substr substring strpos split_part repeat ascii md5 starts_with to_hex quote_literal quote_ident overlay"
    " regexp_replace regexp_substr regexp_count regexp_like encode get_byte sha256"
    " date_part date_trunc age make_date make_time make_interval justify_days justify_hours justify_interval isfinite date_bin"
    " to_char jsonb_typeof jsonb_array_length jsonb_strip_nulls jsonb_pretty json_typeof"
).split()

_UNITS = (
    "year",
    "month",
    "day",
    "hour",
    "minute",
    "second",
    "quarter",
    "week",
    "decade",
    "century",
    "millennium",
    "millisecond",
)
_FIELDS = (*_UNITS, "dow", "doy", "isodow", "isoyear", "epoch", "microseconds")
_FORMATS = (
    "YYYY-MM-DD HH24:MI:SS.US",
    "FMMonth DDth, YYYY BC",
    "Dy Q WW IYYY-IW",
    "999,990.99S",
    "FM0000",
    "MI$99.9EEEE",
)
_PATTERNS = ("a", "^.", "[b-y]+", "(a)(b)?", "\\d+", "x*", "é|日")

# Arguments that are only meaningful from a small set: function → position → choices.
_CHOICES: dict[str, dict[int, tuple[str, ...]]] = {
    "date_part": {0: _FIELDS},
    "date_trunc": {0: _UNITS, 2: ("UTC", "Europe/Berlin", "America/New_York")},
    "date_bin": {0: ("15 minutes", "1 day", "7 hours")},
    "to_char": {1: _FORMATS},
    "encode": {1: ("hex", "base64", "escape")},
    "regexp_replace": {1: _PATTERNS, 3: ("g", "i", "")},
    "regexp_substr": {1: _PATTERNS},
    "regexp_count": {1: _PATTERNS},
    "regexp_like": {1: _PATTERNS},
    "lpad": {1: ("0", "3", "12")}, "rpad": {1: ("0", "3", "12")}, "repeat": {1: ("0", "2", "-1")},
    "power": {1: ("2", "0", "-1", "0.5")}, "factorial": {0: ("0", "5", "20")},
    "round": {1: ("0", "2", "-1")}, "trunc": {1: ("0", "2", "-1")},
    "left": {1: ("0", "2", "-1")}, "right": {1: ("0", "2", "-1")},
    "make_date": {0: ("2024", "-44", "0"), 1: ("2", "12"), 2: ("29", "31", "1")},
    "make_time": {0: ("0", "23", "24"), 1: ("0", "59")},
    "split_part": {2: ("1", "2", "-1", "0")},
}  # fmt: skip

# Values that rarely raise an error: most draws.
_MILD: dict[str, tuple[str, ...]] = {
    "int2": ("1", "2", "7"), "int4": ("1", "3", "42", "-5"), "int8": ("2", "5", "-7"), "float4": ("1.5", "-2.25"),
    "float8": ("1.5", "0.25", "-2.5"), "numeric": ("1.50", "-2.5", "3", "10.01"), "text": ("a", "abc", "é b", "ABC"),
    "varchar": ("a", "Abc"), "bpchar": ("a", "b"), "date": ("2024-02-29", "2000-01-01"),
    "timestamp": ("2024-02-29 12:34:56.789", "2024-01-31 00:00:00"),
    "timestamptz": ("2024-02-29 12:34:56.789+00", "2024-03-31 01:30:00+00"), "interval": ("1 day", "1 month", "04:05:06.5"),
    "time": ("12:34:56.7", "00:00:00"), "jsonb": ('{"a": 1, "b": [true, null]}', "[1, 2, 3]"),
}  # fmt: skip

TYPES = (
    "bool int2 int4 int8 float4 float8 numeric text varchar bpchar bytea date time timestamp timestamptz interval uuid"
    " jsonb _int4 _text _numeric"
).split()

_RANK = ("int2", "int4", "int8", "numeric", "float8", "text", "date", "time", "timestamp", "timestamptz", "interval")

ROWS = 6
_COLUMNS = [name for name in VALUES if name != "json"]
SETUP = (
    "CREATE SCHEMA IF NOT EXISTS made",
    "DROP TABLE IF EXISTS made.edge",
    f"CREATE TABLE made.edge (id integer, {', '.join(f'c{name} {name}' for name in _COLUMNS)})",
    "INSERT INTO made.edge VALUES "
    + ", ".join(
        f"({row}, {', '.join(literal(n, VALUES[n][row] if row < len(VALUES[n]) else None) for n in _COLUMNS)})"
        for row in range(ROWS)
    ),
)


def statements(chance: random.Random, count: int) -> Iterator[Made]:
    """`count` statements of one expression each, over all types in turn."""
    for number in range(count):
        maker = Maker(chance, columns=chance.random() < 0.5)
        made = maker.expression(TYPES[number % len(TYPES)], chance.choice((1, 2, 2, 3)))
        source = f" FROM made.edge WHERE id = {chance.randrange(ROWS)}" if maker.columns else ""
        yield Made("expression", f"SELECT {made} AS v{source}", chance.choice(ZONES))


class Maker:
    """Draws expressions; `columns` allows those of made.edge."""

    def __init__(self, chance: random.Random, columns: bool) -> None:
        self.chance = chance
        self.columns = columns

    def expression(self, name: str, depth: int) -> str:
        """An expression of a type."""
        if depth <= 0:
            return self.leaf(name)
        ways = [*_ways()[name], *self._forms(name)]
        return self.chance.choice(ways)(self, depth - 1)

    def leaf(self, name: str) -> str:
        """A literal, or a column."""
        if self.columns and name in _COLUMNS and self.chance.random() < 0.6:
            return f"c{name}"
        roll = self.chance.random()
        if roll < 0.05:
            return literal(name, None)
        return literal(name, self.chance.choice(_MILD.get(name, VALUES[name]) if roll < 0.75 else VALUES[name]))

    def _forms(self, name: str) -> list[Callable[[Maker, int], str]]:
        """SQL's special syntax: about a tenth of all draws."""
        forms = [*_BOOL_FORMS] * 3 if name == "bool" else [*_FORMS.get(name, ())] * 2
        every: list[Callable[[Maker, int], str]] = [
            lambda m, d: (
                f"CASE WHEN {m.expression('bool', d)} THEN {m.expression(name, d)} ELSE {m.expression(name, d)} END"
            ),
            lambda m, d: f"coalesce({m.expression(name, d)}, {m.expression(name, d)})",
            lambda m, d: m.leaf(name),
        ]
        if name in _RANK:
            every += [
                lambda m, d: f"nullif({m.expression(name, d)}, {m.expression(name, d)})",
                lambda m, d: (
                    f"{m.chance.choice(('greatest', 'least'))}({m.expression(name, d)}, {m.expression(name, d)})"
                ),
            ]
        return forms + every


@cache
def _ways() -> dict[str, list[Callable[[Maker, int], str]]]:
    """Operators, functions and casts by their result type."""
    made: dict[str, list[Callable[[Maker, int], str]]] = {name: [] for name in TYPES}
    for name, overloads in sorted(operators_by_name().items()):
        for operator in overloads:
            types = [*([operator.left.name] if operator.left else []), operator.right.name]
            if operator.function.result.name in made and all(each in TYPES for each in types):
                made[operator.function.result.name].append(_operator(name, types))
    for name in FUNCTIONS:
        for function in functions_by_name()[name]:
            types = [each.name for each in function.args]
            if function.kind == "f" and function.result.name in made and all(each in TYPES for each in types):
                made[function.result.name].append(_function(name, types))
    for source, target in sorted(casts()):
        if target in made and source in TYPES and source != target:
            made[target].append(_cast(source, target))
    return made


def _operator(name: str, types: list[str]) -> Callable[[Maker, int], str]:
    if len(types) == 1:
        return lambda m, d: f"({name} {m.expression(types[0], d)})"
    return lambda m, d: f"({m.expression(types[0], d)} {name} {m.expression(types[1], d)})"


def _function(name: str, types: list[str]) -> Callable[[Maker, int], str]:
    choices = _CHOICES.get(name, {})

    def argument(m: Maker, place: int, depth: int) -> str:
        if place in choices and (types[place] == "text" or m.chance.random() < 0.95):
            return literal(types[place], m.chance.choice(choices[place]))
        return m.expression(types[place], depth)

    return lambda m, d: f"{name}({', '.join(argument(m, place, d) for place in range(len(types)))})"


def _cast(source: str, target: str) -> Callable[[Maker, int], str]:
    return lambda m, d: f"({m.expression(source, d)})::{target}"


def _pair(m: Maker, d: int) -> tuple[str, str]:
    name = m.chance.choice(_RANK)
    return m.expression(name, d), m.expression(name, d)


def _between(m: Maker, d: int) -> str:
    name = m.chance.choice(_RANK)
    return f"({m.expression(name, d)} BETWEEN {m.expression(name, d)} AND {m.expression(name, d)})"


def _in(m: Maker, d: int) -> str:
    name = m.chance.choice(_RANK)
    return f"({m.expression(name, d)} {m.chance.choice(('IN', 'NOT IN'))} ({m.leaf(name)}, {m.leaf(name)}))"


def _spread(pair: tuple[str, str], word: str) -> tuple[str, str, str]:
    return pair[0], word, pair[1]


def _rows(m: Maker, d: int) -> str:
    one, other = m.chance.choice(_RANK), m.chance.choice(_RANK)
    left, right = (f"({m.expression(one, d)}, {m.leaf(other)})" for _ in range(2))
    return f"({left} {m.chance.choice(('=', '<>', '<', '>='))} {right})"


_BOOL_FORMS: tuple[Callable[[Maker, int], str], ...] = (
    lambda m, d: f"({m.expression('bool', d)} {m.chance.choice(('AND', 'OR'))} {m.expression('bool', d)})",
    lambda m, d: f"(NOT {m.expression('bool', d)})",
    lambda m, d: f"({m.expression(m.chance.choice(TYPES), d)} IS {m.chance.choice(('', 'NOT '))}NULL)",
    lambda m, d: "({} IS {}DISTINCT FROM {})".format(*_spread(_pair(m, d), m.chance.choice(("", "NOT ")))),
    lambda m, d: f"({m.expression('bool', d)} IS {m.chance.choice(('TRUE', 'NOT FALSE', 'UNKNOWN'))})",
    _between,
    _in,
    lambda m, d: f"({m.expression('int4', d)} = ANY ({m.leaf('_int4')}))",
    lambda m, d: f"({m.expression('text', d)} LIKE {m.chance.choice(_LIKES)})",
    _rows,
)

_SEPARATORS = ("NULL", "' '", "'b'", "''")
_LIKES = ("'a%'", "'_b_'", "'%é%'", "'a\\%%'", "''", "'%'", "'x!_%' ESCAPE '!'")


_FORMS: dict[str, tuple[Callable[[Maker, int], str], ...]] = {
    "numeric": (
        lambda m, d: (
            f"extract({m.chance.choice(_FIELDS)} FROM {m.expression(m.chance.choice(('date', 'timestamp', 'timestamptz', 'interval', 'time')), d)})"
        ),
        lambda m, d: f"({m.expression('float8', d)})::numeric",
    ),
    "timestamp": (lambda m, d: f"({m.expression('timestamptz', d)} AT TIME ZONE '{m.chance.choice(ZONES)}')",),
    "timestamptz": (lambda m, d: f"({m.expression('timestamp', d)} AT TIME ZONE '{m.chance.choice(ZONES)}')",),
    "text": (
        lambda m, d: f"({m.expression(m.chance.choice(TYPES), d)})::text",
        lambda m, d: f"({m.expression('text', d)} || {m.expression(m.chance.choice(_RANK), d)})",
        lambda m, d: f"concat({m.expression(m.chance.choice(_RANK), d)}, {m.expression('text', d)})",
        lambda m, d: f"substring({m.expression('text', d)} FROM {m.leaf('int4')} FOR 3)",
        lambda m, d: f"trim(both from {m.expression('text', d)})",
        lambda m, d: f"({m.expression('_text', d)})[{m.chance.choice((0, 1, 2))}]",
        lambda m, d: f"array_to_string({m.expression('_int4', d)}, '-', '*')",
    ),
    "int4": (
        lambda m, d: f"position({m.leaf('text')} in {m.expression('text', d)})",
        lambda m, d: f"({m.expression('_int4', d)})[{m.chance.choice((0, 1, 2))}]",
        lambda m, d: f"cardinality({m.expression('_text', d)})",
        lambda m, d: f"array_length({m.expression('_int4', d)}, 1)",
    ),
    "_int4": (
        lambda m, d: f"ARRAY[{m.expression('int4', d)}, {m.leaf('int4')}]",
        lambda m, d: f"array_append({m.expression('_int4', d)}, {m.expression('int4', d)})",
        lambda m, d: f"({m.expression('_int4', d)})[2:3]",
    ),
    "_text": (
        lambda m, d: f"string_to_array({m.expression('text', d)}, {m.chance.choice(_SEPARATORS)})",
        lambda m, d: f"ARRAY[{m.expression('text', d)}, {m.leaf('text')}]",
    ),
    "jsonb": (
        lambda m, d: f"to_jsonb({m.expression(m.chance.choice(TYPES), d)})",
        lambda m, d: f"jsonb_build_object('k', {m.expression(m.chance.choice(TYPES), d)})",
        lambda m, d: f"jsonb_build_array({m.leaf(m.chance.choice(TYPES))}, {m.expression(m.chance.choice(_RANK), d)})",
    ),
}
