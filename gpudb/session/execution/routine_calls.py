"""CALL: a procedure's statements, one after the other, with the arguments in the places of its parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from gpudb.catalog.model import Routine
from gpudb.errors import FeatureNotSupported, SqlError, UndefinedFunction
from gpudb.functions import resolve
from gpudb.functions.registry import Function
from gpudb.session.context import Context, command, handler, handles
from gpudb.session.execution import execution
from gpudb.session.execution.binding import statements_of
from gpudb.session.results import CopyIn, CopyOut, Result, ResultColumn
from gpudb.sql.bind.base import Arguments, Binder
from gpudb.sql.bind.expressions.calls import given_names, unnamed
from gpudb.sql.bind.expressions.expressions import bind_expression
from gpudb.sql.bind.expressions.routines import as_function, chosen, complete, find_routines
from gpudb.sql.bind.scope import Scope
from gpudb.sql.bind.types.coercion import coerce, exactly
from gpudb.sql.bound import Cast, Constant, Expr, FrameScan, OutputColumn, Select
from gpudb.sql.bound import Column as Reference
from gpudb.sql.parse.parser import strings
from gpudb.types import UNKNOWN, SqlType
from gpudb.values.text_columns import text_column

_FRAME = "gpudb arguments"
_MOST_LEVELS = 50


@handles("CallStmt")
def call(context: Context) -> Result:
    """CALL name (argument, …): one row of its OUT and INOUT parameters, if it has any."""
    routine, args = _called(context, context.session.binder(context))
    last, columns = carried_out(context, routine, _evaluated(context, args))
    if not routine.outputs:
        return command("CALL")
    wanted = _columns(routine)
    table = as_declared(context, routine, [each.type for each in wanted], last, columns, first=True)
    if not table.num_rows:
        table = pa.table([pa.nulls(1, column.type.arrow) for column in wanted], names=table.column_names)
    return Result("CALL", wanted, iter(table.to_batches()))


Rows = tuple[list[pa.RecordBatch], tuple[ResultColumn, ...] | None]


def carried_out(context: Context, routine: Routine, values: tuple[Expr, ...]) -> Rows:
    """Carries a routine's statements out, one after the other; the rows of the last one and their columns."""
    if context.level >= _MOST_LEVELS:
        raise SqlError.of("statement_too_complex", "stack depth limit exceeded")
    arguments = Arguments(routine.name, tuple(each.name for each in routine.inputs), values)
    last: list[pa.RecordBatch] = []
    columns: tuple[ResultColumn, ...] | None = None
    found = statements_of(routine.body)
    for number, statement in enumerate(found, 1):
        carry_out = handler(statement.kind)
        if statement.kind == "TransactionStmt" or carry_out is None or statement.kind in _NOT_INSIDE:
            raise FeatureNotSupported(f"{statement.text.split()[0].upper()} is not allowed in an SQL function")
        if routine.kind == "f" and routine.volatility != "v" and statement.kind != "SelectStmt":
            said = " ".join(statement.text.split()[: 2 if statement.kind[:6] == "Create" else 1]).upper()
            raise FeatureNotSupported(f"{said} is not allowed in a non-volatile function")
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
    return last, columns


_NOT_INSIDE = {"PrepareStmt", "ExecuteStmt", "DeallocateStmt", "DeclareCursorStmt", "FetchStmt", "ClosePortalStmt"}


def described(context: Context) -> tuple[tuple[SqlType, ...], tuple[ResultColumn, ...] | None]:
    """The types of a CALL's parameters `$n`, and the columns that it gives: None without OUT parameters."""
    binder = context.session.binder(context, describing=True)
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
    routine = chosen(routines, candidate, args)
    if routine is None or routine.kind != "p":
        shown = f"{names[-1]}({', '.join(str(item) for item in types)})"
        wrong = SqlError.of("wrong_object_type", f"{shown} is not a procedure", hint="To call a function, use SELECT.")
        raise binder.locate(wrong, node.location)
    return complete(binder, routine, candidate, args)


def _evaluated(context: Context, args: Sequence[Expr]) -> tuple[Expr, ...]:
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
        made.append(arg if isinstance(arg, Constant) else literal(context, arg.type, column.combine_chunks()))
    return tuple(made)


def literal(context: Context, item: SqlType, value: pa.Array) -> Expr:
    """The only value of an array as a literal of its type, by its text."""
    (text,) = text_column(item, value, context.session.settings["timezone"]).to_pylist()
    if text is None:
        return Constant(None, item)
    made = coerce(context.session.binder(context), Constant(text, UNKNOWN), item)
    if isinstance(made, Constant) and item.name == "numeric" and item.carried:
        return Constant(made.value, item)
    return made if made.type == item else Cast(made, item)


def as_declared(
    context: Context,
    routine: Routine,
    types: Sequence[SqlType],
    batches: Sequence[pa.RecordBatch],
    columns: tuple[ResultColumn, ...] | None,
    *,
    first: bool,
) -> pa.Table:
    """The rows of a routine's last statement, or the first of them, as the types that it declares: k1, k2, … 42P13."""
    if columns is None or len(columns) != len(types):
        shown = "record" if len(types) > 1 else str(types[0])
        message = f"return type mismatch in function declared to return {shown}"
        detail = "Final statement returns too few columns." if columns else None
        raise SqlError.of("invalid_function_definition", message, detail=detail)
    names = [f"k{n}" for n in range(1, len(columns) + 1)]
    schema = pa.schema([pa.field(name, column.type.arrow) for name, column in zip(names, columns, strict=True)])
    frame = pa.Table.from_batches([batch.rename_columns(names) for batch in batches], schema=schema)
    frame = frame.slice(0, 1) if first else frame
    binder = context.session.binder(context)
    given = tuple(OutputColumn(name, column.type) for name, column in zip(names, columns, strict=True))
    targets = tuple(
        exactly(binder, Reference(1, index, column.type), item)
        for index, (column, item) in enumerate(zip(columns, types, strict=True))
    )
    outputs = tuple(OutputColumn(name, target.type) for name, target in zip(names, targets, strict=True))
    query = Select(outputs, targets, FrameScan(1, _FRAME, given))
    made: pa.Table = execution.gathered(replace(context, draws=False), query, {_FRAME: frame})
    return made.rename_columns(names)


def rows_of(context: Context, function: Function, args: Sequence[Expr]) -> pa.Table:
    """The rows of a function whose statements are carried out, called with literals: k1, k2, …

    One row of NULLs where a function that gives a single one finds none, or is STRICT and has a NULL argument.
    """
    routine = next((r for r in context.transaction.catalog.routines.values() if r.oid == function.oid), None)
    if routine is None:
        raise UndefinedFunction(f"function {function} does not exist")
    types = list(function.out_types) or [function.result]
    nulls = {f"k{n}": pa.nulls(1, item.arrow) for n, item in enumerate(types, 1)}
    missing = pa.table(nulls).slice(0, 0 if function.returns_set else 1)
    if routine.strict and any(isinstance(arg, Constant) and arg.value is None for arg in args):
        return missing
    batches, columns = carried_out(context, routine, tuple(args))
    if function.result.name == "void":
        return missing
    table = as_declared(context, routine, types, batches, columns, first=not function.returns_set)
    return table if table.num_rows or function.returns_set else missing
