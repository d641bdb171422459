"""SQL/JSON: JSON_ARRAY, JSON_OBJECT, JSON_ARRAYAGG, JSON_OBJECTAGG and IS JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.errors import DatatypeMismatch, FeatureNotSupported
from gpudb.functions import resolve
from gpudb.functions.sql_json import get_constructor, get_is_json
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.expressions.calls import bind_call
from gpudb.sql.bind.expressions.operators import build_call
from gpudb.sql.bind.scope import Scope
from gpudb.sql.bind.types.coercion import coerce
from gpudb.sql.bind.types.type_names import resolve_type_name
from gpudb.sql.bound import Aggregate, Call, Cast, Constant, Expr, Window
from gpudb.sql.parse.parser import inner, present
from gpudb.types import JSON, JSONB, TEXT, SqlType


def bind_array(binder: Binder, scope: Scope, node: Any) -> Expr:
    """Binds JSON_ARRAY(value, …)."""
    items = [_bind_value(binder, scope, inner(each)) for each in node.exprs]
    return _build_constructor(binder, node.output, "json_array", items, absent=node.absent_on_null)


def bind_object(binder: Binder, scope: Scope, node: Any) -> Expr:
    """Binds JSON_OBJECT(key: value, …)."""
    items: list[Expr] = []
    for each in node.exprs:
        pair = inner(each)
        items += [_to_text(binder, binder.bind_expression(scope, pair.key)), _bind_value(binder, scope, pair.value)]
    return _build_constructor(binder, node.output, "json_object", items, absent=node.absent_on_null, unique=node.unique)


def bind_array_query(binder: Binder, scope: Scope, node: Any) -> Expr:
    """Binds JSON_ARRAY(SELECT …) as an aggregate over the query; NULL without rows."""
    whole = pg.SelectStmt(
        target_list=[pg.Node(res_target=pg.ResTarget(val=pg.Node(json_array_agg=_build_array_aggregate(node))))],
        from_clause=[
            pg.Node(
                range_subselect=pg.RangeSubselect(
                    subquery=node.query,
                    alias=pg.Alias(aliasname="q", colnames=[pg.Node(string=pg.String(sval="a"))]),
                )
            )
        ],
        limit_option=pg.LIMIT_OPTION_DEFAULT,
        op=pg.SETOP_NONE,
    )
    link = pg.SubLink(sub_link_type=pg.EXPR_SUBLINK, subselect=pg.Node(select_stmt=whole), location=node.location)
    return binder.bind_expression(scope, pg.Node(sub_link=link))


def _build_array_aggregate(node: Any) -> Any:
    """Returns JSON_ARRAYAGG(a) over the query's single column, which is named a."""
    column = pg.Node(column_ref=pg.ColumnRef(fields=[pg.Node(string=pg.String(sval="a"))], location=node.location))
    return pg.JsonArrayAgg(
        constructor=pg.JsonAggConstructor(output=node.output if node.HasField("output") else None),
        arg=pg.JsonValueExpr(raw_expr=column, format=node.format if node.HasField("format") else None),
        absent_on_null=node.absent_on_null,
    )


def bind_array_aggregate(binder: Binder, scope: Scope, node: Any) -> Expr:
    """Binds JSON_ARRAYAGG(value)."""
    returned = _bind_returning(binder, node.constructor.output)

    def name(returned: SqlType) -> str:
        return _get_aggregate_name(returned, "agg", node.absent_on_null, False)

    return _bind_aggregate(binder, scope, node, name, [node.arg.raw_expr], returned)


def bind_object_aggregate(binder: Binder, scope: Scope, node: Any) -> Expr:
    """Binds JSON_OBJECTAGG(key: value)."""
    returned = _bind_returning(binder, node.constructor.output)

    def name(returned: SqlType) -> str:
        return _get_aggregate_name(returned, "object_agg", node.absent_on_null, node.unique)

    return _bind_aggregate(binder, scope, node, name, [node.arg.key, node.arg.value.raw_expr], returned)


def bind_is_json(binder: Binder, scope: Scope, node: Any) -> Expr:
    """Binds value IS JSON …, of text, bytea, json or jsonb."""
    value = binder.bind_expression(scope, node.expr)
    if value.type.name == "bytea":
        # 22021 for bytes that are no text
        text = resolve.resolve_function("convert_from", (value.type, TEXT))
        value = build_call(binder, text, (value, Constant("UTF8", TEXT)))
    if value.type.name not in {"unknown", "text", "varchar", "bpchar", "name", "json", "jsonb"}:
        raise DatatypeMismatch(f"cannot use type {value.type} in IS JSON predicate")
    kind = pg.JsonValueType.Name(node.item_type).removeprefix("JS_TYPE_").lower()
    function = get_is_json(kind, node.unique_keys)
    return Call(function, (coerce(binder, value, TEXT, "e"),), function.result)


# ---------------------------------------------------------------------------------------------- parts


def _bind_value(binder: Binder, scope: Scope, node: Any) -> Expr:
    """Binds a value; text under FORMAT JSON is converted to json."""
    result = binder.bind_expression(scope, node.raw_expr)
    if node.format.format_type == pg.JS_FORMAT_JSON:
        if result.type.name == "bytea":
            raise FeatureNotSupported("FORMAT JSON of bytea is not supported")
        return coerce(binder, result, JSON, "e") if result.type.name not in {"json", "jsonb"} else result
    return _to_text(binder, result)


def _to_text(binder: Binder, expr: Expr) -> Expr:
    return coerce(binder, expr, TEXT) if expr.type.name == "unknown" else expr


def _bind_returning(binder: Binder, output: Any) -> SqlType:
    """Returns the type of RETURNING; json without one."""
    if not output.HasField("type_name"):
        return JSON
    result = resolve_type_name(output.type_name, binder)
    if result.name not in {"json", "jsonb", "text", "varchar", "bpchar"}:
        if result.name == "bytea":
            raise FeatureNotSupported("RETURNING bytea is not supported")
        raise DatatypeMismatch(f"cannot use RETURNING type {result} in JSON constructor")
    return result


def _build_constructor(
    binder: Binder, output: Any, name: str, items: Sequence[Expr], *, absent: bool, unique: bool = False
) -> Expr:
    returned = JSONB if _returns_binary(output, items) else _bind_returning(binder, output)
    function = get_constructor(name, binary=returned.name == "jsonb", absent=absent, unique=unique)
    result = Call(function, tuple(items), JSONB if returned.name == "jsonb" else JSON)
    return result if returned.name in {"json", "jsonb"} else Cast(result, returned, True)


def _get_aggregate_name(returned: SqlType, kind: str, absent: bool, unique: bool) -> str:
    prefix = "jsonb" if returned.name == "jsonb" else "json"
    return f"{prefix}_{kind}{'_unique' * unique}{'_strict' * absent}"


def _returns_binary(output: Any, items: Sequence[Expr]) -> bool:
    """Returns whether a constructor without RETURNING returns jsonb: it does if an argument is jsonb."""
    return not output.HasField("type_name") and any(item.type.name == "jsonb" for item in items)


def _bind_aggregate(
    binder: Binder,
    scope: Scope,
    node: Any,
    name: Callable[[SqlType], str],
    args: Sequence[Any],
    returned: SqlType,
) -> Expr:
    """Binds the aggregate that a constructor denotes, with its ORDER BY, FILTER and OVER."""
    function = pg.Node(string=pg.String(sval=name(returned)))
    call = pg.FuncCall(funcname=[function], args=args, agg_order=node.constructor.agg_order)
    if present(node.constructor.agg_filter):
        call.agg_filter.CopyFrom(node.constructor.agg_filter)
    if node.constructor.HasField("over"):
        call.over.CopyFrom(node.constructor.over)
    result = bind_call(binder, scope, call)
    if isinstance(result, Aggregate | Window) and _returns_binary(node.constructor.output, result.args):
        call.funcname[0].string.sval = name(JSONB)
        return bind_call(binder, scope, call)
    return result if returned.name in {"json", "jsonb"} else Cast(result, returned, True)


BINDERS: dict[str, Callable[[Binder, Scope, Any], Expr]] = {
    "json_array_constructor": bind_array,
    "json_array_query_constructor": bind_array_query,
    "json_object_constructor": bind_object,
    "json_array_agg": bind_array_aggregate,
    "json_object_agg": bind_object_aggregate,
    "json_is_predicate": bind_is_json,
}
