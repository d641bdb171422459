"""The name of an output column without AS, as PostgreSQL derives it from the expression (FigureColname)."""

from __future__ import annotations

from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.sql.parse import inner, kind, strings

UNNAMED = "?column?"


def output_name(node: Any) -> str:
    """The name for an expression's output; `?column?` where PostgreSQL finds none."""
    return _figure(node)[0]


def _figure(node: Any) -> tuple[str, int]:
    """The name and how good it is: 0 none, 1 weak (a type's name), 2 strong."""
    which = kind(node)
    message: Any = inner(node) if which else None
    match which:
        case "column_ref":
            names = [each.string.sval for each in message.fields if kind(each) == "string"]
            return (names[-1], 2) if names else (UNNAMED, 0)
        case "a_indirection":
            names = [each.string.sval for each in message.indirection if kind(each) == "string"]
            return (names[-1], 2) if names else _figure(message.arg)
        case "func_call":
            return strings(message.funcname)[-1], 2
        case "a_expr" if message.kind == pg.AEXPR_NULLIF:
            return "nullif", 2
        case "type_cast":
            name, strength = _figure(message.arg)
            return (strings(message.type_name.names)[-1], 1) if strength <= 1 else (name, strength)
        case "collate_clause":
            return _figure(message.arg)
        case "grouping_func":
            return "grouping", 2
        case "sub_link":
            return _sub_link(message)
        case "case_expr":
            name, strength = _figure(message.defresult)
            return ("case", 1) if strength <= 1 else (name, strength)
        case "a_array_expr":
            return "array", 2
        case "json_object_constructor":
            return "json_object", 2
        case "json_array_constructor" | "json_array_query_constructor":
            return "json_array", 2
        case "json_object_agg":
            return "json_objectagg", 2
        case "json_array_agg":
            return "json_arrayagg", 2
        case "row_expr":
            return "row", 2
        case "coalesce_expr":
            return "coalesce", 2
        case "min_max_expr":
            return ("greatest" if message.op == pg.IS_GREATEST else "least"), 2
        case "sqlvalue_function":
            name = pg.SQLValueFunctionOp.Name(message.op).removeprefix("SVFOP_").removesuffix("_N")
            return name.lower(), 2
        case _:
            return UNNAMED, 0


def _sub_link(node: Any) -> tuple[str, int]:
    match pg.SubLinkType.Name(node.sub_link_type):
        case "EXISTS_SUBLINK":
            return "exists", 2
        case "ARRAY_SUBLINK":
            return "array", 2
        case "EXPR_SUBLINK":
            query = inner(node.subselect)
            while query.op != pg.SETOP_NONE:
                query = query.larg
            if len(query.values_lists):
                return "column1", 2
            if len(query.target_list):
                # the subquery's column has a name by now, so even "?column?" is a good one
                target = inner(query.target_list[0])
                return target.name or output_name(target.val), 2
    return UNNAMED, 0
