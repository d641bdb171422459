"""PREPARE, EXECUTE and DEALLOCATE."""

from __future__ import annotations

from typing import Any

from gpudb.errors import SqlError
from gpudb.session.context import Context
from gpudb.session.execution.binding.binding import bind_statement
from gpudb.session.execution.requests.requests import fetch_from_engine
from gpudb.session.results import Prepared, Result, check_columns, statement_columns
from gpudb.sql.bind.expressions.expressions import bind_expression
from gpudb.sql.bind.scope import Scope
from gpudb.sql.bind.types.coercion import coerce
from gpudb.sql.bind.types.type_names import resolve_type_name
from gpudb.sql.bound import Constant, OutputColumn, Select
from gpudb.sql.parse.parser import RawStatement, deparse, inner


def prepare(context: Context) -> Result:
    """PREPARE name [(types)] AS statement."""
    node: Any = context.statement.node
    session = context.session
    session.prepared.check_new(node.name)
    body = inner(node.query)
    text = deparse(body)
    statement = RawStatement(body, text)
    binder = context.binder(describing=True)
    binder.row_locks = []  # its EXECUTE takes them
    binder.declare_parameters([resolve_type_name(inner(each), binder).oid for each in node.argtypes])
    bound = bind_statement(binder, statement)
    session.prepared.add(
        node.name, Prepared(text, binder.get_parameter_types(), statement_columns(bound), statement, from_sql=True)
    )
    return Result("PREPARE")


def execute(context: Context) -> Result:
    """EXECUTE name (values)."""
    node: Any = context.statement.node
    prepared_context = enter_prepared(context, node)
    handler = context.session.handlers[prepared_context.statement.kind]
    return check_columns(context.session.prepared[node.name], handler(prepared_context))


def enter_prepared(context: Context, node: Any) -> Context:
    """The context of the prepared statement of an ExecuteStmt message, with its parameters' values; 26000, 42601."""
    session = context.session
    prepared = session.prepared[node.name]
    if len(node.params) != len(prepared.parameters):
        message = f'wrong number of parameters for prepared statement "{node.name}"'
        detail = f"Expected {len(prepared.parameters)} parameters but got {len(node.params)}."
        raise SqlError.of("syntax_error", message, detail=detail)
    assert isinstance(prepared.statement, RawStatement)
    binder = context.binder()
    scope = Scope(clause="VALUES")
    values = []
    for each, item in zip(node.params, prepared.parameters, strict=True):
        expr = coerce(binder, bind_expression(binder, scope, each), item, "a")
        if isinstance(expr, Constant):
            values.append(expr.value)
            continue
        query = Select((OutputColumn("value", expr.type),), (expr,))
        values.append(fetch_from_engine(context, query).column(0)[0].as_py())
    prepared_context = Context(session, prepared.statement, context.transaction, context.cancel, tuple(values))
    prepared_context.parameter_oids = prepared.oids
    return prepared_context


def deallocate(context: Context) -> Result:
    """DEALLOCATE name, or ALL."""
    node: Any = context.statement.node
    if node.isall or not node.name:
        context.session.prepared.clear()
        return Result("DEALLOCATE ALL")
    context.session.prepared.remove(node.name)
    return Result("DEALLOCATE")
