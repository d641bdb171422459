"""CALL: a procedure's statements, one after the other, with the arguments in the places of its parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from gpudb.catalog.model import Routine
from gpudb.errors import FeatureNotSupported, SqlError, UndefinedFunction
from gpudb.functions import resolve
from gpudb.session import execution
from gpudb.session.binding import statements_of
from gpudb.session.context import Context, command, handler, handles
from gpudb.session.results import CopyIn, CopyOut, Result, ResultColumn
from gpudb.sql.bind.binder import Arguments, Binder
from gpudb.sql.bind.calls import given_names, unnamed
from gpudb.sql.bind.coerce import coerce
from gpudb.sql.bind.expressions import bind_expression
from gpudb.sql.bind.routines import as_function, chosen, complete, find_routines
from gpudb.sql.bind.scope import Scope
from gpudb.sql.bound import Column as Reference
from gpudb.sql.bound import Constant, Expr, FrameScan, OutputColumn, Select
from gpudb.sql.parse import strings
from gpudb.types import UNKNOWN, SqlType
from gpudb.values.columns import text_column

_FRAME = "gpudb arguments"
_MOST_LEVELS = 50


@handles("CallStmt")
def call(context: Context) -> Result:
    """CALL name (argument, …): one row of its OUT and INOUT parameters, if it has any."""
    routine, args = _called(context, context.session.binder(context))
    if context.level >= _MOST_LEVELS:
        raise SqlError.of("statement_too_complex", "stack depth limit exceeded")
    values = _evaluated(context, routine, args)
    arguments = Arguments(routine.name, tuple(each.name for each in routine.inputs), values)
    last: list[pa.RecordBatch] = []
    columns: tuple[ResultColumn, ...] | None = None
    found = statements_of(routine.body)
    for number, statement in enumerate(found, 1):
        carry_out = handler(statement.kind)
        if statement.kind == "TransactionStmt" or carry_out is None or statement.kind in _NOT_INSIDE:
            raise FeatureNotSupported(f"{statement.text.split()[0].upper()} is not allowed in an SQL function")
        inside = replace(
            context,
            statement=statement,
            parameters=(),
            parameter_oids=(),
            arguments=arguments,
            draws=None,
            level=context.level + 1,
        )
        try:
            result = carry_out(inside)
            if isinstance(result, CopyIn | CopyOut):
                result.close()
                raise FeatureNotSupported("COPY to or from the client is not allowed in an SQL function")
            try:
                batches = list(result.batches)
            finally:
                result.close()
        except SqlError as error:
            error.position = None
            raise
        if number == len(found):
            last, columns = batches, result.columns
    return command("CALL") if not routine.outputs else _row(context, routine, last, columns)


_NOT_INSIDE = {"PrepareStmt", "ExecuteStmt", "DeallocateStmt", "DeclareCursorStmt", "FetchStmt", "ClosePortalStmt"}


def described(context: Context) -> tuple[tuple[SqlType, ...], tuple[ResultColumn, ...] | None]:
    """The types of a CALL's parameters `$n`, and the columns that it gives: None without OUT parameters."""
    binder = context.session.binder(context)
    routine, _ = _called(context, binder)
    return binder.parameter_types(), _columns(routine) if routine.outputs else None


def _columns(routine: Routine) -> tuple[ResultColumn, ...]:
    return tuple(
        ResultColumn(each.name or f"column{number}", each.type) for number, each in enumerate(routine.outputs, 1)
    )


def _called(context: Context, binder: Binder) -> tuple[Routine, list[Expr]]:
    """The procedure that a CALL means, and its arguments; 42883, 42809."""
    node: Any = context.statement.node.funccall
    names = strings(node.funcname)
    binder.declare_parameters(context.parameter_oids)
    args = [bind_expression(binder, Scope(clause="CALL"), unnamed(each)) for each in node.args]
    routines = find_routines(binder, names)
    types = tuple(arg.type.plain for arg in args)
    own = tuple(map(as_function, routines))
    try:
        candidate = resolve.function(names[-1], types, "fp", node.func_variadic, own, given_names(node.args))
    except UndefinedFunction as error:
        message = error.message.replace("function ", "procedure ", 1)
        hint = "No procedure matches the given name and argument types. You might need to add explicit type casts."
        raise binder.locate(UndefinedFunction(message, hint=hint), node.location) from None
    routine = chosen(routines, candidate)
    if routine is None or routine.kind != "p":
        shown = f"{names[-1]}({', '.join(str(item) for item in types)})"
        wrong = SqlError.of("wrong_object_type", f"{shown} is not a procedure", hint="To call a function, use SELECT.")
        raise binder.locate(wrong, node.location)
    return complete(binder, routine, candidate, args)


def _evaluated(context: Context, routine: Routine, args: Sequence[Expr]) -> tuple[Expr, ...]:
    """The arguments' values, each computed once."""
    if all(isinstance(arg, Constant) for arg in args):
        return tuple(args)
    outputs = tuple(OutputColumn(f"a{n}", arg.type) for n, arg in enumerate(args, 1))
    stream = execution.run(replace(context, draws=None), Select(outputs, tuple(args)))
    try:
        table = pa.Table.from_batches(list(stream), schema=stream.schema)
    finally:
        stream.close()
    made: list[Expr] = []
    for arg, column in zip(args, table.columns, strict=True):
        made.append(_constant(context, arg, column))
    return tuple(made)


def _constant(context: Context, arg: Expr, column: pa.ChunkedArray) -> Expr:
    """A computed value as a literal of its type, by its text."""
    if isinstance(arg, Constant):
        return arg
    (text,) = text_column(arg.type, column.combine_chunks(), context.session.settings["timezone"]).to_pylist()
    if text is None:
        return Constant(None, arg.type)
    return coerce(context.session.binder(context), Constant(text, UNKNOWN), arg.type)


def _row(
    context: Context, routine: Routine, batches: list[pa.RecordBatch], columns: tuple[ResultColumn, ...] | None
) -> Result:
    """The first row of the last statement, as the OUT parameters' types; NULLs where there is none."""
    wanted = _columns(routine)
    if columns is None or len(columns) != len(wanted):
        message = "return type mismatch in function declared to return record"
        detail = "Final statement returns too few columns." if columns else None
        raise SqlError.of("invalid_function_definition", message, detail=detail)
    names = [f"k{n}" for n in range(1, len(columns) + 1)]
    rows = [batch.rename_columns(names) for batch in batches if batch.num_rows][:1]
    if not rows:
        nulls = [pa.nulls(1, column.type.arrow) for column in wanted]
        return Result("CALL", wanted, iter([pa.RecordBatch.from_arrays(nulls, names=names)]))
    frame = pa.Table.from_batches([rows[0].slice(0, 1)])
    binder = context.session.binder(context)
    given = tuple(OutputColumn(name, column.type) for name, column in zip(names, columns, strict=True))
    targets = tuple(
        coerce(binder, Reference(1, index, column.type), item.type, "a")
        for index, (column, item) in enumerate(zip(columns, wanted, strict=True))
    )
    outputs = tuple(OutputColumn(each.name, target.type) for each, target in zip(wanted, targets, strict=True))
    query = Select(outputs, targets, FrameScan(1, _FRAME, given))
    stream = execution.run(replace(context, draws=False), query, {_FRAME: frame})
    try:
        made = list(stream)
    finally:
        stream.close()
    return Result("CALL", wanted, iter(made))
