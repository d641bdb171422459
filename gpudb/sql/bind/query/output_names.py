"""Names of output columns without AS, as PostgreSQL derives them from expressions (FigureColname)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.sql.parse.parser import inner, kind, strings

UNNAMED = "?column?"
_NONE: Mapping[int, str] = MappingProxyType({})


def derive_output_name(node: Any, subqueries: Mapping[int, str] = _NONE) -> str:
    """Returns the name of an expression's output; `?column?` if PostgreSQL derives none.

    `subqueries` has the name of the first column of each subquery, by location.
    """
    return _derive(node, subqueries)[0]


def _derive(node: Any, subqueries: Mapping[int, str]) -> tuple[str, int]:
    """Returns the name and its strength: 0 none, 1 weak (a type's name), 2 strong."""
    which = kind(node)
    message: Any = inner(node) if which else None
    match which:
        case "column_ref":
            names = [each.string.sval for each in message.fields if kind(each) == "string"]
            return (names[-1], 2) if names else (UNNAMED, 0)
        case "a_indirection":
            names = [each.string.sval for each in message.indirection if kind(each) == "string"]
            return (names[-1], 2) if names else _derive(message.arg, subqueries)
        case "func_call":
            return strings(message.funcname)[-1], 2
        case "a_expr" if message.kind == pg.AEXPR_NULLIF:
            return "nullif", 2
        case "type_cast":
            name, strength = _derive(message.arg, subqueries)
            return (strings(message.type_name.names)[-1], 1) if strength <= 1 else (name, strength)
        case "collate_clause":
            return _derive(message.arg, subqueries)
        case "grouping_func":
            return "grouping", 2
        case "sub_link":
            return _sub_link(message, subqueries)
        case "case_expr":
            name, strength = _derive(message.defresult, subqueries)
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


def _sub_link(node: Any, subqueries: Mapping[int, str]) -> tuple[str, int]:
    match pg.SubLinkType.Name(node.sub_link_type):
        case "EXISTS_SUBLINK":
            return "exists", 2
        case "ARRAY_SUBLINK":
            return "array", 2
        case "EXPR_SUBLINK" if node.location in subqueries:
            # The subquery's column has a name already, so even "?column?" is a strong name
            return subqueries[node.location], 2
    return UNNAMED, 0
