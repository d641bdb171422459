"""Binding an operand once: DuckDB expands templates as text, and evaluates what stands in them twice, twice."""

from __future__ import annotations

from collections.abc import Callable

from gpudb.functions.registry import Operands

_SHORT = 64

DETAIL = "\x1f"
"""Stands between an error's message and its detail where both go through the engine."""


def let(body: Callable[..., str], *values: str) -> str:
    """`body` of SQL names that stand for `values`; short operands are put in as they are.

    Long ones become the fields of a lambda's parameter, so that nested calls grow linearly in text and work. In
    parentheses: of `pg_v.x0` DuckDB makes a column in HAVING.
    """
    if all(len(value) <= _SHORT for value in values):
        return body(*values)
    if len(values) == 1:
        return f"list_transform([{values[0]}], lambda pg_v: {body('pg_v')})[1]"
    fields = ", ".join(f"x{number} := {value}" for number, value in enumerate(values))
    names = [f"(pg_v).x{number}" for number in range(len(values))]
    return f"list_transform([struct_pack({fields})], lambda pg_v: {body(*names)})[1]"


def once(name: str) -> Callable[[Operands], str]:
    """The template of a macro that mentions its operands several times: each is bound before."""
    return lambda operands: let(lambda *names: f"{name}({', '.join(names)})", *operands.sql)


def raises(state: str, message: str, duckdb: str, *, detail: str | None = None) -> str:
    """An error as a value of a DuckDB type; `message` is a SQL expression, `detail` plain text."""
    if detail is not None:
        message = f"{message} || chr({ord(DETAIL)}) || '{detail}'"
    return f"CAST(pg_error('{state}', {message}) AS {duckdb})"
