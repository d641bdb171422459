"""Calls of routines whose statements the session runs one by one, with literals as the values of their parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import FrameType

import pyarrow as pa

from gpudb.catalog.routines import NO_RELATION, Argument, Routine
from gpudb.errors import FeatureNotSupported, SqlError, UndefinedFunction
from gpudb.functions.registry import Function
from gpudb.functions.resolve import POLYMORPHIC
from gpudb.plpgsql.context import register_frame
from gpudb.plpgsql.records import column_values
from gpudb.session.authorization.privileges import act_as
from gpudb.session.context import Context
from gpudb.session.execution.binding.binding import parse_statements
from gpudb.session.execution.requests.requests import fetch_from_engine
from gpudb.session.execution.routines.model_calls import call_columns
from gpudb.session.results import CopyIn, CopyOut, ResultColumn
from gpudb.sql.bind.base import Arguments
from gpudb.sql.bind.types.coercion import coerce, coerce_exactly
from gpudb.sql.bound import Cast, Constant, Expr, FrameScan, OutputColumn, Select
from gpudb.sql.bound import Column as Reference
from gpudb.sql.parse.parser import RawStatement
from gpudb.types import UNKNOWN, SqlType
from gpudb.values.arrow_columns import check_representable, to_arrow_array
from gpudb.values.text_columns import format_text_column

_FRAME = "gpudb arguments"
_MAX_LEVEL = 50
_NOT_IN_ROUTINES = {
    "TransactionStmt", "PrepareStmt", "ExecuteStmt", "DeallocateStmt", "DeclareCursorStmt", "FetchStmt",
    "ClosePortalStmt",
}  # fmt: skip

Rows = tuple[list[pa.RecordBatch], tuple[ResultColumn, ...] | None]


def call_function(context: Context, function: Function, args: Sequence[Expr]) -> pa.Table:
    """Calls a function with literals by running its statements; its rows, as columns k1, k2, …

    One row of NULLs if a function that does not return a set finds no row, or is STRICT and has a NULL argument.
    """
    from gpudb.session.execution.routines.bodies import run_body

    context = replace(context, session_calls=None)
    routine = context.transaction.catalog.find_routine_by_oid(function.oid)
    if routine is None:
        raise UndefinedFunction(f"function {function} does not exist")
    types = list(function.out_types) or [function.result]
    nulls = {f"k{n}": pa.nulls(1, item.arrow) for n, item in enumerate(types, 1)}
    missing = pa.table(nulls).slice(0, 0 if function.returns_set else 1)
    if routine.strict and any(isinstance(arg, Constant) and arg.value is None for arg in args):
        return missing
    if function.by_columns:
        inputs = tuple(OutputColumn(f"k{n}", arg.type) for n, arg in enumerate(args, 1))
        known = fetch_from_engine(context, Select(inputs, tuple(args)))
        return pa.table({"k1": call_columns(context, function, known.columns)})
    if routine.language != "sql":
        values = [get_literal_value(context, arg) for arg in args]
        found = run_body(context, set_call_types(routine, function), values, call_value)
        rows = found if isinstance(found, list) else [] if found is None else [found]
        # A function that returns void has returned something: not NULL
        return make_table(types, [("",)] if function.result.name == "void" else rows)
    batches, columns = run_routine(context, routine, tuple(args))
    if function.result.name == "void":
        return missing
    table = convert_rows(context, routine, types, batches, columns, first=not function.returns_set)
    return table if table.num_rows or function.returns_set else missing


def call_value(context: Context, function: Function, values: Sequence[object]) -> object:
    """Calls a function that returns one value, with values as `gpudb.values` represents them."""
    from gpudb.session.execution.routines.bodies import run_body

    routine = context.transaction.catalog.find_routine_by_oid(function.oid)
    if routine is None:
        raise UndefinedFunction(f"function {function} does not exist")
    if routine.strict and None in values:
        return None
    if routine.language != "sql" and not function.by_columns:
        found = run_body(context, set_call_types(routine, function), values, call_value)
        return found[0] if isinstance(found, tuple) else "" if function.result.name == "void" else None
    args = [Constant(value, item) for value, item in zip(values, function.args, strict=True)]
    table = call_function(context, function, args)
    return column_values(function.result, table.column(0).combine_chunks(), context.session.settings["timezone"])[0]


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


def get_literal_value(context: Context, arg: Expr) -> object:
    """Returns the value of a literal, as `gpudb.values` represents it."""
    if isinstance(arg, Constant):
        return arg.value
    table = fetch_from_engine(context, Select((OutputColumn("k1", arg.type),), (arg,)))
    return column_values(arg.type, table.column(0).combine_chunks(), context.session.settings["timezone"])[0]


def make_table(types: Sequence[SqlType], rows: Sequence[Sequence[object]]) -> pa.Table:
    """Returns rows as columns k1, k2, …; 22003 for values that a column cannot hold."""
    columns = []
    for place, item in enumerate(types):
        values = [row[place] for row in rows]
        for value in values:
            check_representable(item, value)
        columns.append(to_arrow_array(item, values))
    return pa.table(columns, names=[f"k{n}" for n in range(1, len(types) + 1)])


def run_routine(context: Context, routine: Routine, values: tuple[Expr, ...]) -> Rows:
    """Runs the statements of a routine in order; the rows of the last one and their columns."""
    if context.level >= _MAX_LEVEL:
        raise SqlError.of("statement_too_complex", "stack depth limit exceeded")
    statements = parse_statements(routine.body)
    with act_as(context.session, routine.owner if routine.definer else None):
        return _run_statements(context, routine, statements, values)


def _run_statements(
    context: Context, routine: Routine, statements: Sequence[RawStatement], values: tuple[Expr, ...]
) -> Rows:
    arguments = Arguments(routine.name, tuple(each.name for each in routine.inputs), values)
    batches: list[pa.RecordBatch] = []
    columns: tuple[ResultColumn, ...] | None = None
    for number, statement in enumerate(statements, 1):
        handler = context.session.handlers.get(statement.kind)
        if handler is None or statement.kind in _NOT_IN_ROUTINES:
            raise FeatureNotSupported(f"{statement.text.split()[0].upper()} is not allowed in an SQL function")
        if routine.kind == "f" and routine.volatility != "v" and statement.kind != "SelectStmt":
            shown = " ".join(statement.text.split()[: 2 if statement.kind[:6] == "Create" else 1]).upper()
            raise FeatureNotSupported(f"{shown} is not allowed in a non-volatile function")
        inside = replace(
            context,
            statement=statement,
            plan=None,
            parameters=(),
            parameter_oids=(),
            arguments=arguments,
            session_calls=None,
            level=context.level + 1,
        )
        try:
            result = handler(inside)
            if isinstance(result, CopyIn | CopyOut):
                result.close()
                raise FeatureNotSupported("COPY to or from the client is not allowed in an SQL function")
            try:
                rows = list(result.batches)
            finally:
                result.close()
        except SqlError as error:
            error.position = None
            raise
        if number == len(statements):
            batches, columns = rows, result.columns
    return batches, columns


def literal(context: Context, item: SqlType, value: pa.Array) -> Expr:
    """The only value of an array as a literal of its type, by its text."""
    (text,) = format_text_column(item, value, context.session.settings["timezone"]).to_pylist()
    if text is None:
        return Constant(None, item)
    expr = coerce(context.binder(), Constant(text, UNKNOWN), item)
    if isinstance(expr, Constant) and item.name == "numeric" and item.is_carried:
        return Constant(expr.value, item)
    return expr if expr.type == item else Cast(expr, item)


def convert_rows(
    context: Context,
    routine: Routine,
    types: Sequence[SqlType],
    batches: Sequence[pa.RecordBatch],
    columns: tuple[ResultColumn, ...] | None,
    *,
    first: bool,
) -> pa.Table:
    """Converts the rows of a routine's last statement, or only the first, to its declared types: k1, k2, … 42P13."""
    if columns is None or len(columns) != len(types):
        shown = "record" if len(types) > 1 else str(types[0])
        message = f"return type mismatch in function declared to return {shown}"
        detail = "Final statement returns too few columns." if columns else None
        raise SqlError.of("invalid_function_definition", message, detail=detail)
    names = [f"k{n}" for n in range(1, len(columns) + 1)]
    schema = pa.schema([pa.field(name, column.type.arrow) for name, column in zip(names, columns, strict=True)])
    frame = pa.Table.from_batches([batch.rename_columns(names) for batch in batches], schema=schema)
    frame = frame.slice(0, 1) if first else frame
    binder = context.binder()
    inputs = tuple(OutputColumn(name, column.type) for name, column in zip(names, columns, strict=True))
    targets = tuple(
        coerce_exactly(binder, Reference(1, index, column.type), item)
        for index, (column, item) in enumerate(zip(columns, types, strict=True))
    )
    outputs = tuple(OutputColumn(name, target.type) for name, target in zip(names, targets, strict=True))
    query = Select(outputs, targets, FrameScan(1, _FRAME, inputs))
    rows: pa.Table = fetch_from_engine(context, query, {_FRAME: frame})
    return rows.rename_columns(names)


def _describe_statement(frame: FrameType) -> str:
    return f'SQL function "{frame.f_locals["routine"].name}" statement {frame.f_locals.get("number", 1)}'


register_frame(_run_statements.__code__, _describe_statement)
