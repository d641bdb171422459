"""`record.*` in the lists of VALUES: expanded to the record's fields before the statement is bound."""

from __future__ import annotations

from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.sql.bind.base import Arguments
from gpudb.sql.parse.parser import strings


def expand_record_stars(node: Any, arguments: Arguments) -> Any:
    """Returns an INSERT in whose lists of VALUES each star of a record variable is its fields."""
    if node.DESCRIPTOR.name != "InsertStmt" or not node.select_stmt.HasField("select_stmt"):
        return node
    if not any(_is_star(each) for row in node.select_stmt.select_stmt.values_lists for each in row.list.items):
        return node
    result = type(node)()
    result.CopyFrom(node)
    for row in result.select_stmt.select_stmt.values_lists:
        items: list[Any] = []
        for each in row.list.items:
            record = arguments.whole(strings(each.column_ref.fields[:-1])[-1]) if _is_star(each) else None
            items += [each] if record is None else _list_fields(each, [name for name, _ in record.type.fields])
        copies = [_copy(each) for each in items]
        del row.list.items[:]
        row.list.items.extend(copies)
    return result


def _is_star(node: Any) -> bool:
    return bool(
        node.HasField("column_ref")
        and node.column_ref.fields[-1].HasField("a_star")
        and len(node.column_ref.fields) == 2
    )


def _list_fields(star: Any, names: list[str]) -> list[Any]:
    result = []
    for name in names:
        node = _copy(star)
        node.column_ref.fields[-1].CopyFrom(pg.Node(string=pg.String(sval=name)))
        result.append(node)
    return result


def _copy(node: Any) -> Any:
    result = type(node)()
    result.CopyFrom(node)
    return result
