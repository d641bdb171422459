"""LIKE and regular expressions in Python, for what RE2 lacks; a call that takes long goes on in a process of its own.

Patterns that are tried may take for ever, and hold the interpreter's lock. What does not end in QUICK_S is begun anew
in a matcher process, which ends with its statement's cancel or timeout: the last operand is the statement's number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from gpudb.duckdb import running
from gpudb.duckdb.udf import matcher
from gpudb.duckdb.udf.registry import FunctionRegistry
from gpudb.functions import regex_matching
from gpudb.functions.patterns import replace_like_escape
from gpudb.functions.posix_regex import translate, translate_similar

QUICK_S = 0.02
_BOUNDED: dict[str, tuple[Callable[..., Any], str, str]] = {
    "pg_like": (regex_matching.like, "VARCHAR VARCHAR BOOLEAN", "BOOLEAN"),
    "pg_similar_substring": (regex_matching.similar_substring, "VARCHAR VARCHAR VARCHAR", "VARCHAR"),
    "pg_regex_replace": (regex_matching.replace, "VARCHAR VARCHAR VARCHAR INTEGER BIGINT VARCHAR", "VARCHAR"),
    "pg_regex_substring": (regex_matching.substring, "VARCHAR VARCHAR", "VARCHAR"),
    "pg_regex_count": (regex_matching.count, "VARCHAR VARCHAR INTEGER VARCHAR", "INTEGER"),
    "pg_regex_substr": (regex_matching.substr, "VARCHAR VARCHAR INTEGER INTEGER VARCHAR INTEGER", "VARCHAR"),
    "pg_regex_instr": (regex_matching.instr, "VARCHAR VARCHAR INTEGER INTEGER INTEGER VARCHAR INTEGER", "INTEGER"),
    "pg_regex_match": (regex_matching.find_groups, "VARCHAR VARCHAR VARCHAR", "VARCHAR[]"),
    "pg_regex_matches": (regex_matching.find_all_groups, "VARCHAR VARCHAR VARCHAR", "VARCHAR[][]"),
    "pg_regex_split": (regex_matching.split, "VARCHAR VARCHAR VARCHAR", "VARCHAR[]"),
}


def register(registry: FunctionRegistry) -> None:
    """Registers LIKE and the regexp functions."""
    registry.add_scalar("pg_like_escape", "VARCHAR VARCHAR", "VARCHAR", replace_like_escape)
    registry.add_scalar("pg_similar", "VARCHAR VARCHAR", "VARCHAR", translate_similar)
    registry.add_scalar("pg_bytes_like_escape", "BLOB BLOB", "BLOB", lambda pattern, escape: replace_like_escape(
        pattern.decode("latin-1"), escape.decode("latin-1")).encode("latin-1"))  # fmt: skip
    registry.add_columnar("pg_bytes_like", "BLOB BLOB BIGINT", "BOOLEAN", _like_bytes)
    registry.add_scalar("pg_regex_like", "VARCHAR VARCHAR VARCHAR BIGINT", "BOOLEAN", is_match)
    for name, (function, parameters, result) in _BOUNDED.items():
        registry.add_scalar(name, f"{parameters} BIGINT", result, _bound(function))


def _like_bytes(values: pa.Array, patterns: pa.Array, statements: pa.Array) -> pa.BooleanArray:
    """LIKE of bytea: of one pattern of bytes between `%` at once, else value by value."""
    distinct = patterns.unique()
    pattern = distinct[0].as_py() if len(distinct) == 1 else None
    if pattern is not None and b"_" not in pattern and b"\\" not in pattern and pattern.count(b"%") <= 2:
        first, *others = pattern.split(b"%")
        if not others:
            return pc.equal(values, pattern)
        if len(others) == 1:
            found = pc.and_(pc.starts_with(values, first), pc.ends_with(values, others[0]))
            return pc.and_(found, pc.greater_equal(pc.binary_length(values), len(first) + len(others[0])))
        if not first and not others[1]:
            return pc.match_substring(values, others[0])
    match = _bound(regex_matching.like_bytes)
    rows = zip(values.to_pylist(), patterns.to_pylist(), statements.to_pylist(), strict=True)
    return pa.array([None if value is None or like is None else match(value, like, n) for value, like, n in rows],
                    pa.bool_())  # fmt: skip


def _bound(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that calls one of `regex_matching` for the statement of a number.

    57014 if that is cancelled; 54000 if a call without a statement takes matcher.LIMIT_S.
    """

    def call(*operands: Any) -> Any:
        *arguments, statement = operands
        running.check(statement)
        try:
            return regex_matching.call_within(QUICK_S, function, arguments)
        except TimeoutError:
            return matcher.call(function.__name__, arguments, statement)

    return call


def is_match(text: str, pattern: str, flags: str, statement: int = 0) -> bool:
    """Returns whether a text matches: by RE2, which takes linear time, if that is slow and RE2 can."""
    running.check(statement)
    try:
        with regex_matching.limit_time(QUICK_S):
            return regex_matching.is_match(text, pattern, flags)
    except TimeoutError:
        translated = translate(pattern, flags)
        if translated.python_only:
            return bool(matcher.call("is_match", (text, pattern, flags), statement))
    expression = ("" if translated.stops else "(?s)") + translated.re2
    found = pc.match_substring_regex(pa.array([text]), expression, ignore_case=translated.ignore_case)
    return bool(found[0].as_py())
