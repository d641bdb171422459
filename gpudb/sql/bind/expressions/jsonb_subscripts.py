"""Subscripts of jsonb: `j['a'][0]` as a path, to read and to assign (jsonbsubs.c)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpudb.errors import DatatypeMismatch
from gpudb.functions import resolve
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.expressions.operators import apply_operator
from gpudb.sql.bind.scope import Scope
from gpudb.sql.bind.types.coercion import coerce
from gpudb.sql.bound import Array, Expr
from gpudb.sql.parse.parser import present
from gpudb.types import INT4, TEXT, UNKNOWN


def bind_subscripts(binder: Binder, scope: Scope, arg: Expr, steps: Sequence[Any]) -> Expr:
    """Binds the value at a path of A_Indices messages; NULL if there is none."""
    path, _ = bind_path(binder, scope, steps)
    return apply_operator(binder, "#>", arg, Array(path, TEXT.array))


def bind_path(binder: Binder, scope: Scope, steps: Sequence[Any]) -> tuple[tuple[Expr, ...], bool]:
    """Binds a path's steps as texts; returns them, and whether the first is a number.

    42804 for slices and other types.
    """
    bound = [_bind_step(binder, scope, step) for step in steps]
    numbered = bound[0].type.name != "unknown" and resolve.can_coerce(bound[0].type.plain, INT4, "i")
    return tuple(_to_text(binder, each) for each in bound), numbered


def _bind_step(binder: Binder, scope: Scope, step: Any) -> Expr:
    if step.is_slice:
        error = DatatypeMismatch("jsonb subscript does not support slices")
        place = step.uidx if present(step.uidx) else step.lidx
        raise binder.locate_expr(error, binder.bind_expression(scope, place)) if present(place) else error
    return binder.bind_expression(scope, step.uidx)


def _to_text(binder: Binder, step: Expr) -> Expr:
    if step.type == UNKNOWN:
        return coerce(binder, step, TEXT)
    takes = [each for each in (INT4, TEXT) if resolve.can_coerce(step.type.plain, each, "i")]
    if len(takes) != 1:
        which = "only one type, integer or text" if takes else "either integer or text"
        hint = f"jsonb subscript must be coercible to {which}."
        error = DatatypeMismatch(f"subscript type {step.type.plain} is not supported", hint=hint)
        raise binder.locate_expr(error, step)
    return coerce(binder, coerce(binder, step, takes[0]), TEXT, "e")
