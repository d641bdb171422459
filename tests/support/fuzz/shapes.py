"""Statements that strain a parser and a planner: operands of unfitting types, depth, width and length."""

from __future__ import annotations

import random

from tests.support.fuzz.mutations import VALUES


def _operand(chance: random.Random, depth: int) -> str:
    if depth <= 0 or chance.random() < 0.2:
        return chance.choice(VALUES)
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


def expression(chance: random.Random) -> str:
    """SELECT of a well-formed expression whose types rarely fit."""
    shape = chance.choice(
        (
            "SELECT {0}", "SELECT {0}, {1}", "SELECT x FROM (SELECT {0} AS x) t WHERE {1}",
            "SELECT count(*) FROM generate_series(1, 3) g WHERE {0}", "SELECT {0} GROUP BY {1}", "SELECT {0} ORDER BY {1}",
            "VALUES ({0}, {1}), ({1}, {0})", "SELECT {0} UNION SELECT {1}", "WITH a AS (SELECT {0} AS v) SELECT v, {1} FROM a",
            "SELECT sum(v) OVER (ORDER BY {1}) FROM (SELECT {0} AS v) t", "SELECT * FROM (VALUES ({0})) a(x) JOIN (VALUES ({1})) b(x) USING (x)",
        )
    )  # fmt: skip
    return shape.format(_operand(chance, chance.randint(1, 3)), _operand(chance, chance.randint(1, 3)))


def strain(chance: random.Random) -> str:
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


def megabyte(chance: random.Random) -> str:
    """A statement of a megabyte: well-formed or truncated."""
    piece = chance.choice(("(1, 'x'), ", "'é', ", "1 + ", "/* */ ", "x ", "((", "a.b, ", "'"))
    return "SELECT " + piece * ((1 << 20) // len(piece.encode()))
