"""Implementations of PostgreSQL's functions by engine: the topic files declare them, engines look them up.

A declaration names functions by their PostgreSQL signature (`int4pl(int4,int4)`) or, for all overloads, by name. The
DuckDB text is a template over operands (`{0}`, `{1}`, …) or a callable that gets `Operands`. For an aggregate or window
function the text holds the bare call (`sum({0})`); the engine adds DISTINCT, FILTER, ORDER BY and OVER to it, which is
why a callable for one builds each call with `operands.call(name, *args)`. A set-returning function's text is an
expression whose value is a LIST of the rows' values (of STRUCTs for several columns); the engine unnests it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache

from gpudb.errors import FeatureNotSupported
from gpudb.functions.carried import is_wide_layout, use_layout
from gpudb.functions.library import Function
from gpudb.types import MAX_DIGITS, SqlType

__all__ = [
    "MISSING",
    "STATEMENT",
    "Function",
    "Implementation",
    "Operands",
    "Template",
    "declare",
    "declare_wide",
    "get_implementation",
    "get_result_type",
    "get_wide_implementation",
]

MISSING = object()
STATEMENT = "coalesce(getvariable('gpudb_statement'), 0)::BIGINT"
"""The running statement's number in SQL, with which functions in Python ask whether it is cancelled."""


@dataclass(frozen=True, slots=True)
class Operands:
    """The operands of one call as DuckDB SQL.

    `sql[i]` is operand i; for a numeric it is the decimal alone, and `scales[i]` its display scale (a constant's text
    if all values have the same). `constants[i]` is its value if that is known now, else MISSING. `result` is the call's
    type.
    """

    sql: tuple[str, ...]
    scales: tuple[str, ...]
    types: tuple[SqlType, ...]
    constants: tuple[object, ...]
    result: SqlType
    call: Callable[..., str] = field(default=lambda name, *args: f"{name}({', '.join(args)})")


Template = str | Callable[[Operands], str]
ResultRule = Callable[[Sequence[SqlType], Sequence[object]], SqlType]


@dataclass(frozen=True, slots=True)
class Implementation:
    """How a function is computed.

    duckdb: the value. scale: the display scale of a carried numeric result. result: the exact result type if
    PostgreSQL's declared one leaves it open (numeric digits), from the operands' types and constants. session: computed
    by the session instead, from its state and constant operands (`now()`, `current_user`). rows: a SELECT of a set's
    rows instead of its list, for constant operands: it streams, and can be cancelled.
    """

    duckdb: Template | None = None
    scale: Template | None = None
    result: ResultRule | None = None
    session: str | None = None
    rows: Template | None = None


_IMPLEMENTATIONS: dict[str, Implementation] = {}
_WIDE: dict[str, Implementation] = {}
"""Those of numerics in the wide form."""
_OF_KEYS = frozenset({"min", "max"})
"""Functions of numerics that look at keys and scales alone, which any form has."""
_DEVICE_CODE: list[Callable[[Function], Implementation]] = []
"""What makes the implementation of a function of device code."""


def declare(
    names: str,
    duckdb: Template | None = None,
    *,
    scale: Template | None = None,
    result: ResultRule | None = None,
    session: str | None = None,
    rows: Template | None = None,
) -> None:
    """Declares the implementation of the functions named in `names` (separated by blanks)."""
    implementation_ = Implementation(duckdb, scale, result, session, rows)
    for name in names.split():
        if name in _IMPLEMENTATIONS:
            raise ValueError(f"{name} is declared twice")
        _IMPLEMENTATIONS[name] = implementation_


def declare_wide(names: str, duckdb: Template) -> None:
    """Declares how the functions named in `names` are computed over wide numerics; a numeric result is wide too."""
    for name in names.split():
        if name in _WIDE:
            raise ValueError(f"{name} is declared twice")
        _WIDE[name] = Implementation(duckdb)


def declare_device_code(make: Callable[[Function], Implementation]) -> None:
    """Declares what makes the implementation of a function, or aggregate, of device code."""
    _DEVICE_CODE.append(make)


def get_implementation(function: Function) -> Implementation:
    """Returns a function's implementation; 0A000 if gpudb has none."""
    _import_topics()
    if function.code is not None or function.fold is not None:
        return _DEVICE_CODE[0](function)
    declared = _IMPLEMENTATIONS.get(function.signature) or _IMPLEMENTATIONS.get(function.name)
    if declared is None:
        raise FeatureNotSupported(f"function {function} is not supported")
    return declared


def get_result_type(function: Function, types: Sequence[SqlType], constants: Sequence[object]) -> SqlType:
    """Returns the exact type of a call: PostgreSQL's, with a numeric's digits if they are known.

    A numeric is wide if an argument is, or if the statement has no room for it in 128 bits.
    """
    rule = get_implementation(function).result
    result = rule(types, constants) if rule is not None else function.result
    if result.name.lstrip("_") != "numeric" or result.wide:
        return result
    if any(each.wide for each in types) or (is_wide_layout() and _find_wide(function) is not None):
        return SqlType(result.name, dims=result.dims, wide=True)
    if result.numeric_digits[0] >= MAX_DIGITS:
        use_layout()
    return result


def has_wide_form(function: Function) -> bool:
    """Whether a function is computed over wide numerics."""
    return _find_wide(function) is not None


def _find_wide(function: Function) -> Implementation | None:
    return _WIDE.get(function.signature) or _WIDE.get(function.name)


def get_wide_implementation(function: Function, types: Sequence[SqlType], result: SqlType) -> Implementation | None:
    """Returns the implementation of a call over wide numerics; None for a call without, or of any types.

    0A000 for a function of numerics that has none.
    """
    if not result.wide and not any(each.wide for each in types):
        return None
    found = _find_wide(function)
    if (
        found is None
        and function.name not in _OF_KEYS
        and any(each.name.lstrip("_") == "numeric" for each in function.args)
    ):
        raise FeatureNotSupported(
            f"function {function} of a numeric that is not finite or has over {MAX_DIGITS} digits is not supported"
        )
    return found


def fill_template(template: Template, operands: Operands) -> str:
    """Returns a template with its operands substituted."""
    if callable(template):
        return template(operands)
    return template.format(*operands.sql, s=operands.scales, t=operands.result.duckdb)


@cache
def _import_topics() -> None:
    """Imports the topic files, once; each declares its functions."""
    from importlib import import_module

    for topic in TOPICS:
        import_module(f"gpudb.functions.{topic}")


TOPICS = tuple(
    "arithmetic numeric comparison aggregates windows system text patterns fields datetime timetz"
    " session_functions privileges role_privileges mathematics numeric_functions statistics arrays inet money"
    " bit_strings ranges multiranges enums json json_records jsonpath sql_json miscellaneous formatting hashes"
    " transitions variadic_arrays input_checks row_counts array_text order_support approximate row_addresses vectors"
    " half_vectors sparse_vectors matrices geometry text_search device_code lsn binary_forms wide_numerics".split()
)
