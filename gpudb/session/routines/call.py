"""CALL: resolves a procedure and runs its statements with the arguments as the values of its parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from gpudb.catalog.routines import Routine
from gpudb.errors import SqlError, UndefinedFunction
from gpudb.session.authorization.authorize import check_accesses
from gpudb.session.context import Context
from gpudb.session.execution.queries.queries import fetch_query
from gpudb.session.execution.routines.acting import may_end_transaction
from gpudb.session.execution.routines.languages import find_language
from gpudb.session.execution.routines.literals import literal
from gpudb.session.results import Result, ResultColumn
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.expressions.calls import get_argument_names, strip_argument_name
from gpudb.sql.bind.expressions.expressions import bind_expression
from gpudb.sql.bind.expressions.routines import complete_call, find_routines, get_routine, resolve_call
from gpudb.sql.bind.scope import Scope
from gpudb.sql.bound import Constant, Expr, OutputColumn, Select
from gpudb.sql.parse.parser import strings
from gpudb.types import SqlType


def call(context: Context) -> Result:
    """CALL name (argument, …): one row of its OUT and INOUT parameters, if it has any."""
    binder = context.binder()
    procedure, args = _resolve(context, binder)
    check_accesses(context, binder.accesses)
    declared = _output_columns(procedure)
    types = [each.type for each in declared]
    may_end = may_end_transaction(procedure) and (context.level == 0 or context.may_end_transaction)
    is_atomic = context.session.transactions.explicit or not may_end
    table = find_language(procedure).call(context, procedure, types, _evaluate(context, args), is_atomic=is_atomic)
    if not declared:
        return Result("CALL")
    if table is None or not table.num_rows:
        names = [f"k{number}" for number in range(1, len(types) + 1)]
        table = pa.table([pa.nulls(1, item.arrow) for item in types], names=names)
    return Result("CALL", declared, iter(table.to_batches()))


def resolve_procedure(context: Context) -> Routine:
    """The procedure of a CALL; 42883, 42809."""
    return _resolve(context, context.binder())[0]


def describe_call(context: Context) -> tuple[tuple[SqlType, ...], tuple[ResultColumn, ...] | None]:
    """The types of a CALL's parameters `$n`, and its result columns: None without OUT parameters."""
    binder = context.binder(describing=True)
    procedure, _ = _resolve(context, binder)
    return binder.get_parameter_types(), _output_columns(procedure) if procedure.outputs else None


def _output_columns(procedure: Routine) -> tuple[ResultColumn, ...]:
    return tuple(
        ResultColumn(each.name or f"column{number}", each.type) for number, each in enumerate(procedure.outputs, 1)
    )


def _resolve(context: Context, binder: Binder) -> tuple[Routine, list[Expr]]:
    """The procedure of a CALL and its arguments; 42883, 42809."""
    node: Any = context.statement.node.funccall
    names = strings(node.funcname)
    binder.declare_parameters(context.parameter_oids)
    args = [bind_expression(binder, Scope(clause="CALL"), strip_argument_name(each)) for each in node.args]
    routines = find_routines(binder, names)
    named = get_argument_names(node.args)
    try:
        candidate = resolve_call(binder, names, args, routines, kinds="fp", variadic=node.func_variadic, named=named)
    except UndefinedFunction as error:
        message = error.message.replace("function ", "procedure ", 1)
        hint = "No procedure matches the given name and argument types. You might need to add explicit type casts."
        raise binder.locate(UndefinedFunction(message, hint=hint), node.location) from None
    routine = get_routine(routines, candidate, args)
    if routine is None or routine.kind != "p":
        shown = f"{names[-1]}({', '.join(str(each.type.plain) for each in args)})"
        wrong = SqlError.of("wrong_object_type", f"{shown} is not a procedure", hint="To call a function, use SELECT.")
        raise binder.locate(wrong, node.location)
    return complete_call(binder, routine, candidate, args)


def _evaluate(context: Context, args: Sequence[Expr]) -> tuple[Expr, ...]:
    """Evaluates each argument once, to a literal."""
    if all(isinstance(arg, Constant) for arg in args):
        return tuple(args)
    outputs = tuple(OutputColumn(f"a{n}", arg.type) for n, arg in enumerate(args, 1))
    table = fetch_query(replace(context, session_calls=None), Select(outputs, tuple(args)))
    return tuple(
        arg if isinstance(arg, Constant) else literal(context, arg.type, column.combine_chunks())
        for arg, column in zip(args, table.columns, strict=True)
    )
