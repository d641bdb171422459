"""Replaces, in the tree of a statement, what DuckDB means otherwise than PostgreSQL."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.functions.library import functions_by_name
from gpudb.server.http.console.dialect import calls
from gpudb.server.http.console.dialect.spelling import GROUP_ALL

_EPOCH = dt.datetime(1970, 1, 1)
_MONTHS = {"month": 1, "months": 1, "quarter": 3, "quarters": 3, "year": 12, "years": 12}


def walk(message: Any, visit: Callable[[Any], None]) -> None:
    """Visits all messages of a tree, those that a message contains before it; they may be changed in place."""
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        for each in value if field.is_repeated else (value,):
            walk(each, visit)
    visit(message)


def replace_dialect(tree: Any) -> None:
    """Replaces functions, operators, types and orders in a tree; 0A000 for forms that cannot be replaced."""
    walk(tree, _visit)


def _visit(message: Any) -> None:
    if isinstance(message, pg.Node):
        kind = message.WhichOneof("node")
        if kind == "a_expr":
            _replace_operator(message)
        elif kind == "func_call":
            _replace_call(message)
    elif isinstance(message, pg.TypeName):
        name = message.names[-1].string.sval if message.names else ""
        if len(message.names) == 1 and name in calls.TYPES:
            message.names[0].string.sval = calls.TYPES[name]
    elif isinstance(message, pg.SortBy):
        # NULLs are last in DuckDB, in either direction
        if message.sortby_dir == pg.SORTBY_DESC and message.sortby_nulls == pg.SORTBY_NULLS_DEFAULT:
            message.sortby_nulls = pg.SORTBY_NULLS_LAST
    elif isinstance(message, pg.SelectStmt):
        _group_by_all(message)


def fill(template: str, operands: Sequence[Any]) -> Any:
    """Returns a copy of a template's tree with operands in place of its `$n`."""
    node = pg.Node()
    node.CopyFrom(calls.read_template(template))

    def put(message: Any) -> None:
        if isinstance(message, pg.Node) and message.WhichOneof("node") == "param_ref":
            message.CopyFrom(operands[message.param_ref.number - 1])

    walk(node, put)
    return node


def _replace_operator(node: Any) -> None:
    expression = node.a_expr
    if expression.kind != pg.AEXPR_OP or len(expression.name) != 1 or not expression.HasField("lexpr"):
        return
    name = expression.name[0].string.sval
    template = calls.QUOTIENT if name == "/" and _is_number(expression.rexpr) else calls.OPERATORS.get(name)
    if template is not None:
        _put(node, template, (expression.lexpr, expression.rexpr))


def _is_number(node: Any) -> bool:
    """Whether a node is a number other than zero, which may be cast."""
    while node.WhichOneof("node") == "type_cast":
        node = node.type_cast.arg
    if node.WhichOneof("node") != "a_const":
        return False
    constant = node.a_const
    kind = constant.WhichOneof("val")
    return bool(constant.ival.ival) if kind == "ival" else kind == "fval" and float(constant.fval.fval) != 0


def _put(node: Any, template: str, operands: Sequence[Any]) -> None:
    node.CopyFrom(fill(template, operands))


def _replace_call(node: Any) -> None:
    call = node.func_call
    if len(call.funcname) != 1:
        return
    name, arguments = call.funcname[0].string.sval.lower(), call.args
    if name == "time_bucket" and len(arguments) == 2:
        _put(node, *_bin_time(*arguments))
    elif name == "regexp_matches" and len(arguments) == 3:
        _match(node, *arguments)
    elif name == "epoch_ms" and len(arguments) == 1 and (number := read_integer(arguments[0])) is not None:
        moment = _EPOCH + dt.timedelta(milliseconds=number)
        _put(node, calls.TIMESTAMP, (make_text(moment.isoformat(sep=" ")),))
    elif name == "unnest" and len(arguments) == 1 and _is_call(arguments[0], "range", 1):
        _put(node, calls.functions()["unnest range", 1], (arguments[0].func_call.args[0],))
    elif (template := calls.functions().get((name, len(arguments)))) is not None:
        replacement = fill(template, list(arguments))
        _keep_clauses(call, replacement, name)
        node.CopyFrom(replacement)


def _is_call(node: Any, name: str, arguments: int) -> bool:
    if node.WhichOneof("node") != "func_call":
        return False
    call = node.func_call
    return [each.string.sval for each in call.funcname] == [name] and len(call.args) == arguments


def _keep_clauses(call: Any, replacement: Any, name: str) -> None:
    """Gives FILTER, DISTINCT, ORDER BY and OVER of an aggregate to the aggregate that replaces it."""
    if not (call.HasField("agg_filter") or call.agg_distinct or call.agg_order or call.HasField("over")):
        return
    target = replacement.func_call if replacement.WhichOneof("node") == "func_call" else None
    if target is None:
        raise FeatureNotSupported(f"{name} with FILTER, DISTINCT, ORDER BY or OVER is not supported in charts")
    if call.HasField("agg_filter"):
        target.agg_filter.CopyFrom(call.agg_filter)
    if call.HasField("over"):
        target.over.CopyFrom(call.over)
    if (call.agg_distinct or call.agg_order) and target.agg_within_group:
        raise FeatureNotSupported(f"{name} with DISTINCT or ORDER BY is not supported in charts")
    target.agg_distinct = call.agg_distinct
    target.agg_order.extend(call.agg_order)


def _match(node: Any, text: Any, pattern: Any, options: Any) -> None:
    given = options.a_const.sval.sval if options.WhichOneof("node") == "a_const" else None
    if given not in ("", "i", "c"):
        raise FeatureNotSupported(f"regexp_matches with the options {given!r} is not supported in charts")
    template = calls.functions()["regexp_matches i" if given == "i" else "regexp_matches", 2]
    _put(node, template, (text, pattern))


def _bin_time(width: Any, moment: Any) -> tuple[str, tuple[Any, ...]]:
    """Returns the template and operands of a time_bucket."""
    text = width.type_cast.arg.a_const.sval.sval if width.WhichOneof("node") == "type_cast" else ""
    number, _, unit = text.partition(" ")
    months = _MONTHS.get(unit)
    if months is None:
        return calls.functions()["time_bucket days", 2], (width, moment)
    if not number.isdigit() or int(number) == 0:
        raise SqlError.of("invalid_parameter_value", f'"{text}" is no width of a bin')
    count = int(number) * months
    shorter = calls.functions().get((f"time_bucket {count} months", 1))
    if shorter is not None:
        return shorter, (moment,)
    return calls.functions()["time_bucket months", 2], (make_integer(count), moment)


def read_integer(node: Any) -> int | None:
    """Returns the integer that a node is, with or without a sign; None for others."""
    if node.WhichOneof("node") == "a_expr" and not node.a_expr.HasField("lexpr"):
        if len(node.a_expr.name) == 1 and node.a_expr.name[0].string.sval == "-":
            number = read_integer(node.a_expr.rexpr)
            return None if number is None else -number
    if node.WhichOneof("node") != "a_const":
        return None
    constant = node.a_const
    kind = constant.WhichOneof("val")
    if kind == "ival":
        return int(constant.ival.ival)
    return int(constant.fval.fval) if kind == "fval" and constant.fval.fval.isdigit() else None


def make_text(value: str) -> Any:
    """Returns a constant text."""
    return pg.Node(a_const=pg.A_Const(sval=pg.String(sval=value)))


def make_integer(value: int) -> Any:
    """Returns a constant integer."""
    return pg.Node(a_const=pg.A_Const(ival=pg.Integer(ival=value)))


# ---- GROUP BY ALL


def drop_grouped_stars(tree: Any) -> None:
    """Drops `*` beside GROUP BY ALL: a description of the other columns is asked for."""

    def drop(message: Any) -> None:
        if isinstance(message, pg.SelectStmt) and [get_name(each) for each in message.group_clause] == [GROUP_ALL]:
            kept = [each for each in message.target_list if not is_star(each.res_target.val)]
            del message.target_list[:]
            message.target_list.extend(kept)

    walk(tree, drop)


def is_star(node: Any) -> bool:
    """Whether a node is all columns, of one source or of all."""
    return any(each.WhichOneof("node") == "a_star" for each in node.column_ref.fields)


def _group_by_all(select: Any) -> None:
    """Groups by all entries of the select list that have no aggregate, where ALL stands."""
    if [get_name(each) for each in select.group_clause] != [GROUP_ALL]:
        return
    del select.group_clause[:]
    for number, target in enumerate(select.target_list, 1):
        value = target.res_target.val
        if is_star(value):
            raise FeatureNotSupported("GROUP BY ALL with * is not supported in charts")
        if not has_aggregate(value):
            select.group_clause.append(make_integer(number))


def get_name(node: Any) -> str | None:
    """Returns the name of an unqualified column; None for others."""
    if node.WhichOneof("node") != "column_ref" or len(node.column_ref.fields) != 1:
        return None
    field = node.column_ref.fields[0]
    return str(field.string.sval) if field.WhichOneof("node") == "string" else None


def has_aggregate(node: Any) -> bool:
    """Whether an expression has an aggregate that is no window function."""
    found = False

    def look(message: Any) -> None:
        nonlocal found
        if isinstance(message, pg.FuncCall) and not message.HasField("over"):
            name = message.funcname[-1].string.sval.lower()
            kinds = {each.kind for each in functions_by_name().get(name, ())}
            found = found or message.agg_star or message.agg_within_group or "a" in kinds

    walk(node, look)
    return found
