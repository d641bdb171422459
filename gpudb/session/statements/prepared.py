"""PREPARE, EXECUTE, CREATE TABLE … AS EXECUTE and DEALLOCATE."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gpudb.errors import SqlError
from gpudb.session.context import Context
from gpudb.session.ddl.tables import create_table
from gpudb.session.execution.binding.binding import bind_statement
from gpudb.session.execution.queries.queries import fetch_query
from gpudb.session.results import Prepared, Result, check_columns, statement_columns
from gpudb.sql.bind.expressions.expressions import bind_expression
from gpudb.sql.bind.scope import PARAMETERS, Scope
from gpudb.sql.bind.types.coercion import coerce
from gpudb.sql.bind.types.conversions import is_coercible
from gpudb.sql.bind.types.type_names import resolve_type_name
from gpudb.sql.bound import Constant, OutputColumn, Select
from gpudb.sql.parse.parser import RawStatement, deparse, inner, kind
from gpudb.types import SqlType


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
        node.name,
        Prepared(
            session.running.text or text,
            binder.get_parameter_types(),
            statement_columns(bound),
            statement,
            from_sql=True,
        ),
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
    prepared = session.prepare_whole(session.prepared[node.name])
    # PostgreSQL does not look at the values for a statement without parameters
    if prepared.parameters and len(node.params) != len(prepared.parameters):
        message = f'wrong number of parameters for prepared statement "{node.name}"'
        detail = f"Expected {len(prepared.parameters)} parameters but got {len(node.params)}."
        raise SqlError.of("syntax_error", message, detail=detail)
    assert isinstance(prepared.statement, RawStatement)
    values = _evaluate(context, node.params, prepared.parameters) if prepared.parameters else []
    prepared_context = Context(session, prepared.statement, context.transaction, context.cancel, tuple(values))
    prepared_context.parameter_oids = prepared.oids
    return prepared_context


def _evaluate(context: Context, nodes: Sequence[Any], types: Sequence[SqlType]) -> list[object]:
    """Computes the values of an EXECUTE for parameters of these types; 42804."""
    binder = context.binder()
    scope = Scope(clause=PARAMETERS)
    values: list[object] = []
    for number, (each, item) in enumerate(zip(nodes, types, strict=True), 1):
        expr = bind_expression(binder, scope, each)
        if expr.type.name != "unknown" and not is_coercible(expr.type, item, "a"):
            message = f"parameter ${number} of type {expr.type} cannot be coerced to the expected type {item.plain}"
            hint = "You will need to rewrite or cast the expression."
            raise binder.locate_expr(SqlError.of("datatype_mismatch", message, hint=hint), expr)
        expr = coerce(binder, expr, item, "a")
        if isinstance(expr, Constant):
            values.append(expr.value)
            continue
        query = Select((OutputColumn("value", expr.type),), (expr,))
        values.append(fetch_query(replace(context, session_calls=None), query).column(0)[0].as_py())
    return values


def create_table_as(context: Context) -> Result:
    """CREATE TABLE … AS a query, or AS EXECUTE of a prepared one; 42809 if that is no query."""
    node: Any = context.statement.node
    if kind(node.query) != "execute_stmt":
        return create_table.create_table_as(context)
    entered = enter_prepared(context, inner(node.query))
    if entered.statement.kind != "SelectStmt":
        raise SqlError.of("wrong_object_type", "prepared statement is not a SELECT")
    whole = type(node)()
    whole.CopyFrom(node)
    whole.query.select_stmt.CopyFrom(entered.statement.node)
    result = create_table.create_table_as(replace(entered, statement=replace(context.statement, node=whole)))
    return Result("SELECT 0") if node.into.skip_data else result


def deallocate(context: Context) -> Result:
    """DEALLOCATE name, or ALL."""
    node: Any = context.statement.node
    if node.isall or not node.name:
        context.session.prepared.clear()
        return Result("DEALLOCATE ALL")
    context.session.prepared.remove(node.name)
    return Result("DEALLOCATE")
