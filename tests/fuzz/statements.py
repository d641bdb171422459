"""Makes statements, seeded: generated ones, mutations of these and of the suites' own, and shapes that strain a parser."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.differential.generated import casts, expressions, operators, queries
from tests.differential.script import read_all
from tests.fuzz import constructs

_QUERIES = Path(__file__).parents[2] / "benchmarks" / "queries"

_TOKEN = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|\$\$.*?\$\$|\w+|\s+|[^\w\s]", re.S)

_STRAY = (
    "'", '"', "(", ")", "[", "]", ";", ",", "$$", "$1", "::", "--", "/*", "*/", "\\", "\x01", "\x7f", "\t", "é", "日本",
    "\u200b", "\ufeff", "𝛑", "E'\\x", "U&'\\00", "B'2'", "X'g'", "0x", "1e999", "99999999999999999999999999999999999999999",
    "NULL", "DEFAULT", "*", ".", "SELECT", "FROM", "WHERE", "GROUP BY", "OVER ()", "FILTER (WHERE true)", "LATERAL",
    "WITH RECURSIVE", "INTERVAL '1'", "ARRAY[]", "ROW()", "CASE", "ANY", "COLLATE \"C\"", "::int[]", "::nothing",
    "AT TIME ZONE 'x'", "ORDER BY 1", "LIMIT -1", "RETURNING *", "USING", "NATURAL", "FOR UPDATE", "TABLESAMPLE SYSTEM (1)",
)  # fmt: skip

_VALUES = (
    "NULL", "''", "'x'", "0", "-1", "2147483648", "9223372036854775807", "1e400", "'NaN'::float8", "'infinity'::date",
    "'0001-01-01 BC'::date", "'\u0301'", "E'\\u0000'", "true", "interval '1e10 years'", "'{1,{2}}'::int[]", "0.1::numeric(3,3)",
    "(SELECT 1)", "(SELECT 1, 2)", "(VALUES (1), (2))", "count(*)", "row_number() OVER ()", "current_user", "$1",
    "ARRAY[NULL]", "ROW(1, 'a')", "'[]'::json", "'x'::uuid", "'\\x0'::bytea", "generate_series(1, 3)",
)  # fmt: skip


def corpus() -> list[str]:
    """Every statement of the differential cases and the benchmarks."""
    found = [each.sql for statements in read_all().values() for each in statements]
    found += [path.read_text(encoding="utf-8") for path in sorted(_QUERIES.glob("*/q*.sql"))]
    return found


def setup() -> list[str]:
    """What makes the tables that the corpus names."""
    found = [path.read_text(encoding="utf-8") for path in sorted(_QUERIES.glob("*/schema.sql"))]
    found += [each.sql for statements in read_all().values() for each in statements if each.setup]
    return [*found, *expressions.SETUP, *queries.SETUP]


def _tokens(sql: str) -> list[str]:
    return _TOKEN.findall(sql)


def _words(parts: list[str]) -> list[int]:
    return [index for index, part in enumerate(parts) if part and not part.isspace()]


def _delete(chance: random.Random, parts: list[str], others: list[str]) -> None:
    for _ in range(chance.randint(1, 2)):
        del parts[chance.choice(_words(parts) or [0])]
        if not _words(parts):
            return


def _swap(chance: random.Random, parts: list[str], others: list[str]) -> None:
    one, other = chance.choice(_words(parts)), chance.choice(_words(parts))
    parts[one], parts[other] = parts[other], parts[one]


def _insert(chance: random.Random, parts: list[str], others: list[str]) -> None:
    parts.insert(chance.randrange(len(parts) + 1), f" {chance.choice(_STRAY)} ")


def _repeat(chance: random.Random, parts: list[str], others: list[str]) -> None:
    start = chance.randrange(len(parts))
    piece = parts[start : start + chance.randint(1, 8)]
    parts[start:start] = piece * chance.randint(1, 3)


def _cut(chance: random.Random, parts: list[str], others: list[str]) -> None:
    text = "".join(parts)
    parts[:] = [text[: chance.randrange(len(text))]]


def _value(chance: random.Random, parts: list[str], others: list[str]) -> None:
    """Another value where a literal or name stands: the statement often stays well formed."""
    places = [i for i, part in enumerate(parts) if (part[:1] in "'0123456789" and part) or part.islower()]
    parts[chance.choice(places or _words(parts))] = chance.choice(_VALUES)


def _borrow(chance: random.Random, parts: list[str], others: list[str]) -> None:
    """A stretch of another statement."""
    start = chance.randrange(len(parts))
    begin = chance.randrange(len(others))
    parts[start : start + chance.randint(0, 4)] = [" ", *others[begin : begin + chance.randint(1, 12)], " "]


def _character(chance: random.Random, parts: list[str], others: list[str]) -> None:
    text = "".join(parts)
    at = chance.randrange(len(text))
    made = chance.choice((chr(chance.randrange(1, 0xD7FF)), chr(chance.randrange(1, 128)), ""))
    parts[:] = [text[:at] + made + text[at + 1 :]]


_TYPE = re.compile(r"::\s*_?[a-z]\w*")
_TYPES = (
    *expressions.TYPES,
    "json",
    "oid",
    "regclass",
    "numeric(3,1)",
    "varchar(2)",
    "char(1)",
    "int4[][]",
    "record",
    "nothing",
)


def _retype(chance: random.Random, parts: list[str], others: list[str]) -> None:
    """Another type in a cast."""
    text = "".join(parts)
    found = list(_TYPE.finditer(text))
    if found:
        at = chance.choice(found)
        text = f"{text[: at.start()]}::{chance.choice(_TYPES)}{text[at.end() :]}"
    parts[:] = _tokens(text) or [text]


def _huge(chance: random.Random, parts: list[str], others: list[str]) -> None:
    """A huge literal where a literal stands."""
    places = [i for i, part in enumerate(parts) if part[:1] in "'0123456789" and part] or _words(parts)
    size = chance.choice((40, 400, 4_000))
    parts[chance.choice(places)] = chance.choice(
        ("'" + "x" * size + "'", "9" * size, "0." + "3" * size, "'{" + "1," * size + "1}'", "1e" + "9" * 6)
    )


def _nest(chance: random.Random, parts: list[str], others: list[str]) -> None:
    """A stretch within parentheses, many of them."""
    start = chance.choice(_words(parts))
    depth = chance.choice((2, 20, 60))
    parts[start] = "(" * depth + parts[start] + ")" * depth


_MUTATIONS: tuple[Callable[[random.Random, list[str], list[str]], None], ...] = (
    _delete, _swap, _insert, _repeat, _cut, _value, _value, _value, _value, _value, _value, _borrow, _character,
    _retype, _retype, _huge, _nest,
)  # fmt: skip


def mutated(chance: random.Random, statements: list[str]) -> str:
    """One statement of the corpus with one to three mutations."""
    parts = _tokens(chance.choice(statements))
    others = _tokens(chance.choice(statements))
    for _ in range(chance.choice((1, 1, 1, 1, 2, 3))):
        if _words(parts):
            chance.choice(_MUTATIONS)(chance, parts, others)
    return "".join(parts)


def well_formed(chance: random.Random, statements: list[str]) -> str:
    """A statement of the generated suites or of `constructs`, over their own tables."""
    match chance.choice(("expression", "query", "query", "operator", "cast", "construct", "construct")):
        case "expression":
            return next(expressions.statements(chance, 1)).sql
        case "query":
            return next(queries.statements(chance, 1)).sql
        case "operator":
            return operators.one(chance).sql
        case "construct":
            return constructs.statement(chance)
        case _:
            return casts.one(chance).sql


def broken(chance: random.Random, statements: list[str]) -> str:
    """A generated statement with one to three mutations."""
    return mutated(chance, [well_formed(chance, statements), well_formed(chance, statements)])


def noise(chance: random.Random, statements: list[str]) -> str:
    """Tokens of the corpus in any order, and characters of any kind."""
    pool = _tokens(chance.choice(statements)) + _tokens(chance.choice(statements)) + list(_STRAY)
    return " ".join(chance.choice(pool) for _ in range(chance.randint(1, 40)))


def _operand(chance: random.Random, depth: int) -> str:
    if depth <= 0 or chance.random() < 0.2:
        return chance.choice(_VALUES)
    one, two = _operand(chance, depth - 1), _operand(chance, depth - 1)
    return chance.choice(
        (
            f"({one} {chance.choice(('+', '-', '*', '/', '%', '^', '||', '=', '<', '<>', 'AND', 'OR', 'LIKE', '~', '->', '@>', '&', '<<'))} {two})",
            f"CASE WHEN {one} THEN {two} ELSE {one} END",
            f"coalesce({one}, {two})",
            f"{chance.choice(('abs', 'length', 'upper', 'sum', 'max', 'date_trunc', 'round', 'to_char', 'array_agg', 'substring', 'extract', 'lag', 'nullif', 'greatest', 'format', 'string_agg', 'regexp_replace', 'lpad', 'chr', 'repeat', 'age', 'make_date', 'left', 'json_build_object'))}({one}, {two})",
            f"({one})::{chance.choice(('int', 'text', 'numeric', 'numeric(5,2)', 'date', 'timestamptz', 'interval', 'bool', 'float8', 'int[]', 'uuid', 'json', 'bytea', 'char(2)', 'oid', 'regclass', 'time'))}",
            f"{one} BETWEEN {two} AND {one}",
            f"{one} IN ({two}, {one})",
            f"NOT {one} IS NULL",
            f"({one} IS DISTINCT FROM {two})",
            f"ARRAY[{one}, {two}]",
            f"({one})[{two}]",
        )
    )  # fmt: skip


def expression(chance: random.Random, statements: list[str]) -> str:
    """SELECT of a well-formed expression whose types seldom fit."""
    shape = chance.choice(
        (
            "SELECT {0}", "SELECT {0}, {1}", "SELECT x FROM (SELECT {0} AS x) t WHERE {1}",
            "SELECT count(*) FROM generate_series(1, 3) g WHERE {0}", "SELECT {0} GROUP BY {1}", "SELECT {0} ORDER BY {1}",
            "VALUES ({0}, {1}), ({1}, {0})", "SELECT {0} UNION SELECT {1}", "WITH a AS (SELECT {0} AS v) SELECT v, {1} FROM a",
            "SELECT sum(v) OVER (ORDER BY {1}) FROM (SELECT {0} AS v) t", "SELECT * FROM (VALUES ({0})) a(x) JOIN (VALUES ({1})) b(x) USING (x)",
        )
    )  # fmt: skip
    return shape.format(_operand(chance, chance.randint(1, 3)), _operand(chance, chance.randint(1, 3)))


def strain(chance: random.Random, statements: list[str]) -> str:
    """Depth, width and length."""
    n = chance.choice((10, 100, 1000, 5000, 20_000))
    return chance.choice(
        (
            lambda: "SELECT " + "(" * n + "1" + ")" * n,
            lambda: "SELECT " + "(" * n + "1",
            lambda: "SELECT " + "- " * n + "1",
            lambda: "SELECT " + "NOT " * n + "true",
            lambda: "SELECT " + "1 + " * n + "1",
            lambda: "SELECT " + "'a' || " * n + "'b'",
            lambda: "SELECT 1 WHERE " + "true AND " * n + "true",
            lambda: "SELECT 1 WHERE " + "(true OR " * n + "true" + ")" * n,
            lambda: "SELECT " + "abs(" * n + "1" + ")" * n,
            lambda: "SELECT " + "CASE WHEN true THEN " * n + "1" + " END" * n,
            lambda: "SELECT * FROM " + "(SELECT * FROM " * n + "(SELECT 1) a" + ") a" * n,
            lambda: "SELECT " + "(SELECT " * n + "1" + ")" * n,
            lambda: "SELECT 1 " + "UNION ALL SELECT 1 " * min(n, 1000),
            lambda: "SELECT 1 WHERE 1 IN (" + ", ".join(map(str, range(n))) + ")",
            lambda: "SELECT " + ", ".join(["1"] * n),
            lambda: "VALUES " + ", ".join(["(1, 'x')"] * n),
            lambda: "SELECT ARRAY[" * min(n, 1000) + "1" + "]" * min(n, 1000),
            lambda: "SELECT 1::int" + "[]" * n,
            lambda: "SELECT 1" + "::int::text" * n,
            lambda: "SELECT '" + "x" * (n * 50) + "'",
            lambda: "SELECT " + "9" * n,
            lambda: "SELECT 0." + "9" * n,
            lambda: "SELECT 1e" + "9" * n,
            lambda: 'SELECT 1 AS "' + "é" * n + '"',
            lambda: "SELECT a" + ".a" * n,
            lambda: "/*" * n + "*/" * n + "SELECT 1",
            lambda: "/*" * n,
            lambda: ";" * n,
            lambda: "SELECT 1;" * min(n, 200),
            lambda: "WITH " + ", ".join(f"c{i} AS (SELECT {i})" for i in range(min(n, 1000))) + " SELECT 1",
            lambda: "SELECT * FROM " + ", ".join(f"(SELECT 1) t{i}" for i in range(min(n, 1000))),
            lambda: "SELECT 1 FROM (SELECT 1 x) t0 " + " ".join(f"JOIN (SELECT 1 x) t{i} ON t{i}.x = t{i - 1}.x" for i in range(1, min(n, 40))),
            lambda: "SELECT $" + "9" * min(n, 30),
            lambda: "SELECT '" + "(" * n + "' ~ '" + "(" * n + "'",
            lambda: "SELECT '" + "[" * n + "'::json",
            lambda: "SELECT '" + "{" * n + "'::int[]",
            lambda: "EXPLAIN " * min(n, 5) + "SELECT 1",
            lambda: "PREPARE p" + str(n) + " AS " + "SELECT 1 " + "UNION SELECT $1 " * min(n, 100),
            lambda: "SELECT format('%" + "9" * min(n, 100) + "s', 1)",
            lambda: "".join(chr(chance.randrange(1, 0xD7FF)) for _ in range(n)),
        )
    )()  # fmt: skip


def megabyte(chance: random.Random, statements: list[str]) -> str:
    """A statement of a megabyte: well-formed, or cut short."""
    piece = chance.choice(("(1, 'x'), ", "'é', ", "1 + ", "/* */ ", "x ", "((", "a.b, ", "'"))
    return "SELECT " + piece * ((1 << 20) // len(piece.encode()))


def statements(seed: int, count: int) -> Iterator[str]:
    """`count` statements; the same for the same seed."""
    chance = random.Random(seed)
    known = corpus()
    kinds = (mutated, expression, well_formed, broken, noise, strain, megabyte)
    weights = (35, 15, 22, 22, 3, 2.8, 0.2)
    for _ in range(count):
        make = chance.choices(kinds, weights)[0]
        # NUL ends a message's text: it is the protocol's matter
        yield make(chance, known).replace("\0", "")
