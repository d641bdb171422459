"""Random queries over a star schema: facts and tables with declared keys, of types that kernels and workers support.

Values are those that break code: limits of integers, NaN and both zeros, infinite timestamps, trailing blanks,
letters with special case mappings, NULLs. No expression fails, and an order with a LIMIT has no peers.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

_TYPES = {
    "int": "int", "bigint": "big", "smallint": "int", "numeric(9,2)": "num", "numeric(20,4)": "num", "numeric": "var",
    "date": "date", "timestamp": "ts", "timestamptz": "tz", "text": "text", "varchar(9)": "text", "char(4)": "char",
    "float8": "real", "real": "real", "boolean": "bool",
}  # fmt: skip
"""A column type's kind."""
TABLES = {
    "f": {
        "id": "int", "k": "int", "j": "bigint", "b": "bigint", "s": "smallint", "n": "numeric(9,2)",
        "w": "numeric(20,4)", "u": "numeric", "d": "date", "ts": "timestamp", "tz": "timestamptz", "t": "text",
        "v": "varchar(9)", "c": "char(4)", "x": "float8", "r": "real", "y": "boolean",
    },
    "g": {"k": "int", "j": "bigint", "name": "text", "b": "bigint", "n": "numeric(9,2)", "x": "float8", "y": "boolean"},
    "h": {"j": "bigint", "c": "char(4)", "note": "varchar(9)", "d": "date", "s": "smallint", "k": "int"},
    "p": {"k": "int", "j": "bigint", "t": "text", "b": "bigint"},
}  # fmt: skip
"""The fact table and three dimension tables."""
_KEYS = {"g": "PRIMARY KEY (k)", "h": "PRIMARY KEY (j)", "p": "PRIMARY KEY (k, j)"}
_REFERENCES = (("k", "g", "k"), ("j", "h", "j"), ("j", "g", "j"), ("k", "h", "k"))
VALUES = {
    "int": ("0", "1", "-1", "2", "3", "5", "7", "100", "-32768", "32767"),
    "big": ("0", "-1", "1", "-2", "5000000000", "4294967295", "9223372036854775807", "(-9223372036854775808)", "7"),
    "num": ("0", "1.50", "-1.50", "0.01", "99999.99", "-99999.99", "2"),
    "var": ("0", "1.5", "-3", "0.001", "12345678901.25"),
    "date": ("'2020-02-29'", "'2020-03-01'", "'1999-12-31'", "'0001-01-01 BC'", "'infinity'", "'-infinity'"),
    "ts": ("'2020-02-29 23:59:59.999999'", "'2020-03-01'", "'1969-12-31 23:00'", "'infinity'", "'0044-03-15 BC'"),
    "tz": ("'2020-02-29 23:59:59+00'", "'2020-03-29 01:30+00'", "'1969-12-31 23:00-05'", "'-infinity'"),
    "text": ("'a'", "'ab'", "''", "'A'", "'a b'", "'é'", "'日本'", "'%'", "'_x'", "'ab '", "'Σσς'", "'special'"),
    "char": ("'a'", "'ab'", "''", "'A'", "'abcd'", "'é'", "'a b'"),
    "real": ("0", "'-0'", "1", "-1.5", "'NaN'", "'inf'", "'-inf'", "0.25", "1e30"),
    "bool": ("true", "false"),
}
_CALM = {"date": 4, "ts": 3, "tz": 3}
"""Number of a kind's first values that are near the present; calm tables hold only these."""
_PATTERNS = ("%", "a%", "%b", "%a%", "_", "__", "a_", "", "%\\%%", "_b%", "%é", "a", "a   ", "%s%e%", "Σ%", "%ς")


@dataclass(slots=True)
class Star:
    """Rows for the tables."""

    chance: random.Random
    rows: int
    calm: bool
    """Whether there are neither NULLs nor values at the limits of their types."""

    def setup(self) -> Iterator[str]:
        """The statements that create them, with the facts in several files."""
        for name, columns in TABLES.items():
            listed = [f"{column} {kind}" for column, kind in columns.items()]
            yield f"CREATE TABLE {name} ({', '.join([*listed, *filter(None, [_KEYS.get(name)])])})"
        keys = list(range(-2, 9))
        for name in ("g", "h", "p"):
            made = self.chance.sample(keys, self.chance.randint(0, len(keys)))
            if made:
                yield f"INSERT INTO {name} VALUES {', '.join(self._row(name, number) for number in made)}"
        facts = [self._row("f", number) for number in range(self.rows)]
        cuts = sorted(self.chance.randint(0, self.rows) for _ in range(2))
        for part in (facts[: cuts[0]], facts[cuts[0] : cuts[1]], facts[cuts[1] :]):
            if part:
                yield f"INSERT INTO f VALUES {', '.join(part)}"

    def _row(self, name: str, number: int) -> str:
        key = {"g": {"k"}, "h": {"j"}, "p": {"k", "j"}, "f": {"id"}}[name]
        made = []
        for column, kind in TABLES[name].items():
            if column in key:
                made.append(str(number))
            elif column in {"k", "j"}:
                made.append(str(self.chance.randint(-3, 9)) if self.calm else self._one("int"))
            else:
                made.append(self._one(_TYPES[kind]))
        return f"({', '.join(made)})"

    def _one(self, kind: str) -> str:
        if not self.calm and self.chance.random() < 0.2:
            return "NULL"
        values = VALUES[kind]
        return self.chance.choice(values[: _CALM.get(kind, 6)] if self.calm else values)


@dataclass(slots=True)
class Maker:
    """Draws one query; with `calm` tables it may also extract fields of timestamps."""

    chance: random.Random
    calm: bool
    columns: dict[str, list[str]] = field(default_factory=dict)
    """The columns in scope, by kind."""

    def _see(self, table: str, alias: str) -> None:
        for column, kind in TABLES[table].items():
            self.columns.setdefault(_TYPES[kind], []).append(f"{alias}.{column}")

    # ---- expressions

    def value(self, kind: str, depth: int = 1) -> str:
        """An expression of a kind that fails for no row."""
        columns = self.columns.get(kind)
        if not columns:
            return f"{self.chance.choice(VALUES[kind])}::{_CAST[kind]}"
        one, other = self.chance.choice(columns), self.chance.choice(columns)
        if depth <= 0 or self.chance.random() < 0.55:
            return one
        if self.chance.random() < 0.3:
            return f"CASE WHEN {self.condition(depth - 1)} THEN {one} ELSE {other} END"
        if self.chance.random() < 0.3:
            return f"coalesce({one}, {self.chance.choice(VALUES[kind])}::{_CAST[kind]})"
        match kind:
            case "int":
                date = self.chance.choice(self.columns.get("date", ["DATE '2020-01-01'"]))
                parts = [f"extract({self.chance.choice(_FIELDS)} FROM {date})::int"] if self.calm else []
                return self.chance.choice([f"({one} % 5)", f"({one} + 1)", f"length({self.value('text', 0)})", *parts])
            case "big":
                return self.chance.choice((f"({one} / 3)", f"({one} % 7)", f"({one} / 2 + {self.value('int', 0)})"))
            case "num":
                return self.chance.choice(
                    (f"({one} * 2)", f"({one} - {other})", f"round({one}, 1)", f"({one} * {other})")
                )
            case "date":
                return f"least({one}, {other})"
            case "ts":
                unit = self.chance.choice(("day", "month", "year", "hour"))
                return f"date_trunc('{unit}', {one})" if self.calm else f"greatest({one}, {other})"
            case "tz":
                return f"date_trunc('day', {one})" if self.calm else one
            case "text":
                return self.chance.choice(
                    (f"upper({one})", f"lower({one})", f"substr({one}, 1, 1)", f"({one} || 'x')", f"nullif({one}, 'a')", f"reverse({one})")
                )  # fmt: skip
            case "real":
                return self.chance.choice((f"({one} / 4)", f"(- {one})", f"greatest({one}, {other})"))
            case "bool":
                return f"({self.condition(depth - 1)})"
        return one

    def condition(self, depth: int = 1) -> str:
        """A condition."""
        if depth > 0 and self.chance.random() < 0.35:
            arms = f"{self.condition(depth - 1)} {self.chance.choice(('AND', 'OR'))} {self.condition(depth - 1)}"
            return self.chance.choice((f"({arms})", f"NOT ({arms})"))
        kind = self.chance.choice([each for each in self.columns if each != "var"])
        one, constant = self.value(kind, depth), f"{self.chance.choice(VALUES[kind])}::{_CAST[kind]}"
        if kind in {"text", "char"} and self.chance.random() < 0.6:
            word = self.chance.choice(("LIKE", "NOT LIKE", "ILIKE", "NOT ILIKE"))
            return f"{self.chance.choice(self.columns[kind])} {word} '{self.chance.choice(_PATTERNS)}'"
        op = self.chance.choice(("=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM"))
        other = self.value(kind, 0)
        return self.chance.choice(
            (
                f"{one} {op} {constant}", f"{one} {op} {constant}", f"{one} {op} {other}", f"{one} IS NULL",
                f"{one} IS NOT NULL", f"{one} IN ({constant}, {self.chance.choice(VALUES[kind])}::{_CAST[kind]})",
                f"{one} NOT IN ({constant}, {other})", f"{one} BETWEEN {constant} AND {other}",
                f"({one} = {constant}) IS NOT TRUE",
            )
        )  # fmt: skip

    # ---- relations

    def source(self) -> str:
        """FROM: the facts and dimensions, by every kind of join; or a dimension and the facts that refer to it."""
        if self.chance.random() < 0.25:
            mine, table, theirs = self.chance.choice(_REFERENCES)
            self._see(table, "a")
            self._see("f", "f")
            return f"{table} a LEFT JOIN f ON f.{mine} = a.{theirs}{self._more(0.3)}"
        self._see("f", "f")
        made = "f"
        for number in range(self.chance.choice((0, 1, 1, 2, 2))):
            mine, table, theirs = self.chance.choice(_REFERENCES)
            alias = f"a{number}"
            on = f"f.{mine} = {alias}.{theirs}"
            if self.chance.random() < 0.2:
                table, on = "p", f"f.k = {alias}.k AND f.j = {alias}.j"
            elif self.chance.random() < 0.15:
                on = self.chance.choice(
                    (f"f.t = {alias}.name", f"f.x = {alias}.x", f"f.n = {alias}.n", f"f.b = {alias}.b")
                )
                table = "g"
            self._see(table, alias)
            how = self.chance.choice(("JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"))
            made += f" {how} {table} {alias} ON {on}{'' if how == 'FULL JOIN' else self._more(0.25)}"
        return made

    def _more(self, often: float) -> str:
        return f" AND {self.condition(0)}" if self.chance.random() < often else ""

    def where(self) -> str:
        """An optional WHERE, with subqueries."""
        parts = [self.condition(1) for _ in range(self.chance.choice((0, 1, 1, 2)))]
        if self.chance.random() < 0.25:
            mine, table, theirs = self.chance.choice(_REFERENCES)
            column = f"f.{mine}"
            parts.append(
                self.chance.choice(
                    (
                        f"EXISTS (SELECT 1 FROM {table} q WHERE q.{theirs} = {column} AND q.k > f.s)",
                        f"NOT EXISTS (SELECT 1 FROM {table} q WHERE q.{theirs} = {column})",
                        f"{column} IN (SELECT q.{theirs} FROM {table} q)", f"{column} NOT IN (SELECT q.k FROM {table} q)",
                        "f.b > (SELECT min(q.b) FROM f q WHERE q.k = f.k)",
                        f"f.s <= (SELECT max(q.k) FROM {table} q)",
                    )
                )
            )  # fmt: skip
        return f" WHERE {' AND '.join(parts)}" if parts else ""

    # ---- queries

    def call(self) -> str:
        """An aggregate."""
        kind = self.chance.choice([each for each in self.columns if each in {"int", "num", "big", "real", "text", "date", "bool", "var", "char", "ts"}])  # fmt: skip
        value = self.value(kind)
        calls = ["count(*)", f"count({value})", f"min({value})", f"max({value})", f"count(DISTINCT {value})"]
        if kind == "bool":
            calls = [f"bool_and({value})", f"bool_or({value})", f"count({value})"]
        if kind in {"int", "num", "var", "real"}:
            calls += [f"sum({value})", f"avg({value})", f"sum({value})"]
        if kind == "big":
            calls += [f"sum({value})", f"sum(DISTINCT {value})"]
        made = self.chance.choice(calls)
        return made + (f" FILTER (WHERE {self.condition(0)})" if self.chance.random() < 0.2 else "")

    def _key(self) -> str:
        kind = self.chance.choice([each for each in self.columns if each not in {"real", "var"}])
        return self.value(kind)

    def grouped(self) -> str:
        """Groups of all rows or by keys, perhaps by a declared key and dependent columns, with an optional LIMIT."""
        source = self.source()
        keys = [self._key() for _ in range(self.chance.choice((0, 1, 1, 2, 3)))]
        if "LEFT JOIN f" in source and self.chance.random() < 0.8:
            keys = list(dict.fromkeys(["a.k", "a.j", *(each for each in self._of("a") if self.chance.random() < 0.3)]))
        elif "a0" in source and self.chance.random() < 0.5:
            keys = list(dict.fromkeys(["f.k", "f.j", "a0.k", "a0.j", *(each for each in self._of("a0") if self.chance.random() < 0.3)]))  # fmt: skip
        calls = [self.call() for _ in range(self.chance.randint(1, 3))]
        listed = [f"{each} AS c{number}" for number, each in enumerate([*keys, *calls])]
        by = f" GROUP BY {', '.join(str(number) for number in range(1, len(keys) + 1))}" if keys else ""
        having = f" HAVING count(*) > {self.chance.randint(0, 2)}" if self.chance.random() < 0.15 else ""
        made = f"SELECT {', '.join(listed)} FROM {source}{self.where()}{by}{having}"
        return made + self._ordered(len(listed), len(keys)) if keys else made

    def _of(self, alias: str) -> list[str]:
        return [each for kind in self.columns if kind not in {"real", "var"} for each in self.columns[kind] if each.startswith(f"{alias}.")]  # fmt: skip

    def _ordered(self, width: int, keys: int) -> str:
        """An order by the last column, then by the keys, that leaves no peers; and a LIMIT."""
        if self.chance.random() < 0.5:
            return ""
        places = [width, *range(1, keys + 1)]
        words = ("", " DESC", " NULLS FIRST", " DESC NULLS LAST")
        order = ", ".join(f"{place}{self.chance.choice(words)}" for place in dict.fromkeys(places))
        limit = f" LIMIT {self.chance.choice((0, 1, 3, 7, 100))}" if self.chance.random() < 0.8 else ""
        return f" ORDER BY {order}{limit}" + (
            f" OFFSET {self.chance.randint(0, 3)}" if self.chance.random() < 0.2 else ""
        )

    def plain(self) -> str:
        """A query without grouping."""
        source = self.source()
        items = [self.value(self.chance.choice([each for each in self.columns if each != "var"])) for _ in range(self.chance.randint(1, 5))]  # fmt: skip
        listed = ", ".join(f"{each} AS c{number}" for number, each in enumerate(items))
        made = f"SELECT {self.chance.choice(('', '', 'DISTINCT '))}{listed} FROM {source}{self.where()}"
        return made + self._ordered(len(items), len(items))

    def statement(self) -> str:
        """One query."""
        return self.grouped() if self.chance.random() < 0.65 else self.plain()


_CAST = {
    "int": "int", "big": "bigint", "num": "numeric(9,2)", "var": "numeric", "date": "date", "ts": "timestamp",
    "tz": "timestamptz", "text": "text", "char": "char(4)", "real": "float8", "bool": "boolean",
}  # fmt: skip
_FIELDS = ("year", "month", "day", "quarter", "dow", "isodow", "doy")
