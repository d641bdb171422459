"""Binding of an operand to a name: DuckDB expands templates as text, and evaluates repeated operands repeatedly."""

from __future__ import annotations

import re
from collections.abc import Callable

from gpudb.functions.registry import Operands

_SHORT = 64
# Names, parameters of lambdas and constants.
_PLAIN = re.compile(
    r"""(?:\w+|\(\w+\)|"(?:[^"]|"")*")(?:\.\w+|\."(?:[^"]|"")*")*|(?:unhex\()?'(?:[^']|'')*'(?:\)|::BLOB)?"""
)

DETAIL = "\x1f"
"""Separator of an error's message and detail when both pass through the engine."""


HINT = "\x1e"
"""Separator of what is before and the hint."""


CONTEXT = "\x1d"
"""Separator of what is before and the context."""
_LITERAL = re.compile(r"'(?:[^']|'')*'")


def bind_values(body: Callable[..., str], *values: str) -> str:
    """Applies `body` to SQL names that denote `values`; short operands are inserted directly.

    Long ones become the fields of a lambda's parameter, so that nested calls grow linearly in text and work. The names
    are in parentheses: in HAVING DuckDB takes `pg_v.x0` for a column.
    """
    if all(len(value) <= _SHORT for value in values):
        return body(*values)
    if len(values) == 1:
        return f"list_transform([{values[0]}], lambda pg_v: {body('pg_v')})[1]"
    fields = ", ".join(f"x{number} := {value}" for number, value in enumerate(values))
    names = [f"(pg_v).x{number}" for number in range(len(values))]
    return f"list_transform([struct_pack({fields})], lambda pg_v: {body(*names)})[1]"


def bind_computed(body: Callable[..., str], *values: str) -> str:
    """Applies `body` as `bind_values` does, with names and constants of any length inserted directly.

    DuckDB computes what depends on constants alone once, which it cannot do with fields of a lambda's parameter.
    """
    return body(*values) if all(map(_PLAIN.fullmatch, values)) else bind_values(body, *values)


def call_lookup(macro: str, value: str) -> str:
    """Calls a macro that looks its operand up in the catalog, by subqueries that mention it several times.

    An operand that is computed becomes a column first: lookups inside lookups would otherwise be planned once for each
    combination of mentions.
    """
    if _PLAIN.fullmatch(value):
        return f"{macro}({value})"
    return f"(SELECT {macro}(pg_looked.up) FROM (SELECT {value} AS up) AS pg_looked)"


def make_macro_template(name: str) -> Callable[[Operands], str]:
    """Returns the template of a macro that mentions its operands several times, each bound once."""
    return lambda operands: bind_values(lambda *names: f"{name}({', '.join(names)})", *operands.sql)


def render_error(state: str, message: str, duckdb: str, *, detail: str | None = None) -> str:
    """Returns an error as a value of a DuckDB type; `message` is a SQL expression, `detail` plain text."""
    if detail is not None:
        message = f"{message} || chr({ord(DETAIL)}) || '{detail}'"
    elif _LITERAL.fullmatch(message):  # planned faster than the macro
        return f"CAST(CAST(CAST('[{state}] {message[1:]} AS INTEGER) AS VARCHAR) AS {duckdb})"
    return f"CAST(pg_error('{state}', {message}) AS {duckdb})"
