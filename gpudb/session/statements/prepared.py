"""PREPARE, EXECUTE and DEALLOCATE."""

from __future__ import annotations

from typing import Any

from gpudb.errors import SqlError
from gpudb.session.context import Context, columns_of, command, handler, handles
from gpudb.session.execution.binding import bind_statement
from gpudb.session.results import Prepared, Result, as_prepared
from gpudb.sql.bind.expressions.expressions import bind_expression
from gpudb.sql.bind.scope import Scope
from gpudb.sql.bind.types.coercion import coerce
from gpudb.sql.bind.types.type_names import type_name
from gpudb.sql.bound import Constant, OutputColumn, Select
from gpudb.sql.parse.parser import RawStatement, deparse, inner


@handles("PrepareStmt")
def prepare(context: Context) -> Result:
    """PREPARE name [(types)] AS statement."""
    node: Any = context.statement.node
    session = context.session
    if node.name in session.prepared:
        message = f'prepared statement "{node.name}" already exists'
        raise SqlError.of("duplicate_prepared_statement", message)
    body = inner(node.query)
    text = deparse(body)
    statement = RawStatement(body, text)
    binder = session.binder(context, describing=True)
    binder.declare_parameters([type_name(inner(each), binder).oid for each in node.argtypes])
    bound = bind_statement(binder, statement)
    session.save(node.name, Prepared(text, binder.parameter_types(), columns_of(bound), statement, from_sql=True))
    return command("PREPARE")


@handles("ExecuteStmt")
def execute(context: Context) -> Result:
    """EXECUTE name (values)."""
    node: Any = context.statement.node
    inside = entered(context, node)
    carry_out = handler(inside.statement.kind)
    assert carry_out is not None
    return as_prepared(context.session.saved(node.name), carry_out(inside))


def entered(context: Context, node: Any) -> Context:
    """The statement that an ExecuteStmt message stands for, with its parameters' values; 26000, 42601."""
    session = context.session
    prepared = session.saved(node.name)
    if len(node.params) != len(prepared.parameters):
        message = f'wrong number of parameters for prepared statement "{node.name}"'
        detail = f"Expected {len(prepared.parameters)} parameters but got {len(node.params)}."
        raise SqlError.of("syntax_error", message, detail=detail)
    assert isinstance(prepared.bound, RawStatement)
    binder = session.binder(context)
    scope = Scope(clause="VALUES")
    values = []
    for each, wanted in zip(node.params, prepared.parameters, strict=True):
        expr = coerce(binder, bind_expression(binder, scope, each), wanted, "a")
        if isinstance(expr, Constant):
            values.append(expr.value)
            continue
        query = Select((OutputColumn("value", expr.type),), (expr,))
        batches = list(session.engine(query).run(context.request(query)))
        values.append(batches[0].column(0)[0].as_py())
    inside = Context(session, prepared.bound, context.transaction, context.cancel, tuple(values))
    inside.parameter_oids = prepared.oids
    return inside


@handles("DeallocateStmt")
def deallocate(context: Context) -> Result:
    """DEALLOCATE name, or ALL."""
    node: Any = context.statement.node
    if node.isall or not node.name:
        context.session.prepared.clear()
        return command("DEALLOCATE ALL")
    context.session.saved(node.name)
    context.session.forget(node.name)
    return command("DEALLOCATE")
