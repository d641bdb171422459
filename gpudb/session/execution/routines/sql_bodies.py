"""Routines in SQL: bodies are bound when they are defined, and their statements run one by one, with literals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import FrameType
from typing import Any

import pyarrow as pa

from gpudb.catalog.routines import Routine
from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.plpgsql.context import register_frame
from gpudb.plpgsql.records import column_values
from gpudb.session.context import Context
from gpudb.session.execution.binding.binding import BINDABLE, bind_statement, parse_statements
from gpudb.session.execution.requests.requests import fetch_from_engine
from gpudb.session.execution.routines.acting import act_for, check_volatility, read_newest
from gpudb.session.results import CopyIn, CopyOut, ResultColumn
from gpudb.sql.bind.expressions.calls import strip_argument_name
from gpudb.sql.bind.expressions.polymorphic import is_polymorphic
from gpudb.sql.bind.expressions.routines import bind_body, check_result, make_arguments, parse_body, record_routine
from gpudb.sql.bind.scope import Scope
from gpudb.sql.bind.types.coercion import coerce_exactly
from gpudb.sql.bound import Column as Reference
from gpudb.sql.bound import Constant, Expr, FrameScan, OutputColumn, Select, output_columns
from gpudb.sql.expansions import Expansions
from gpudb.sql.parse.parser import RawStatement, changes_data, deparse
from gpudb.sql.rewrite import rewrite_stored
from gpudb.types import SqlType

_FRAME = "gpudb arguments"
_MAX_LEVEL = 50
_NOT_IN_ROUTINES = {
    "TransactionStmt", "PrepareStmt", "ExecuteStmt", "DeallocateStmt", "DeclareCursorStmt", "FetchStmt",
    "ClosePortalStmt",
}  # fmt: skip

Rows = tuple[list[pa.RecordBatch], tuple[ResultColumn, ...] | None]


def expand_body(context: Context, routine: Routine) -> str:
    """A body in the standard's form as the catalog stores it: with what its names denote now."""
    values = tuple(Reference(-1, index, each.type, each.name) for index, each in enumerate(routine.inputs))
    texts = []
    for each in parse_body(routine):
        arguments = make_arguments(replace(routine, standard=False), values)
        inside = replace(context, statement=each, arguments=arguments)
        binder = inside.binder()
        binder.expansions = Expansions()
        if each.kind in BINDABLE:
            bind_statement(binder, each)
        elif each.kind == "CallStmt":
            call: Any = each.node.funccall
            for argument in call.args:
                binder.bind_expression(Scope(clause="CALL"), strip_argument_name(argument))
            record_routine(binder, call, context.session.resolve_procedure(inside))
        texts.append(deparse(rewrite_stored(each.node, binder.catalog, binder.search_path, binder.expansions)))
    return ";\n".join(texts)


class SqlLanguage:
    """SQL (see `languages.Language`)."""

    def check(self, context: Context, routine: Routine) -> None:
        """Binds the queries of a body, and checks the last one against the declared result; 42P13."""
        found = parse_body(routine)
        if is_polymorphic(routine):
            return  # types are known only at a call
        values = [Reference(-1, index, each.type, each.name) for index, each in enumerate(routine.inputs)]
        columns: tuple[OutputColumn, ...] | None = None
        for each in found:
            binder, columns = context.binder(), None
            if each.kind == "SelectStmt" and not changes_data(each.node):
                columns = bind_body(binder, routine, values, each.node)[0].columns
            elif each.kind in BINDABLE:
                binder.text = each.text
                binder.arguments = make_arguments(routine, values)
                columns = output_columns(bind_statement(binder, each))
        if routine.kind == "p" or routine.result.name == "void":
            return
        if columns is None:
            shown = "record" if len(routine.outputs) > 1 else str(routine.result)
            message = f"return type mismatch in function declared to return {shown}"
            detail = "Function's final statement must be SELECT or INSERT/UPDATE/DELETE RETURNING."
            raise SqlError.of("invalid_function_definition", message, detail=detail)
        if routine.result.name != "record" or routine.outputs:
            check_result(routine, columns)

    def call(
        self, context: Context, routine: Routine, types: Sequence[SqlType], args: Sequence[Expr], *, is_atomic: bool
    ) -> pa.Table | None:
        """Runs the statements; the rows of the last one, at most one for a routine that returns no set."""
        batches, columns = run_routine(context, routine, tuple(args))
        if not types or routine.result.name == "void":
            return None
        return convert_rows(context, routine, types, batches, columns, first=not routine.returns_set)

    def call_value(self, context: Context, routine: Routine, values: Sequence[object]) -> object:
        """Runs the statements with values for the parameters; the first value of the last one."""
        args = [Constant(value, each.type) for value, each in zip(values, routine.inputs, strict=True)]
        table = self.call(context, routine, [routine.result], args, is_atomic=True)
        if table is None or not table.num_rows:
            return None
        return column_values(routine.result, table.column(0).combine_chunks(), context.session.settings["timezone"])[0]

    def takes_columns(self, routine: Routine) -> bool:
        """Whether calls are handed whole columns: never, what is no query runs by statements."""
        return False


def run_routine(context: Context, routine: Routine, values: tuple[Expr, ...]) -> Rows:
    """Runs the statements of a routine in order; the rows of the last one and their columns."""
    if context.level >= _MAX_LEVEL:
        raise SqlError.of("statement_too_complex", "stack depth limit exceeded")
    statements = parse_statements(routine.body)
    with act_for(context.session, context.transaction.catalog, routine):
        return _run_statements(context, routine, statements, values)


def _run_statements(
    context: Context, routine: Routine, statements: Sequence[RawStatement], values: tuple[Expr, ...]
) -> Rows:
    arguments = make_arguments(routine, values)
    batches: list[pa.RecordBatch] = []
    columns: tuple[ResultColumn, ...] | None = None
    for number, statement in enumerate(statements, 1):
        handler = context.session.handlers.get(statement.kind)
        if handler is None or statement.kind in _NOT_IN_ROUTINES:
            raise FeatureNotSupported(f"{statement.text.split()[0].upper()} is not allowed in an SQL function")
        check_volatility(routine, statement)
        read_newest(context, routine)
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
