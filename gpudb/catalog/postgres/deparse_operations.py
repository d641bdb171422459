"""Expressions as PostgreSQL's deparser shows them: operations in parentheses, rows compared column by column.

What depends on types stays as written: literals, LIKE, lists behind IN.
"""

from __future__ import annotations

from typing import Any

import postgast
from postgast import pg_query_pb2 as pg

from gpudb.catalog.parse_trees import deparse_tree
from gpudb.catalog.pinned_routines import hide_default_schema, hide_pins
from gpudb.catalog.postgres.deparse import show_type

_BY_COLUMN = {"=": " AND ", "<>": " OR "}
_PLAIN_CALL = {"funcname", "args", "funcformat", "location"}


def deparse_expression(text: str, *, short: bool = True) -> str:
    """Returns an expression as pg_get_constraintdef shows it, not pretty-printed.

    With `short` functions and types are named as the default search path finds them.
    """
    tree = postgast.parse(f"SELECT {text}")
    hide_pins(tree)
    if short:
        hide_default_schema(tree)
    return _deparse(tree.stmts[0].stmt.select_stmt.target_list[0].res_target.val)


def _deparse(node: Any) -> str:
    match node.WhichOneof("node"):
        case "a_expr":
            return _deparse_operation(node)
        case "bool_expr":
            args = [_deparse(argument) for argument in node.bool_expr.args]
            if node.bool_expr.boolop == pg.NOT_EXPR:
                return f"(NOT {args[0]})"
            return _join_operands(" AND " if node.bool_expr.boolop == pg.AND_EXPR else " OR ", args)
        case "null_test":
            negated = "NOT " if node.null_test.nulltesttype == pg.IS_NOT_NULL else ""
            return f"({_deparse(node.null_test.arg)} IS {negated}NULL)"
        case "row_expr":
            return f"ROW({', '.join(map(_deparse, node.row_expr.args))})"
        case "func_call" if {field.name for field, _ in node.func_call.ListFields()} <= _PLAIN_CALL:
            call = node.func_call
            if call.funcformat == pg.COERCE_EXPLICIT_CALL:
                bare = pg.Node()
                bare.func_call.funcname.extend(call.funcname)
                return f"{_deparse_plainly(bare).removesuffix('()')}({', '.join(map(_deparse, call.args))})"
        case "type_cast" if not _is_typed_constant(node.type_cast.arg):
            return f"({_deparse(node.type_cast.arg)})::{_deparse_type(node.type_cast.type_name)}"
        case "type_cast" if node.type_cast.arg.a_const.HasField("sval"):
            return f"{_deparse_plainly(node.type_cast.arg)}::{_deparse_type(node.type_cast.type_name)}"
        case "a_const" if node.a_const.ival.ival < 0:
            return f"'{node.a_const.ival.ival}'::integer"
        case "boolean_test":
            test = pg.BoolTestType.Name(node.boolean_test.booltesttype).replace("_", " ")
            return f"({_deparse(node.boolean_test.arg)} {test})"
        case "sqlvalue_function":
            return _deparse_plainly(node).upper()
        case "sub_link" if node.sub_link.sub_link_type == pg.EXISTS_SUBLINK:
            return f"({_deparse_plainly(node)})"
    return _deparse_plainly(node)


def _deparse_type(node: Any) -> str:
    shown = show_type(node)
    if shown is not None:
        return shown
    nothing = pg.Node()
    nothing.type_cast.type_name.CopyFrom(node)
    nothing.type_cast.arg.a_const.isnull = True
    return _deparse_plainly(nothing).removeprefix("NULL::")


def _is_typed_constant(node: Any) -> bool:
    """Whether a cast of a node is one constant in PostgreSQL: of a text, NULL or a truth value."""
    if node.WhichOneof("node") != "a_const":
        return False
    return node.a_const.isnull or node.a_const.WhichOneof("val") in ("sval", "boolval", "bsval")


def _deparse_operation(node: Any) -> str:
    operation = node.a_expr
    name = operation.name[-1].string.sval if len(operation.name) else ""
    pairs = _pair_fields(operation.lexpr, operation.rexpr)
    match operation.kind:
        case pg.AEXPR_OP if pairs:
            return _deparse_row_comparison(name, pairs)
        case pg.AEXPR_OP if len(operation.name) == 1:
            left = f"{_deparse(operation.lexpr)} " if operation.lexpr.WhichOneof("node") else ""
            return f"({left}{name} {_deparse(operation.rexpr)})"
        case pg.AEXPR_DISTINCT | pg.AEXPR_NOT_DISTINCT:
            tests = [
                f"({_deparse(a)} IS DISTINCT FROM {_deparse(b)})"
                for a, b in pairs or [(operation.lexpr, operation.rexpr)]
            ]
            test = _join_operands(" OR ", tests)
            return test if operation.kind == pg.AEXPR_DISTINCT else f"(NOT {test})"
        case pg.AEXPR_BETWEEN | pg.AEXPR_NOT_BETWEEN:
            (low, high), value = map(_deparse, operation.rexpr.list.items), _deparse(operation.lexpr)
            if operation.kind == pg.AEXPR_BETWEEN:
                return f"(({value} >= {low}) AND ({value} <= {high}))"
            return f"(({value} < {low}) OR ({value} > {high}))"
        case pg.AEXPR_IN if operation.lexpr.WhichOneof("node") == "row_expr":
            comparisons = [
                _deparse_row_comparison(name, _pair_fields(operation.lexpr, item))
                for item in operation.rexpr.list.items
            ]
            return _join_operands(" OR " if name == "=" else " AND ", comparisons)
    return f"({_deparse_plainly(node)})"


def _pair_fields(left: Any, right: Any) -> list[tuple[Any, Any]]:
    """Returns the fields of two compared rows; none if they are not rows."""
    if left.WhichOneof("node") != "row_expr" or right.WhichOneof("node") != "row_expr":
        return []
    return list(zip(left.row_expr.args, right.row_expr.args, strict=True))


def _deparse_row_comparison(name: str, pairs: list[tuple[Any, Any]]) -> str:
    if name in _BY_COLUMN or len(pairs) == 1:
        return _join_operands(_BY_COLUMN.get(name, ""), [f"({_deparse(a)} {name} {_deparse(b)})" for a, b in pairs])
    left, right = (", ".join(map(_deparse, side)) for side in zip(*pairs, strict=True))
    return f"(ROW({left}) {name} ROW({right}))"


def _join_operands(word: str, parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"({word.join(parts)})"


def _deparse_plainly(node: Any) -> str:
    result = pg.ParseResult()
    select = result.stmts.add().stmt.select_stmt
    select.target_list.add().res_target.val.CopyFrom(node)
    select.limit_option, select.op = pg.LIMIT_OPTION_DEFAULT, pg.SETOP_NONE
    return deparse_tree(result).removeprefix("SELECT ")
