"""Sort keys: ORDER BY items with their operator, direction and position of NULLs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.errors import GpudbError, SqlError, UndefinedFunction
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.expressions.operators import apply_operator
from gpudb.sql.bind.scope import Scope
from gpudb.sql.bind.types.coercion import coerce
from gpudb.sql.bound import Expr, SortKey
from gpudb.sql.parse.parser import inner, strings
from gpudb.types import TEXT, UNKNOWN, SqlType
from gpudb.types.facts import WITHOUT_CLASSES

# Operators of ORDER BY … USING: whether they sort descending
_ORDERINGS = {"<": False, ">": True, "~<~": False, "~>~": True}


def bind_sort_keys(
    binder: Binder, scope: Scope, nodes: Sequence[Any], *, arguments: bool = False
) -> tuple[SortKey, ...]:
    """Binds SortBy messages whose items are plain expressions, as in a call or a window.

    Keys that are also `arguments` of an ordered-set aggregate stay untyped if they are untyped literals.
    """
    keys = []
    for each in nodes:
        expr = binder.bind_expression(scope, inner(each).node)
        key = build_sort_key(binder, expr, inner(each))
        keys.append(replace(key, expr=expr) if arguments else key)
    return tuple(keys)


def build_sort_key(binder: Binder, expr: Expr, node: Any) -> SortKey:
    """Binds a SortBy message over a bound expression.

    PostgreSQL's default for NULLs is last, first if descending.
    """
    if (error := find_ordering_error(expr.type)) is not None:
        raise error
    descending = node.sortby_dir == pg.SORTBY_DESC
    if node.use_op:
        descending = _is_descending(binder, expr, node)
    first = {pg.SORTBY_NULLS_FIRST: True, pg.SORTBY_NULLS_LAST: False}.get(node.sortby_nulls, descending)
    expr = coerce(binder, expr, TEXT) if expr.type == UNKNOWN else expr
    return SortKey(expr, descending, first)


def find_ordering_error(item: SqlType) -> UndefinedFunction | None:
    """Returns 42883 for a type without an ordering operator, or with a field of such a type."""
    if item.name.lstrip("_") in WITHOUT_CLASSES:
        message = f"could not identify an ordering operator for type {item}"
        return UndefinedFunction(message, hint="Use an explicit ordering operator or modify the query.")
    for _, field in item.fields:
        if field.name.lstrip("_") in WITHOUT_CLASSES:
            return UndefinedFunction(f"could not identify a comparison function for type {field}")
        if (error := find_ordering_error(field)) is not None:
            return error
    return None


def _is_descending(binder: Binder, expr: Expr, node: Any) -> bool:
    """Returns whether ORDER BY … USING sorts descending; 42883 or 42809 if the operator does not order."""
    name = strings(node.use_op)[-1]
    try:
        apply_operator(binder, name, expr, expr)
        if name not in _ORDERINGS:
            message = f"operator {name} is not a valid ordering operator"
            hint = 'Ordering operators must be "<" or ">" members of btree operator families.'
            raise SqlError.of("wrong_object_type", message, hint=hint)
    except GpudbError as error:
        raise binder.locate(error, node.location) from None
    return _ORDERINGS[name]
