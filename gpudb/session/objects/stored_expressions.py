"""Expressions stored as text: DEFAULTs, which refer to sequences by OID."""

from __future__ import annotations

from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.parse_trees import walk_messages
from gpudb.errors import FeatureNotSupported
from gpudb.session.context import Context
from gpudb.session.execution.sequence_values import named_sequence
from gpudb.sql.parse.parser import deparse, inner, kind, strings

_FUNCTIONS = frozenset({"nextval", "currval", "setval"})


def default_expression(context: Context, node: Any) -> str:
    """A DEFAULT as SQL text that refers to sequences by OID, so that a rename does not affect it."""
    _check_default(context, node)
    copy = pg.Node()
    copy.CopyFrom(node)
    _resolve_sequences(context, copy)
    return deparse_expression(copy)


_NOT_IN_DEFAULTS = {"ColumnRef": "column reference", "SubLink": "subquery"}


def _check_default(context: Context, node: Any) -> None:
    for each in walk_messages(node):
        what = _NOT_IN_DEFAULTS.get(each.DESCRIPTOR.name)
        if what is not None:
            error = FeatureNotSupported(f"cannot use {what} in DEFAULT expression")
            raise context.binder().locate(error, each.location)


def _resolve_sequences(context: Context, node: Any) -> None:
    for each in walk_messages(node):
        if each.DESCRIPTOR.name == "FuncCall" and strings(each.funcname)[-1] in _FUNCTIONS and len(each.args):
            text = _sequence_name(each.args[0])
            if text is not None:
                reference = regclass_node(named_sequence(context, text).oid)
                each.args[0].Clear()
                each.args[0].type_cast.CopyFrom(reference)


def _sequence_name(argument: Any) -> str | None:
    """The sequence's name, if an argument is a literal or a literal cast to regclass."""
    if kind(argument) == "type_cast" and strings(inner(argument).type_name.names)[-1] == "regclass":
        argument = inner(argument).arg
    if kind(argument) != "a_const" or inner(argument).WhichOneof("val") != "sval":
        return None
    return str(inner(argument).sval.sval)


def regclass_node(oid: int) -> Any:
    """`'OID'::regclass` as a parse tree."""
    node = pg.TypeCast()
    node.arg.a_const.sval.sval = str(oid)
    node.type_name.names.add().string.sval = "regclass"
    node.type_name.typemod = -1
    return node


def deparse_expression(node: Any) -> str:
    """An expression's parse tree as SQL text."""
    select = pg.SelectStmt()
    target = select.target_list.add()
    target.res_target.val.CopyFrom(node)
    select.limit_option = pg.LIMIT_OPTION_DEFAULT
    select.op = pg.SETOP_NONE
    return deparse(select).removeprefix("SELECT ")
