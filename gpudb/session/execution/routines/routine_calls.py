"""Calls of routines that the session runs: for literals, for values, and for the rows of whole columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from gpudb.catalog.languages import TRAITS
from gpudb.catalog.routines import NO_RELATION, Argument, Routine
from gpudb.errors import UndefinedFunction
from gpudb.functions.registry import Function
from gpudb.functions.resolve import POLYMORPHIC
from gpudb.session.context import Context
from gpudb.session.execution.routines.languages import find_language
from gpudb.sql.bound import Constant, Expr
from gpudb.types import RECORD


def call_function(context: Context, function: Function, args: Sequence[Expr]) -> pa.Table:
    """Calls a function with literals; its rows, as columns k1, k2, …

    One row of NULLs if a function that does not return a set finds no row, or is STRICT and has a NULL argument.
    """
    if returns_row(function):
        return _call_for_row(context, function, args)
    context = replace(context, session_calls=None)
    routine = _find_routine(context, function)
    types = list(function.out_types) or [function.result]
    nulls = {f"k{n}": pa.nulls(1, item.arrow) for n, item in enumerate(types, 1)}
    missing = pa.table(nulls).slice(0, 0 if function.returns_set else 1)
    if routine.strict and any(isinstance(arg, Constant) and arg.value is None for arg in args):
        return missing
    called = set_call_types(routine, function)
    table = find_language(routine).call(context, called, types, args, is_atomic=True)
    return missing if table is None or not (table.num_rows or function.returns_set) else table


def returns_row(function: Function) -> bool:
    """Whether a function of several output parameters is called for them as one value, a row."""
    return bool(function.result.fields) and function.result.element is None and not function.out_types


def _call_for_row(context: Context, function: Function, args: Sequence[Expr]) -> pa.Table:
    """Calls a function whose result is a row: a table of one, NULL if the function returns none."""
    item = function.result
    names, types = tuple(name for name, _ in item.fields), tuple(each for _, each in item.fields)
    columns = replace(function, result=RECORD, out_names=names, out_types=types, returns_set=True)
    found = call_function(context, columns, args).slice(0, 1).combine_chunks()
    if not found.num_rows:
        return pa.table({"k1": pa.nulls(1, item.arrow)})
    parts = [column.chunk(0).cast(field.type) for column, field in zip(found.columns, item.arrow, strict=True)]
    return pa.table({"k1": pa.StructArray.from_arrays(parts, fields=list(item.arrow))})


def call_value(context: Context, function: Function, values: Sequence[object]) -> object:
    """Calls a function that returns one value, with values as `gpudb.values` represents them."""
    routine = _find_routine(context, function)
    if routine.strict and None in values:
        return None
    return find_language(routine).call_value(context, set_call_types(routine, function), values)


def takes_columns(context: Context, function: Function) -> bool:
    """Whether the calls of a function over rows are one call over columns."""
    routine = _find_routine(context, function)
    plain = not (function.returns_set or function.out_types) and routine.aggregate is None
    return plain and find_language(routine).takes_columns(routine)


def call_columns(context: Context, function: Function, arguments: Sequence[pa.Array], count: int) -> pa.Array:
    """Calls a function of which `takes_columns` is true for `count` rows of arguments; the column of its results."""
    context = replace(context, session_calls=None)
    routine = _find_routine(context, function)
    called, language = set_call_types(routine, function), find_language(routine)
    if not routine.strict or not any(each.null_count for each in arguments):
        return language.call_columns(context, called, arguments, count)
    valid = pc.is_valid(arguments[0])
    for each in arguments[1:]:
        valid = pc.and_(valid, pc.is_valid(each))
    filtered = [each.filter(valid) for each in arguments]
    found = language.call_columns(context, called, filtered, len(filtered[0]))
    places = pc.subtract(pc.cumulative_sum(pc.cast(valid, pa.int64())), 1)
    return found.take(pc.if_else(valid, places, pa.scalar(None, pa.int64())))


def takes_table_arguments(context: Context, function: Function) -> bool:
    """Whether a set-returning function takes its arguments as columns of one row: whole arrays and matrices."""
    routine = _find_routine(context, function)
    return routine.returns_set and TRAITS[routine.language].is_device_code


def call_with_columns(context: Context, function: Function, arguments: Sequence[pa.Array]) -> pa.Table:
    """Calls a function of which `takes_table_arguments` is true; no rows if it is STRICT and an argument is NULL."""
    routine = _find_routine(context, function)
    if routine.strict and any(each.null_count for each in arguments):
        types = function.out_types or (function.result,)
        return pa.table({f"k{n}": pa.nulls(0, item.arrow) for n, item in enumerate(types, 1)})
    found: pa.Table = find_language(routine).call_table(context, set_call_types(routine, function), arguments)
    return found


def _find_routine(context: Context, function: Function) -> Routine:
    routine = context.transaction.catalog.find_routine_by_oid(function.oid)
    if routine is None:
        raise UndefinedFunction(f"function {function} does not exist")
    return routine


def set_call_types(routine: Routine, function: Function) -> Routine:
    """Returns a routine with the types of a call in the place of polymorphic ones."""
    if function.out_types and not routine.outputs:
        columns = zip(function.out_names, function.out_types, strict=True)
        declared = tuple(Argument(name, item, "t") for name, item in columns)
        return replace(routine, arguments=(*routine.arguments, *declared), rows_of=NO_RELATION)
    if not any(each.type.name in POLYMORPHIC for each in routine.arguments) and routine.result.name not in POLYMORPHIC:
        return routine
    inputs, outputs = iter(function.args), iter(function.out_types)
    arguments = []
    for each in routine.arguments:
        item = next(inputs) if each.mode in {"i", "b", "v"} else each.type
        item = next(outputs, item) if each.mode in {"o", "b", "t"} else item
        arguments.append(replace(each, type=item))
    return replace(routine, arguments=tuple(arguments), result=function.result)
