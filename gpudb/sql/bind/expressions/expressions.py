"""Expressions: one function for each kind of node of PostgreSQL's parse tree."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.tables import SYSTEM_COLUMNS
from gpudb.errors import (
    DatatypeMismatch,
    FeatureNotSupported,
    GpudbError,
    SqlError,
    SyntaxError_,
    UndefinedColumn,
    UndefinedObject,
)
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.expressions import aggregates, arrays, calls, operators, quantified, records, sql_json, stars
from gpudb.sql.bind.expressions.composed import bind_composed
from gpudb.sql.bind.expressions.indirection import bind_indirection
from gpudb.sql.bind.expressions.repeated_columns import bind_columns, is_columns, restore_function
from gpudb.sql.bind.expressions.system_columns import bind_item_column, bind_system_column
from gpudb.sql.bind.scope import PARAMETERS, Scope
from gpudb.sql.bind.types.coercion import coerce, unify_branches
from gpudb.sql.bind.types.conversions import check_comparison, coerce_condition
from gpudb.sql.bind.types.literals import bind_literal
from gpudb.sql.bind.types.rows import is_row
from gpudb.sql.bind.types.type_names import resolve_value_type
from gpudb.sql.bound import (
    ArraySubquery,
    BoolOp,
    Case,
    Cast,
    Choice,
    Constant,
    Default,
    Exists,
    Expr,
    Parameter,
    Query,
    Row,
    ScalarSubquery,
    Test,
)
from gpudb.sql.parse.parser import inner, kind, present, strings
from gpudb.types import BOOL, DATE, TEXT, TIME, TIMESTAMP, TIMETZ, UNKNOWN, SqlType

MAX_DEPTH = 150

Bind = Callable[[Binder, Scope, Any], Expr]
_BINDERS: dict[str, Bind] = {}


def binds(node_kind: str) -> Callable[[Bind], Bind]:
    """Registers the function that binds one kind of node."""

    def register(function: Bind) -> Bind:
        _BINDERS[node_kind] = function
        return function

    return register


def bind_expression(binder: Binder, scope: Scope, node: Any) -> Expr:
    """Binds a `Node`; errors have the position of the innermost node that raised them."""
    node_kind = kind(node)
    function = _BINDERS.get(node_kind)
    if function is None:
        raise FeatureNotSupported(f"{node_kind.replace('_', ' ') or 'empty'} expressions are not supported")
    binder.check_canceled()
    message = inner(node)
    binder.depth += 1
    try:
        if binder.depth > MAX_DEPTH:
            raise SqlError.of("statement_too_complex", "stack depth limit exceeded")
        result = function(binder, scope, message)
        if node_kind == "param_ref":  # an argument has the place at which it was bound
            binder.parse_nodes.setdefault(id(result), (result, node))
        else:
            binder.parse_nodes[id(result)] = result, node
        return result
    except GpudbError as error:
        raise binder.locate(error, getattr(message, "location", -1)) from None
    finally:
        binder.depth -= 1


@binds("a_const")
def _bind_constant(binder: Binder, scope: Scope, node: Any) -> Expr:
    return bind_literal(node)


@binds("current_of_expr")
def _bind_current_of(binder: Binder, scope: Scope, node: Any) -> Expr:
    """Describes WHERE CURRENT OF; the session replaces it by the address of a row before the statement runs."""
    if not binder.describing:
        raise FeatureNotSupported("WHERE CURRENT OF is not supported here")
    binder.cacheable = False
    return Constant(False, BOOL)


@binds("param_ref")
def _bind_parameter(binder: Binder, scope: Scope, node: Any) -> Expr:
    if binder.arguments is not None:
        return binder.arguments.by_number(node.number)
    return binder.get_parameter(node.number)


@binds("set_to_default")
def _bind_default(binder: Binder, scope: Scope, node: Any) -> Expr:
    return Default(UNKNOWN)


@binds("column_ref")
def _bind_column(binder: Binder, scope: Scope, node: Any) -> Expr:
    result = _resolve_column(binder, scope, node)
    binder.accesses.select(result)
    return result


def _resolve_column(binder: Binder, scope: Scope, node: Any) -> Expr:
    last = node.fields[-1]
    if kind(last) == "a_star":
        return stars.bind_relation_row(binder, scope, node)
    names = strings(node.fields)
    if binder.arguments is not None:
        return binder.arguments.choose(names, lambda: _resolve_names(binder, scope, node, names))
    return _resolve_names(binder, scope, node, names)


def _resolve_names(binder: Binder, scope: Scope, node: Any, names: tuple[str, ...]) -> Expr:
    match names:
        case (name,):
            if name in SYSTEM_COLUMNS and (column := bind_system_column(binder, scope, name)) is not None:
                return column
            try:
                return scope.resolve_column(name)
            except GpudbError as error:
                argument = binder.arguments.by_name(name) if binder.arguments is not None else None
                if argument is not None and error.sqlstate == "42703":
                    return argument
                item = scope.resolve_relation(name)
                if item is None:
                    raise
                if item.scalar:
                    return item.columns[0][1]
                return records.bind_whole_row(binder, item)
        case (alias, name):
            known = binder.arguments
            if known is not None and known.routine == alias and scope.resolve_relation(alias) is None:
                argument = known.by_name(name)
                if argument is not None:
                    return argument
            if (
                known is not None
                and scope.resolve_relation(alias) is None
                and (row := known.by_name(alias)) is not None
            ):
                return calls.bind_member(binder, scope, row, name, _as_call(node, *node.fields[:-1]))
            return _bind_qualified(binder, scope, node, alias, name)
        case (schema, alias, name):
            return _bind_qualified(binder, scope, node, alias, name, schema)
        case (database, schema, alias, name) if database == binder.catalog.database:
            return _bind_qualified(binder, scope, node, alias, name, schema)
    if len(names) > 4:
        raise SyntaxError_(f"improper qualified name (too many dotted names): {'.'.join(names)}")
    raise FeatureNotSupported(f"cross-database references are not implemented: {'.'.join(names)}")


def _as_call(node: Any, *row: Any) -> calls.Written:
    """Returns a ColumnRef message `row.name` as what may call a function of the row, whose own reference is `row`."""
    return calls.Written(node, pg.Node(column_ref=pg.ColumnRef(fields=row, location=node.location)))


def _bind_qualified(binder: Binder, scope: Scope, node: Any, alias: str, name: str, schema: str | None = None) -> Expr:
    """Binds alias.name: a column of the relation, or a function of its row."""
    try:
        return scope.resolve_qualified(alias, name, schema)
    except UndefinedColumn:
        item = scope.resolve_relation(alias, schema)
        if item is None or not item.columns:
            raise
        if (column := bind_item_column(binder, item, name)) is not None:
            return column
        written = _as_call(node, *node.fields[:-1], pg.Node(a_star=pg.A_Star()))
        result = calls.apply_to_row(binder, scope, name, records.bind_whole_row(binder, item), written)
        if result is None:
            raise
        return result


@binds("type_cast")
def _bind_cast(binder: Binder, scope: Scope, node: Any) -> Expr:
    try:
        target = resolve_value_type(node.type_name, binder)
    except GpudbError as error:
        raise binder.locate(error, node.type_name.location) from None
    if kind(node.arg) == "a_array_expr" and target.element is not None:
        return arrays.bind_cast_array(binder, scope, inner(node.arg), target)
    arg = bind_expression(binder, scope, node.arg)
    return coerce(binder, arg, target, "e")


# Collations that PostgreSQL takes from the operating system or from ICU
_LOCALE = re.compile(r"[a-z]{2,3}([_-].+)?|unicode")


@binds("collate_clause")
def _bind_collate(binder: Binder, scope: Scope, node: Any) -> Expr:
    name = strings(node.collname)[-1]
    if not _LOCALE.fullmatch(name) and name not in {"C", "POSIX", "default", "ucs_basic"}:
        message = f'collation "{name}" for encoding "UTF8" does not exist'
        raise binder.locate(UndefinedObject(message), node.location)
    if name not in {"C", "POSIX", "default", "ucs_basic"}:
        raise FeatureNotSupported(f'collation "{name}" is not supported', hint="gpudb orders text by collation C.")
    expr = bind_expression(binder, scope, node.arg)
    if expr.type.category not in {"S", "X"} and expr.type.name != "name":
        raise DatatypeMismatch(f"collations are not supported by type {expr.type}")
    return expr


@binds("bool_expr")
def _bind_boolean(binder: Binder, scope: Scope, node: Any) -> Expr:
    op = {pg.AND_EXPR: "AND", pg.OR_EXPR: "OR", pg.NOT_EXPR: "NOT"}[node.boolop]
    return BoolOp(op, tuple(_bind_condition(binder, scope, arg, op) for arg in node.args))  # type: ignore[arg-type]


def _bind_condition(binder: Binder, scope: Scope, node: Any, clause: str) -> Expr:
    """Binds a condition; 42804 if it returns a set."""
    sets = scope.set_calls
    result = coerce_condition(binder, bind_expression(binder, scope, node), clause)
    if scope.set_calls != sets:
        raise binder.locate_expr(DatatypeMismatch(f"argument of {clause} must not return a set"), result)
    return result


@binds("null_test")
def _bind_null_test(binder: Binder, scope: Scope, node: Any) -> Expr:
    arg = bind_expression(binder, scope, node.arg)
    negated = node.nulltesttype == pg.IS_NOT_NULL
    if is_row(arg.type) and arg.type.fields:
        return records.build_null_test(arg, negated)
    if arg.type == UNKNOWN and not isinstance(arg, Parameter):
        arg = coerce(binder, arg, TEXT)
    return Test(arg, "NULL", negated)


@binds("boolean_test")
def _bind_boolean_test(binder: Binder, scope: Scope, node: Any) -> Expr:
    name = pg.BoolTestType.Name(node.booltesttype).removeprefix("IS_")
    negated = name.startswith("NOT_")
    what = name.removeprefix("NOT_")
    arg = _bind_condition(binder, scope, node.arg, f"IS {name.replace('_', ' ')}")
    return Test(arg, "NULL" if what == "UNKNOWN" else what, negated)


@binds("case_expr")
def _bind_case(binder: Binder, scope: Scope, node: Any) -> Expr:
    sets = scope.set_calls
    subject = bind_expression(binder, scope, node.arg) if present(node.arg) else None
    whens, values = [], []
    for each in node.args:
        when = inner(each)
        test = bind_expression(binder, scope, when.expr)
        if subject is not None:
            test = operators.apply_operator(binder, "=", subject, test)
        whens.append(coerce_condition(binder, test, "CASE/WHEN"))
        values.append(bind_expression(binder, scope, when.result))
    default: Expr = Constant(None, UNKNOWN)
    if present(node.defresult):
        default = bind_expression(binder, scope, node.defresult)
    _check_no_sets(binder, scope, sets, "CASE")
    # PostgreSQL resolves the type of ELSE first
    (last, *others), target = unify_branches(binder, [default, *values], "CASE")
    return Case(tuple(zip(whens, others, strict=True)), last, target)


def _check_no_sets(binder: Binder, scope: Scope, before: int, what: str) -> None:
    """Raises 0A000 for a set-returning function in a conditional expression."""
    if scope.set_calls != before:
        message = f"set-returning functions are not allowed in {what}"
        raise binder.locate(FeatureNotSupported(message, hint=calls.LATERAL_HINT), scope.set_location)


@binds("coalesce_expr")
def _bind_coalesce(binder: Binder, scope: Scope, node: Any) -> Expr:
    sets = scope.set_calls
    args, target = unify_branches(binder, [bind_expression(binder, scope, a) for a in node.args], "COALESCE")
    _check_no_sets(binder, scope, sets, "COALESCE")
    return Choice("COALESCE", args, target)


@binds("min_max_expr")
def _bind_min_max(binder: Binder, scope: Scope, node: Any) -> Expr:
    op = "GREATEST" if node.op == pg.IS_GREATEST else "LEAST"
    args, target = unify_branches(binder, [bind_expression(binder, scope, a) for a in node.args], op)
    check_comparison([target])
    return Choice(op, args, target)  # type: ignore[arg-type]


@binds("a_array_expr")
def _bind_array(binder: Binder, scope: Scope, node: Any) -> Expr:
    return arrays.bind_array(binder, scope, node)


@binds("row_expr")
def _bind_row(binder: Binder, scope: Scope, node: Any) -> Expr:
    return records.build_row([expr for _, expr in stars.bind_list(binder, scope, node.args)])


@binds("func_call")
def _bind_function(binder: Binder, scope: Scope, node: Any) -> Expr:
    if is_columns(node):
        own = restore_function(binder, node)
        return bind_columns(binder, scope, node) if own is None else calls.bind_call(binder, scope, own)
    composed = bind_composed(binder, scope, node)
    return composed if composed is not None else calls.bind_call(binder, scope, node)


_BINDERS.update(sql_json.BINDERS, a_indirection=bind_indirection)


@binds("grouping_func")
def _bind_grouping(binder: Binder, scope: Scope, node: Any) -> Expr:
    return aggregates.bind_grouping(binder, scope, node)


_VALUE_FUNCTIONS = {
    "CURRENT_USER": "current_user",
    "CURRENT_ROLE": "current_user",
    "USER": "current_user",
    "SESSION_USER": "session_user",
    "CURRENT_CATALOG": "current_database",
    "CURRENT_SCHEMA": "current_schema",
}


@binds("sqlvalue_function")
def _bind_value_function(binder: Binder, scope: Scope, node: Any) -> Expr:
    name = pg.SQLValueFunctionOp.Name(node.op).removeprefix("SVFOP_")
    if name in _VALUE_FUNCTIONS:
        return calls.call_function(binder, _VALUE_FUNCTIONS[name], ())
    now = calls.call_function(binder, "now", ())
    base = name.removesuffix("_N")
    target = {"CURRENT_DATE": DATE, "CURRENT_TIMESTAMP": now.type, "LOCALTIMESTAMP": TIMESTAMP}.get(base)
    if base == "CURRENT_TIME":
        return Cast(now, TIMETZ if node.typmod < 0 else SqlType("timetz", min(node.typmod, 6)))
    if base == "LOCALTIME":
        return Cast(Cast(now, TIMESTAMP), TIME if node.typmod < 0 else SqlType("time", min(node.typmod, 6)))
    if target is None:
        raise FeatureNotSupported(f"{base} is not supported")
    if name.endswith("_N"):
        target = SqlType(target.name, min(node.typmod, 6))
    return now if target == now.type else Cast(now, target)


# ------------------------------------------------------------------------------------------------ operators


@binds("a_expr")
def _bind_operator(binder: Binder, scope: Scope, node: Any) -> Expr:
    name = strings(node.name)[-1]
    match operators.get_expression_kind(node):
        case "AEXPR_OP" | "AEXPR_LIKE" | "AEXPR_ILIKE" | "AEXPR_SIMILAR":
            left = bind_expression(binder, scope, node.lexpr) if present(node.lexpr) else None
            row = left if isinstance(left, Row) and not left.whole else None
            if row is not None and (query := _bind_row_query(binder, scope, node.rexpr)) is not None:
                return quantified.bind_row_subquery(binder, name, row, query)
            return operators.apply_operator(binder, name, left, bind_expression(binder, scope, node.rexpr))
        case "AEXPR_IN":
            left = bind_expression(binder, scope, node.lexpr)
            items = [bind_expression(binder, scope, each) for each in inner(node.rexpr).items]
            return operators.bind_in_list(binder, left, items, name == "<>")
        case "AEXPR_OP_ANY" | "AEXPR_OP_ALL" as which:
            left = bind_expression(binder, scope, node.lexpr)
            right = bind_expression(binder, scope, node.rexpr)
            return operators.bind_any_array(binder, name, left, right, which == "AEXPR_OP_ALL")
        case "AEXPR_DISTINCT" | "AEXPR_NOT_DISTINCT" as which:
            left = bind_expression(binder, scope, node.lexpr)
            right = bind_expression(binder, scope, node.rexpr)
            return operators.bind_distinct_from(binder, left, right, which == "AEXPR_NOT_DISTINCT")
        case "AEXPR_NULLIF":
            left = bind_expression(binder, scope, node.lexpr)
            return operators.bind_nullif(binder, left, bind_expression(binder, scope, node.rexpr))
        case "AEXPR_BETWEEN" | "AEXPR_NOT_BETWEEN" | "AEXPR_BETWEEN_SYM" | "AEXPR_NOT_BETWEEN_SYM" as which:
            return _bind_between(binder, scope, node, which)
        case other:
            raise FeatureNotSupported(f"operator kind {other} is not supported")


def _bind_row_query(binder: Binder, scope: Scope, node: Any) -> Query | None:
    """Binds the subquery that a row is compared with; None if the node is no subquery."""
    if kind(node) != "sub_link" or inner(node).sub_link_type != pg.EXPR_SUBLINK:
        return None
    return binder.bind_query(inner(inner(node).subselect), scope)


def _bind_between(binder: Binder, scope: Scope, node: Any, which: str) -> Expr:
    sets = scope.set_calls
    value = bind_expression(binder, scope, node.lexpr)
    low, high = (bind_expression(binder, scope, each) for each in inner(node.rexpr).items)
    if scope.set_calls != sets:
        raise DatatypeMismatch("argument of AND must not return a set")

    def within(first: Expr, last: Expr) -> Expr:
        at_least = operators.apply_operator(binder, ">=", value, first)
        return BoolOp("AND", (at_least, operators.apply_operator(binder, "<=", value, last)))

    result = within(low, high)
    if which.endswith("_SYM"):
        result = BoolOp("OR", (result, within(high, low)))
    return BoolOp("NOT", (result,)) if which.startswith("AEXPR_NOT") else result


# ------------------------------------------------------------------------------------------------ subqueries


@binds("sub_link")
def _bind_subquery(binder: Binder, scope: Scope, node: Any) -> Expr:
    if scope.clause == "CALL":
        raise FeatureNotSupported("cannot use subquery in CALL argument")
    if scope.clause == PARAMETERS:
        raise FeatureNotSupported("cannot use subquery in EXECUTE parameter")
    if scope.clause == "CHECK":
        raise FeatureNotSupported("cannot use subquery in check constraint")
    query: Query = binder.bind_query(inner(node.subselect), scope)
    match pg.SubLinkType.Name(node.sub_link_type):
        case "EXISTS_SUBLINK":
            return Exists(query)
        case "EXPR_SUBLINK":
            if len(query.columns) != 1:
                raise SqlError.of("syntax_error", "subquery must return only one column")
            binder.subquery_names[node.location] = query.columns[0].name
            return ScalarSubquery(query, query.columns[0].type)
        case "ARRAY_SUBLINK":
            if len(query.columns) != 1:
                raise SqlError.of("syntax_error", "subquery must return only one column")
            return ArraySubquery(query, query.columns[0].type.array)
        case "ANY_SUBLINK" | "ALL_SUBLINK" as which:
            left = bind_expression(binder, scope, node.testexpr)
            name = strings(node.oper_name)[-1] if node.oper_name else "="
            return quantified.bind_any_subquery(binder, name, left, query, which == "ALL_SUBLINK")
        case other:
            raise FeatureNotSupported(f"subquery of kind {other} is not supported")
