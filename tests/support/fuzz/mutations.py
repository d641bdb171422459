"""Malformed statements: well-formed ones with tokens dropped, swapped, borrowed and replaced, and random tokens."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from tests.support.generated import expressions

_TOKEN = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|\$\$.*?\$\$|\w+|\s+|[^\w\s]", re.S)

_STRAY = (
    "'", '"', "(", ")", "[", "]", ";", ",", "$$", "$1", "::", "--", "/*", "*/", "\\", "\x01", "\x7f", "\t", "é", "日本",
    "\u200b", "\ufeff", "𝛑", "E'\\x", "U&'\\00", "B'2'", "X'g'", "0x", "1e999", "99999999999999999999999999999999999999999",
    "NULL", "DEFAULT", "*", ".", "SELECT", "FROM", "WHERE", "GROUP BY", "OVER ()", "FILTER (WHERE true)", "LATERAL",
    "WITH RECURSIVE", "INTERVAL '1'", "ARRAY[]", "ROW()", "CASE", "ANY", "COLLATE \"C\"", "::int[]", "::nothing",
    "AT TIME ZONE 'x'", "ORDER BY 1", "LIMIT -1", "RETURNING *", "USING", "NATURAL", "FOR UPDATE", "TABLESAMPLE SYSTEM (1)",
)  # fmt: skip

VALUES = (
    "NULL", "''", "'x'", "0", "-1", "2147483648", "9223372036854775807", "1e400", "'NaN'::float8", "'infinity'::date",
    "'0001-01-01 BC'::date", "'\u0301'", "E'\\u0000'", "true", "interval '1e10 years'", "'{1,{2}}'::int[]", "0.1::numeric(3,3)",
    "(SELECT 1)", "(SELECT 1, 2)", "(VALUES (1), (2))", "count(*)", "row_number() OVER ()", "current_user", "$1",
    "ARRAY[NULL]", "ROW(1, 'a')", "'[]'::json", "'x'::uuid", "'\\x0'::bytea", "generate_series(1, 3)",
)  # fmt: skip


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
    """Replaces a literal or name by another: the statement often stays well-formed."""
    places = [i for i, part in enumerate(parts) if (part[:1] in "'0123456789" and part) or part.islower()]
    parts[chance.choice(places or _words(parts))] = chance.choice(VALUES)


def _borrow(chance: random.Random, parts: list[str], others: list[str]) -> None:
    """Inserts tokens of another statement."""
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
    """Replaces the type of a cast."""
    text = "".join(parts)
    found = list(_TYPE.finditer(text))
    if found:
        at = chance.choice(found)
        text = f"{text[: at.start()]}::{chance.choice(_TYPES)}{text[at.end() :]}"
    parts[:] = _tokens(text) or [text]


def _huge(chance: random.Random, parts: list[str], others: list[str]) -> None:
    """Replaces a literal by a huge one."""
    places = [i for i, part in enumerate(parts) if part[:1] in "'0123456789" and part] or _words(parts)
    size = chance.choice((40, 400, 4_000))
    parts[chance.choice(places)] = chance.choice(
        ("'" + "x" * size + "'", "9" * size, "0." + "3" * size, "'{" + "1," * size + "1}'", "1e" + "9" * 6)
    )


def _nest(chance: random.Random, parts: list[str], others: list[str]) -> None:
    """Puts a token into many parentheses."""
    start = chance.choice(_words(parts))
    depth = chance.choice((2, 20, 60))
    parts[start] = "(" * depth + parts[start] + ")" * depth


_MUTATIONS: tuple[Callable[[random.Random, list[str], list[str]], None], ...] = (
    _delete, _swap, _insert, _repeat, _cut, _value, _value, _value, _value, _value, _value, _borrow, _character,
    _retype, _retype, _huge, _nest,
)  # fmt: skip


def mutated(chance: random.Random, sql: str, other: str) -> str:
    """Applies one to three mutations to a statement, which may borrow from the other."""
    parts, others = _tokens(sql), _tokens(other)
    for _ in range(chance.choice((1, 1, 1, 1, 2, 3))):
        if _words(parts):
            chance.choice(_MUTATIONS)(chance, parts, others)
    return "".join(parts)


def noise(chance: random.Random, sql: str, other: str) -> str:
    """Tokens of two statements in random order, with random others."""
    pool = [*_tokens(sql), *_tokens(other), *_STRAY]
    return " ".join(chance.choice(pool) for _ in range(chance.randint(1, 40)))
