"""Queries over a small schema with NULLs: joins, subqueries, grouping, windows, set operations, WITH, ORDER BY, LIMIT.

A relation in FROM is an alias with typed columns; every part of a query draws from the columns in its scope. LIMIT
occurs only where the order is total, so that each query has one answer.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.support.generated.statement import Made

_INT, _TEXT, _NUMERIC, _DATE, _BOOL = "int4", "text", "numeric", "date", "bool"
_BIG = "int8"
_TYPES = (_INT, _TEXT, _NUMERIC, _DATE, _BOOL)

_TABLES = {
    "people": (("id", _INT), ("team", _INT), ("name", _TEXT), ("pay", _NUMERIC), ("born", _DATE)),
    "teams": (("id", _INT), ("boss", _INT), ("name", _TEXT), ("open", _BOOL)),
    "deals": (("id", _INT), ("person", _INT), ("amount", _NUMERIC), ("day", _DATE), ("note", _TEXT), ("done", _BOOL)),
    "empty": (("id", _INT), ("name", _TEXT)),
}  # fmt: skip


def _rows(count: int, *makers: list[str]) -> str:
    """Rows from lists of different lengths, so that values are combined in many ways; NULLs are among them."""
    return ", ".join(
        f"({n}, {', '.join(maker[(n * 7) % len(maker)] for maker in makers)})" for n in range(1, count + 1)
    )


SETUP = (
    "CREATE SCHEMA IF NOT EXISTS made",
    "DROP TABLE IF EXISTS made.people, made.teams, made.deals, made.empty",
    "CREATE TABLE made.people (id integer PRIMARY KEY, team integer, name text, pay numeric(8,2), born date)",
    "CREATE TABLE made.teams (id integer PRIMARY KEY, boss integer, name text, open boolean)",
    "CREATE TABLE made.deals (id integer PRIMARY KEY, person integer, amount numeric(10,2), day date, note text, done boolean)",
    "CREATE TABLE made.empty (id integer, name text)",
    "INSERT INTO made.people VALUES "
    + _rows(
        14, ["1", "2", "NULL", "3", "1"], ["'ann'", "'bob'", "NULL", "'Ann'", "'zoë'", "''"],
        ["1000.00", "NULL", "250.50", "1000.00"], ["DATE '1990-02-28'", "DATE '2000-02-29'", "NULL"],
    ),
    "INSERT INTO made.teams VALUES " + _rows(4, ["3", "NULL", "9"], ["'red'", "'blue'", "NULL"], ["true", "false", "NULL"]),
    "INSERT INTO made.deals VALUES "
    + _rows(
        25, ["1", "5", "NULL", "14", "3", "99"], ["10.00", "-3.50", "NULL", "0.00", "99999.99"],
        ["DATE '2024-01-31'", "DATE '2024-02-29'", "NULL", "DATE '2023-12-31'"], ["'x'", "NULL", "'a b'", "'é'", "'x'", "''", "'%'"],
        ["true", "NULL", "false"],
    ),
)  # fmt: skip

_LITERALS = {
    _INT: ("1", "2", "3", "-1", "0", "14", "NULL::int"),
    _BIG: ("1::bigint", "0::bigint", "5::bigint"),
    _TEXT: ("'ann'", "'x'", "''", "'é'", "NULL::text"),
    _NUMERIC: ("10.00", "250.50", "-3.5", "0", "NULL::numeric"),
    _DATE: ("DATE '2024-02-29'", "DATE '1990-02-28'", "NULL::date"),
    _BOOL: ("true", "false", "NULL::boolean"),
}


@dataclass(frozen=True, slots=True)
class Scope:
    """The columns that an expression may name, as (text, type)."""

    columns: tuple[tuple[str, str], ...]

    def of(self, kind: str) -> list[str]:
        """The columns of a type."""
        return [text for text, each in self.columns if each == kind]


@dataclass(slots=True)
class Maker:
    """Draws one query."""

    chance: random.Random
    ctes: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    _aliases: int = 0

    # ---- expressions

    def value(self, scope: Scope, kind: str, depth: int = 2) -> str:
        """An expression of a type over the scope's columns."""
        pick = self.chance.random()
        columns = scope.of(kind)
        if depth <= 0 or pick < 0.45:
            return (
                self.chance.choice(columns)
                if columns and self.chance.random() < 0.85
                else self.chance.choice(_LITERALS[kind])
            )
        one, other = (self.value(scope, kind, depth - 1) for _ in range(2))
        if pick < 0.55:
            return f"CASE WHEN {self.condition(scope, depth - 1)} THEN {one} ELSE {other} END"
        if pick < 0.62:
            return f"coalesce({one}, {other})"
        match kind:
            case "int4":
                number = self.value(scope, _INT, depth - 1)
                return self.chance.choice(
                    (f"({one} + {other})", f"({one} * 2 - {other})", f"({one} / nullif({number}, 0))", f"length({self.value(scope, _TEXT, depth - 1)})",
                     f"extract(year FROM {self.value(scope, _DATE, depth - 1)})::int", f"({one} % 3)",
                     f"abs({one})", f"strpos({self.value(scope, _TEXT, depth - 1)}, {self.word()})", f"greatest({number}, {one}, {other})")
                )  # fmt: skip
            case "text":
                return self.chance.choice(
                    (f"({one} || {other})", f"upper({one})", f"substr({one}, 1, 2)", f"({self.value(scope, _INT, depth - 1)})::text", f"nullif({one}, {other})",
                     f"replace({one}, {self.word()}, {other})", f"concat({one}, {self.value(scope, _DATE, depth - 1)})", f"left({one}, {self.value(scope, _INT, 0)})",
                     f"overlay({one} PLACING {other} FROM 2 FOR 1)", f"split_part({one}, {self.word()}, 1)", f"lpad({one}, 3, '*')")
                )  # fmt: skip
            case "numeric":
                return self.chance.choice(
                    (f"({one} + {other})", f"({one} * 1.5)", f"round({one}, 1)", f"({one} / nullif({other}, 0))", f"greatest({one}, {other})", f"abs({one})", f"trunc({one}, 1)", f"floor({one})")
                )  # fmt: skip
            case "date":
                return self.chance.choice((f"({one} + {self.chance.randint(-40, 40)})", f"least({one}, {other})"))
            case _:
                return f"({self.condition(scope, depth - 1)})"

    def word(self) -> str:
        """A text that is contained in some columns' values."""
        return self.chance.choice(("'a'", "'n'", "' '", "'x'", "'é'"))

    def condition(self, scope: Scope, depth: int = 2) -> str:
        """A condition; inside a query it may hold a subquery over the scope."""
        kind = self.chance.choice((_INT, _INT, _TEXT, _NUMERIC, _DATE))
        one, other = self.value(scope, kind, depth - 1), self.value(scope, kind, depth - 1)
        pick = self.chance.random()
        if depth > 0 and pick < 0.2:
            word = self.chance.choice(("AND", "OR"))
            return f"({self.condition(scope, depth - 1)} {word} {self.condition(scope, depth - 1)})"
        if depth > 1 and pick < 0.4:
            return self.subcondition(scope, kind, one)
        return self.chance.choice(
            (
                f"{one} = {other}", f"{one} <> {other}", f"{one} < {other}", f"{one} >= {other}", f"{one} IS NULL",
                f"{one} IS NOT NULL", f"{one} IS DISTINCT FROM {other}", f"{one} BETWEEN {other} AND {self.value(scope, kind, 0)}",
                f"{one} IN ({other}, {self.chance.choice(_LITERALS[kind])})", f"NOT ({one} > {other})",
                f"{self.value(scope, _TEXT, 0)} LIKE {self.chance.choice(('%', 'a%', '_', '%é'))!r}", f"{self.value(scope, _BOOL, 0)} IS NOT TRUE",
                f"{self.chance.choice(_LITERALS[kind])} < {one}", f"{self.value(scope, _TEXT, 0)} ~ {self.chance.choice(('^a', 'b', 'x$', '^$'))!r}",
                f"starts_with({self.value(scope, _TEXT, 0)}, {self.word()})",
            )
        )  # fmt: skip

    def subcondition(self, scope: Scope, kind: str, one: str) -> str:
        """IN, EXISTS, ANY or a scalar comparison over a subquery, correlated or not."""
        table, alias, inner = self.table()
        both = Scope(inner.columns + scope.columns)
        where = f" WHERE {self.condition(both, 1)}" if self.chance.random() < 0.8 else ""
        item = self.value(inner, kind, 1)
        source = f"FROM {table} {alias}{where}"
        return self.chance.choice(
            (
                f"EXISTS (SELECT 1 {source})", f"NOT EXISTS (SELECT * {source})", f"{one} IN (SELECT {item} {source})",
                f"{one} NOT IN (SELECT {item} {source})", f"{one} > ANY (SELECT {item} {source})", f"{one} <= ALL (SELECT {item} {source})",
                f"{one} = (SELECT max({item}) {source})", f"(SELECT count(*) {source}) > 1",
            )
        )  # fmt: skip

    # ---- relations

    def alias(self) -> str:
        self._aliases += 1
        return f"t{self._aliases}"

    def table(self) -> tuple[str, str, Scope]:
        """A table or WITH query under an alias."""
        alias = self.alias()
        if self.ctes and self.chance.random() < 0.6:
            name, kinds = self.chance.choice(self.ctes)
            return name, alias, Scope(tuple((f"{alias}.c{n}", kind) for n, kind in enumerate(kinds, 1)))
        name = self.chance.choice(("people", "people", "teams", "deals", "deals", "empty"))
        return f"made.{name}", alias, Scope(tuple((f"{alias}.{column}", kind) for column, kind in _TABLES[name]))

    def relation(self, depth: int) -> tuple[str, Scope]:
        """One item of FROM."""
        pick = self.chance.random()
        if depth <= 0 or pick < 0.6:
            table, alias, scope = self.table()
            return f"{table} {alias}", scope
        alias = self.alias()
        if pick < 0.85:
            kinds = tuple(self.chance.choice(_TYPES) for _ in range(self.chance.randint(1, 3)))
            sql = self.query(kinds, depth - 1)
            names = ", ".join(f"c{n}" for n in range(1, len(kinds) + 1))
            return f"({sql}) AS {alias}({names})", Scope(
                tuple((f"{alias}.c{n}", kind) for n, kind in enumerate(kinds, 1))
            )
        if pick < 0.93:
            kinds = (_INT, _TEXT)
            rows = ", ".join(
                f"({self.chance.choice(_LITERALS[_INT])}, {self.chance.choice(_LITERALS[_TEXT])})" for _ in range(3)
            )
            return f"(VALUES {rows}) AS {alias}(c1, c2)", Scope(
                tuple((f"{alias}.c{n}", kind) for n, kind in enumerate(kinds, 1))
            )
        return f"generate_series(1, {self.chance.randint(1, 4)}) AS {alias}(c1)", Scope(((f"{alias}.c1", _INT),))

    def source(self, depth: int) -> tuple[str, Scope]:
        """A FROM clause's text and its scope."""
        text, scope = self.relation(depth)
        for _ in range(self.chance.choice((0, 0, 1, 1, 2))):
            if self.chance.random() < 0.12:
                table, alias, inner = self.table()
                lateral = self.alias()
                kind = self.chance.choice((_INT, _TEXT))
                both = Scope(inner.columns + scope.columns)
                item = f"SELECT max({self.value(inner, kind, 1)}), count(*) FROM {table} {alias} WHERE {self.condition(both, 1)}"
                text += f" CROSS JOIN LATERAL ({item}) AS {lateral}(c1, c2)"
                scope = Scope((*scope.columns, (f"{lateral}.c1", kind), (f"{lateral}.c2", _BIG)))
                continue
            other, more = self.relation(depth - 1)
            both = Scope(scope.columns + more.columns)
            how = self.chance.choice(("JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN"))
            on = "" if how == "CROSS JOIN" else f" ON {self.on(scope, more, both, how)}"
            text, scope = f"{text} {how} {other}{on}", both
        return text, scope

    def on(self, left: Scope, right: Scope, both: Scope, how: str) -> str:
        """A join condition: an equality if the two share a type, and perhaps more (PostgreSQL needs one for FULL)."""
        for kind in self.chance.sample((_INT, _TEXT, _DATE, _NUMERIC, _BOOL), 5):
            if left.of(kind) and right.of(kind):
                equal = f"{self.chance.choice(left.of(kind))} = {self.chance.choice(right.of(kind))}"
                if how != "FULL JOIN" and self.chance.random() < 0.3:
                    return f"{equal} AND {self.condition(both, 1)}"
                return equal
        return "true"

    # ---- queries

    def query(self, kinds: tuple[str, ...], depth: int) -> str:
        """A query whose columns have these types."""
        pick = self.chance.random()
        if depth > 0 and pick < 0.15:
            word = self.chance.choice(("UNION", "UNION ALL", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL"))
            return f"({self.query(kinds, depth - 1)}) {word} ({self.query(kinds, depth - 1)})"
        if pick < 0.35:
            return self.grouped(kinds, depth)
        if pick < 0.5:
            return self.windowed(kinds, depth)
        source, scope = self.source(depth)
        items = ", ".join(f"{self.value(scope, kind)} AS c{n}" for n, kind in enumerate(kinds, 1))
        distinct = "DISTINCT " if self.chance.random() < 0.2 else ""
        where = f" WHERE {self.condition(scope)}" if self.chance.random() < 0.6 else ""
        return f"SELECT {distinct}{items} FROM {source}{where}"

    def aggregate(self, scope: Scope, kind: str) -> str:
        """An aggregate of a type."""
        more = f" FILTER (WHERE {self.condition(scope, 1)})" if self.chance.random() < 0.2 else ""
        unique = "DISTINCT " if self.chance.random() < 0.15 else ""
        match kind:
            case "int4":
                call = self.chance.choice((f"max({self.value(scope, _INT, 1)})", f"min({self.value(scope, _INT, 1)})"))
            case "int8":
                call = self.chance.choice(
                    (
                        "count(*)",
                        f"count({unique}{self.value(scope, _TEXT, 1)})",
                        f"sum({unique}{self.value(scope, _INT, 1)})",
                    )
                )
            case "text":
                value = self.value(scope, _TEXT, 1)
                call = self.chance.choice(
                    (f"max({value})", f"min({value})", f"string_agg({value}, ',' ORDER BY {value})")
                )
            case "numeric":
                call = self.chance.choice(
                    (
                        f"sum({unique}{self.value(scope, _NUMERIC, 1)})",
                        f"max({self.value(scope, _NUMERIC, 1)})",
                        f"avg({unique}{self.value(scope, _INT, 1)})",
                    )
                )
            case "date":
                call = f"max({self.value(scope, _DATE, 1)})"
            case _:
                call = f"{self.chance.choice(('bool_and', 'bool_or'))}({self.condition(scope, 1)})"
        return call + more

    def grouped(self, kinds: tuple[str, ...], depth: int) -> str:
        """A query with GROUP BY, including grouping sets, or an aggregate over all rows."""
        source, scope = self.source(depth)
        keys = {
            kind: self.chance.choice(scope.of(kind))
            for kind in dict.fromkeys(kinds)  # in order: the same query for the same seed
            if scope.of(kind) and self.chance.random() < 0.6
        }
        inside = Scope(tuple((text, kind) for kind, text in keys.items()))
        items = []
        for number, kind in enumerate(kinds, 1):
            own = kind in keys and self.chance.random() < 0.7
            items.append(f"{self.value(inside, kind, 1) if own else self.aggregate(scope, kind)} AS c{number}")
        where = f" WHERE {self.condition(scope)}" if self.chance.random() < 0.4 else ""
        by = ""
        if keys:
            columns = sorted(set(keys.values()))
            how = self.chance.random()
            listed = ", ".join(columns)
            by = f" GROUP BY {f'ROLLUP ({listed})' if how < 0.12 else f'CUBE ({listed})' if how < 0.2 else f'GROUPING SETS (({listed}), ())' if how < 0.28 else listed}"
        having = f" HAVING {self.aggregate(scope, _BIG)} > 0" if self.chance.random() < 0.25 else ""
        return f"SELECT {', '.join(items)} FROM {source}{where}{by}{having}"

    def windowed(self, kinds: tuple[str, ...], depth: int) -> str:
        """A query with window functions; frames count peers, so that ties change nothing."""
        source, scope = self.source(depth)
        items = []
        for number, kind in enumerate(kinds, 1):
            items.append(
                f"{self.window(scope, kind) if self.chance.random() < 0.7 else self.value(scope, kind)} AS c{number}"
            )
        where = f" WHERE {self.condition(scope)}" if self.chance.random() < 0.4 else ""
        return f"SELECT {', '.join(items)} FROM {source}{where}"

    def window(self, scope: Scope, kind: str) -> str:
        """A call with OVER, of a type."""
        by = f"PARTITION BY {self.value(scope, self.chance.choice(_TYPES), 1)} " if self.chance.random() < 0.6 else ""
        nulls = self.chance.choice(("", " DESC", " NULLS FIRST", " DESC NULLS LAST"))
        order = (
            f"ORDER BY {self.value(scope, self.chance.choice(_TYPES), 1)}{nulls}" if self.chance.random() < 0.8 else ""
        )
        frame = ""
        if order:
            frame = self.chance.choice(
                (
                    "",
                    "",
                    " RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
                    " GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW",
                    " RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
                )
            )
        over = f"OVER ({by}{order}{frame})"
        if kind == _INT:
            return self.chance.choice((f"rank() {over}", f"dense_rank() {over}", f"count(*) {over}")) + "::int"
        if kind == _NUMERIC:
            return f"{self.chance.choice(('sum', 'min', 'max'))}({self.value(scope, _NUMERIC, 1)}) {over}"
        if kind == _BOOL:
            return f"bool_or({self.condition(scope, 1)}) {over}"
        return f"{self.chance.choice(('min', 'max'))}({self.value(scope, kind, 1)}) {over}"

    def statement(self) -> tuple[str, bool]:
        """A whole statement, and whether its order is total."""
        kinds = tuple(self.chance.choice((*_TYPES, _INT)) for _ in range(self.chance.randint(1, 4)))
        heads = []
        if self.chance.random() < 0.25:
            for number in range(self.chance.randint(1, 2)):
                inner = tuple(self.chance.choice(_TYPES) for _ in range(self.chance.randint(1, 3)))
                name = f"w{number}"
                names = ", ".join(f"c{n}" for n in range(1, len(inner) + 1))
                how = self.chance.choice(("", "", " MATERIALIZED", " NOT MATERIALIZED"))
                heads.append(f"{name}({names}) AS{how} ({self.query(inner, 1)})")
                self.ctes.append((name, inner))
        head = f"WITH {', '.join(heads)} " if heads else ""
        if self.chance.random() < 0.08:
            return head + self.distinct_on(kinds), True
        body = self.query(kinds, 2)
        if self.chance.random() < 0.5:
            return head + body, False
        places = list(range(1, len(kinds) + 1))
        self.chance.shuffle(places)
        keys = ", ".join(
            f"{place}{self.chance.choice(('', ' DESC', ' NULLS FIRST', ' DESC NULLS LAST'))}" for place in places
        )
        tail = f" ORDER BY {keys}"
        if self.chance.random() < 0.5:
            tail += f" LIMIT {self.chance.randint(0, 7)}"
            tail += f" OFFSET {self.chance.randint(0, 3)}" if self.chance.random() < 0.4 else ""
        return head + body + tail, True

    def distinct_on(self, kinds: tuple[str, ...]) -> str:
        """DISTINCT ON over the first column, ordered by all of them."""
        source, scope = self.source(1)
        items = ", ".join(f"{self.value(scope, kind)} AS c{n}" for n, kind in enumerate(kinds, 1))
        names = ", ".join(f"c{n}" for n in range(1, len(kinds) + 1))
        return f"SELECT DISTINCT ON (c1) {names} FROM (SELECT {items} FROM {source}) s ORDER BY {names}"


def statements(chance: random.Random, count: int) -> Iterator[Made]:
    """`count` queries."""
    for _ in range(count):
        sql, ordered = Maker(chance).statement()
        yield Made("query", sql, ordered=ordered)
