"""Polymorphic and VARIADIC parameters of user-defined routines, resolved to the types of one call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpudb.catalog.routines import Routine
from gpudb.functions import resolve
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.types.coercion import coerce, drop_modifier
from gpudb.sql.bound import Array, Expr
from gpudb.types import SqlType


def is_polymorphic(routine: Routine) -> bool:
    """Whether only the arguments of a call determine a routine's types."""
    return any(each.type.name in resolve.POLYMORPHIC for each in routine.arguments)


def resolve_polymorphic(
    routine: Routine, candidate: resolve.Candidate, args: Sequence[Expr]
) -> tuple[Routine, list[SqlType]]:
    """Returns a routine with its polymorphic types resolved for a call, and the types to convert arguments to.

    42804 if a type stays undetermined.
    """
    types = [arg.type for arg in args]
    arg_types = list(resolve.bind_polymorphic(candidate.types, types, routine.result)[0])
    if not is_polymorphic(routine):
        return routine, arg_types
    resolve.check_typed(candidate.types, types)

    def item(declared: SqlType) -> SqlType:
        return resolve.bind_polymorphic(candidate.types, types, declared)[1]

    arguments = tuple(replace(each, type=item(each.type)) for each in routine.arguments)
    return replace(routine, arguments=arguments, result=item(routine.result)), arg_types


def convert_arguments(
    binder: Binder, routine: Routine, candidate: resolve.Candidate, args: Sequence[Expr], types: Sequence[SqlType]
) -> list[Expr]:
    """Converts arguments to `types`; the separate arguments of a VARIADIC parameter become its array."""
    result = [drop_modifier(coerce(binder, arg, wanted)) for arg, wanted in zip(args, types, strict=True)]
    if not candidate.variadic:
        return result
    first = len(routine.inputs) - 1
    item = resolve.unify_types([arg.type for arg in result[first:]])
    items = tuple(coerce(binder, arg, item) for arg in result[first:])
    return [*result[:first], Array(items, item.array)]
