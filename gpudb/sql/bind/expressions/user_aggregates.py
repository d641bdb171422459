"""User-defined aggregates: a fold of the state function over an array of the group's rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gpudb.catalog.routines import Aggregation, Routine
from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.functions import library, resolve
from gpudb.functions.registry import Function, get_implementation
from gpudb.plcuda.aggregates import CudaAggregate, intern_aggregate, read_initial
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.expressions.aggregates import bind_aggregate
from gpudb.sql.bind.expressions.operators import build_call
from gpudb.sql.bind.expressions.routines import (
    as_function,
    bind_scalar,
    complete_call,
    get_device_code,
    is_device_code,
)
from gpudb.sql.bind.expressions.windows import bind_window
from gpudb.sql.bind.scope import Scope
from gpudb.sql.bind.types.coercion import coerce, coerce_exactly
from gpudb.sql.bound import (
    Aggregate,
    BoolOp,
    Call,
    Column,
    Constant,
    Expr,
    Field,
    Fold,
    Query,
    Row,
    SortKey,
    Subscript,
    Test,
)
from gpudb.sql.traverse import walk
from gpudb.types import BOOL, INT4, UNKNOWN, SqlType

# Fold bodies never nest, so they share these numbers: equal calls bind to equal expressions
_STATE, _ITEM = -3_000_001, -3_000_002


def bind_user_aggregate(
    binder: Binder,
    scope: Scope,
    routine: Routine,
    candidate: resolve.Candidate,
    args: Sequence[Expr],
    order: tuple[SortKey, ...],
    filter_expr: Expr | None,
    node: Any,
) -> Expr:
    """Binds a call of a user-defined aggregate, over a group or a window."""
    assert routine.aggregate is not None
    fold = find_device_fold(binder, routine)
    if fold is not None:
        return _bind_device_fold(binder, scope, routine, fold, candidate, args, order, filter_expr, node)
    declared = candidate.types
    arg_types = [arg.type for arg in args]
    resolved, values = complete_call(binder, routine, candidate, args)
    state = resolve.bind_polymorphic(declared, arg_types, routine.aggregate.state)[1]
    strict = get_function(binder, _get_aggregation(routine).transition).strict
    if strict and values:
        known = tuple(Test(value, "NULL", True) for value in values)
        filter_expr = BoolOp("AND", (*known, *(() if filter_expr is None else (filter_expr,))))
    row = _build_row(values)
    if node.agg_distinct and order:
        raise FeatureNotSupported(f"DISTINCT beside ORDER BY in aggregate {routine.name} is not supported")
    collected = build_call(binder, resolve.resolve_function("array_agg", (row.type,), "a"), [row])
    get_implementation(collected.function)
    if node.HasField("over"):
        rows = bind_window(binder, scope, node, collected, filter_expr)
    else:
        rows = bind_aggregate(
            binder,
            scope,
            Aggregate(collected.function, collected.args, collected.type, node.agg_distinct, order, (), filter_expr),
        )
    folded = _build_fold(binder, routine, rows, row.type, state, values, strict=strict)
    result = _apply_final(binder, routine, folded, values)
    if any(isinstance(each, Query.__args__) for each in walk(result)):
        if not isinstance(rows, Aggregate):
            raise FeatureNotSupported(f"window aggregate {routine.name}, whose final function is a query")
        scope.outer_aggregates.append(rows)
    return coerce(binder, result, resolved.result, "a") if result.type != resolved.result else result


def _bind_device_fold(
    binder: Binder,
    scope: Scope,
    routine: Routine,
    fold: CudaAggregate,
    candidate: resolve.Candidate,
    args: Sequence[Expr],
    order: tuple[SortKey, ...],
    filter_expr: Expr | None,
    node: Any,
) -> Expr:
    """Binds a call of an aggregate of PL/CUDA functions, which engines run."""
    _, values = complete_call(binder, routine, candidate, args)
    for oid in _get_aggregation(routine).functions:
        part = _find_routine(binder, oid)
        assert part is not None
        binder.accesses.add_routine(part, routine.owner)
    if node.agg_distinct and order:
        raise FeatureNotSupported(f"DISTINCT beside ORDER BY in aggregate {routine.name} is not supported")
    function = replace(as_function(routine), name=f"{routine.schema}.{routine.name}", strict=False, fold=fold)
    call = Call(function, tuple(values), routine.result)
    if node.HasField("over"):
        return bind_window(binder, scope, node, call, filter_expr)
    made = Aggregate(function, call.args, call.type, node.agg_distinct, order, (), filter_expr)
    return bind_aggregate(binder, scope, made)


def find_device_fold(binder: Binder, routine: Routine) -> CudaAggregate | None:
    """Returns an aggregate whose functions all are PL/CUDA's; None for any other."""
    how = _get_aggregation(routine)
    parts = [_find_routine(binder, oid) if oid else None for oid in (how.transition, how.combine, how.final)]
    transition, combine, final = parts
    if transition is None or any(part is not None and not is_device_code(part) for part in parts):
        return None
    if (how.combine and combine is None) or (how.final and final is None) or how.final_extra:
        return None
    state = transition.result
    return intern_aggregate(
        routine.name,
        get_device_code(transition),
        state,
        None if how.initial is None else read_initial(how.initial, state),
        None if combine is None else get_device_code(combine),
        None if final is None else get_device_code(final),
    )


def _build_row(values: Sequence[Expr]) -> Row:
    """Returns the item of the group's array for a row: the arguments, or true if there are none."""
    items = tuple(values) or (Constant(True, BOOL),)
    fields = tuple((f"f{n}", item.type) for n, item in enumerate(items, 1))
    return Row(items, SqlType("record", fields=fields), whole=True)


def _build_fold(
    binder: Binder,
    routine: Routine,
    rows: Expr,
    row: SqlType,
    state: SqlType,
    values: Sequence[Expr],
    *,
    strict: bool,
) -> Expr:
    """Returns the state after the last row.

    A strict function without initial state starts from the first argument.
    """
    aggregation = _get_aggregation(routine)
    now, each = Column(_STATE, 0, state), Column(_ITEM, 1, row)
    parts = [Field(each, name, kind, index) for index, (name, kind) in enumerate(row.fields)] if values else []
    body = coerce_exactly(binder, _call_by_oid(binder, aggregation.transition, [now, *parts], routine.owner), state)
    if any(isinstance(part, Query.__args__) for part in walk(body)):
        raise FeatureNotSupported("aggregates whose state function is a query are not supported")
    initial: Expr = Constant(None, state)
    if aggregation.initial is not None:
        initial = coerce_exactly(binder, Constant(aggregation.initial, UNKNOWN), state)
    elif strict and values:
        name, kind = row.fields[0]
        first = Field(Subscript(rows, None, Constant(1, INT4), False, row), name, kind, 0)
        initial = coerce_exactly(binder, first, state)
        rows = Subscript(rows, Constant(2, INT4), None, True, rows.type)
    return Fold(_STATE, _ITEM, rows, initial, body, state)


def _apply_final(binder: Binder, routine: Routine, folded: Expr, values: Sequence[Expr]) -> Expr:
    aggregation = _get_aggregation(routine)
    if not aggregation.final:
        return folded
    nulls = [Constant(None, value.type) for value in values] if aggregation.final_extra else []
    return _call_by_oid(binder, aggregation.final, [folded, *nulls], routine.owner)


def _get_aggregation(routine: Routine) -> Aggregation:
    assert routine.aggregate is not None
    return routine.aggregate


def _call_by_oid(binder: Binder, oid: int, args: Sequence[Expr], owner: str) -> Expr:
    """Returns a call of a function by its OID, for which the aggregate's owner needs the right."""
    routine = _find_routine(binder, oid)
    if routine is None:
        function = library.functions_by_oid()[oid]
        return build_call(binder, resolve.Candidate(function, function.args), args)
    candidate = resolve.Candidate(as_function(routine), tuple(each.type for each in routine.inputs))
    return bind_scalar(binder, *complete_call(binder, routine, candidate, args, owner))


def get_function(binder: Binder, oid: int) -> Function:
    """Returns a function by its OID; 42883 if it no longer exists."""
    routine = _find_routine(binder, oid)
    if routine is not None:
        return as_function(routine)
    if oid not in library.functions_by_oid():
        raise SqlError.of("undefined_function", f"function with OID {oid} does not exist")
    return library.functions_by_oid()[oid]


def _find_routine(binder: Binder, oid: int) -> Routine | None:
    return next((each for each in binder.catalog.routines.values() if each.oid == oid), None)
