"""SELECT … INTO t → CREATE TABLE t AS SELECT …"""

from __future__ import annotations

from typing import Any

from postgast import pg_query_pb2 as pg


def select_into(node: Any) -> Any:
    """Turns a SELECT with INTO at its top into the equivalent CREATE TABLE AS."""
    if node.DESCRIPTOR.name != "SelectStmt" or not node.HasField("into_clause"):
        return node
    result = pg.CreateTableAsStmt()
    result.into.CopyFrom(node.into_clause)
    result.query.select_stmt.CopyFrom(node)
    result.query.select_stmt.ClearField("into_clause")
    result.objtype = pg.OBJECT_TABLE
    result.is_select_into = True
    return result
