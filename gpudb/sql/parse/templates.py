"""Parse trees of queries that are written as text with holes: names that begin with `$`.

Names of users are put into holes (`make_column`, `add_target`) and never written into the text, where one could be a
hole's or an alias's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.sql.parse.locations import location_fields
from gpudb.sql.parse.parser import inner, kind, parse, strings

_LONGEST_NAME = 63
"""Bytes of a name; PostgreSQL's grammar cuts what is longer."""


def fill_template(text: str, parts: Mapping[str, Any]) -> Any:
    """Returns the SelectStmt message of a query with `"$name"` replaced: a column by an expression's Node, a relation
    by a SelectStmt message.

    Only what is put into it has places in a text.
    """
    select = parse(text, friendly=False)[0].node
    _forget_places(select)
    _fill(select, parts)
    return select


def make_column(*names: str, location: int = -1) -> Any:
    """Returns the Node of a column of that name, which may be qualified."""
    fields = [pg.Node(string=pg.String(sval=each)) for each in names]
    return pg.Node(column_ref=pg.ColumnRef(fields=fields, location=location))


def add_target(select: Any, expression: Any, name: str = "") -> None:
    """Adds an expression to the select list of a SelectStmt message, under a name if one is given."""
    cut = name.encode()[:_LONGEST_NAME].decode(errors="ignore")
    select.target_list.add().res_target.MergeFrom(pg.ResTarget(name=cut, val=expression, location=-1))


def _forget_places(message: Any) -> None:
    for name in location_fields(message):
        setattr(message, name, -1)
    for field, value in message.ListFields():
        if field.message_type is not None:
            for each in value if field.is_repeated else (value,):
                _forget_places(each)


def _fill(message: Any, parts: Mapping[str, Any]) -> None:
    if message.DESCRIPTOR.name == "Node":
        part = parts.get(_get_name(message))
        if part is not None:
            if kind(message) == "range_var":
                made = type(message)()
                made.range_subselect.subquery.select_stmt.CopyFrom(part)
                if message.range_var.HasField("alias"):
                    made.range_subselect.alias.CopyFrom(message.range_var.alias)
                message.CopyFrom(made)
            else:
                message.CopyFrom(part)
            return
    for field, value in message.ListFields():
        if field.message_type is not None:
            for each in value if field.is_repeated else (value,):
                _fill(each, parts)


def _get_name(node: Any) -> str:
    if kind(node) == "range_var":
        return str(node.range_var.relname)
    if kind(node) == "column_ref" and len(inner(node).fields) == 1 and kind(inner(node).fields[0]) == "string":
        return strings(inner(node).fields)[0]
    return ""
