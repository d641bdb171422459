"""Classes of statements, as pgaudit names them: READ, WRITE, FUNCTION, ROLE, DDL, MISC."""

from __future__ import annotations

from typing import Any

import postgast
from postgast import pg_query_pb2 as pg

from gpudb.errors import GpudbError
from gpudb.lru import LruCache
from gpudb.sql.parse.parser import RawStatement, inner, parse

DDL, FUNCTION, MISC, READ, ROLE, WRITE = "DDL", "FUNCTION", "MISC", "READ", "ROLE", "WRITE"

_CACHED_TEXTS = 1000
_BY_KIND = {
    **dict.fromkeys(("SelectStmt", "DeclareCursorStmt", "ExecuteStmt", "FetchStmt"), READ),
    **dict.fromkeys(("InsertStmt", "UpdateStmt", "DeleteStmt", "MergeStmt", "TruncateStmt"), WRITE),
    **dict.fromkeys(("CallStmt", "DoStmt"), FUNCTION),
    **dict.fromkeys(
        (
            "AlterDefaultPrivilegesStmt",
            "AlterRoleSetStmt",
            "AlterRoleStmt",
            "CreateRoleStmt",
            "DropOwnedStmt",
            "DropRoleStmt",
            "GrantRoleStmt",
            "GrantStmt",
            "ReassignOwnedStmt",
        ),
        ROLE,
    ),
    **dict.fromkeys(
        (
            "CheckPointStmt",
            "ClosePortalStmt",
            "ClusterStmt",
            "ConstraintsSetStmt",
            "DeallocateStmt",
            "DiscardStmt",
            "ListenStmt",
            "LockStmt",
            "NotifyStmt",
            "ReindexStmt",
            "TransactionStmt",
            "UnlistenStmt",
            "VacuumStmt",
            "VariableSetStmt",
            "VariableShowStmt",
        ),
        MISC,
    ),
    "ModelStmt": DDL,
    "NodeStmt": DDL,
    "ResourceGroupStmt": DDL,
}
_known: LruCache[str, tuple[str, ...]] = LruCache(_CACHED_TEXTS)


def classify_statements(text: str) -> tuple[str, ...]:
    """Returns the classes of a text's statements, each once; MISC for a text that cannot be parsed."""
    found = _known.get(text)
    if found is None:
        try:
            found = tuple(sorted({_classify(each) for each in parse(text)}))
        except (GpudbError, postgast.PgQueryError, RecursionError, ValueError):
            found = (MISC,)
        _known.put(text, found)
    return found


def _classify(statement: RawStatement) -> str:
    return _classify_node(statement.kind, statement.node)


def _classify_node(kind: str, node: Any) -> str:
    match kind:
        case "CopyStmt":
            return WRITE if node.is_from else READ
        case "ExplainStmt" | "PrepareStmt":
            query = inner(node.query)
            return _classify_node(str(query.DESCRIPTOR.name), query)
        case "RenameStmt" if node.rename_type == pg.OBJECT_ROLE:
            return ROLE
        case "VariableSetStmt" if node.name in ("role", "session_authorization"):
            return ROLE  # who acts from here on
        case "SelectStmt" if node.HasField("into_clause"):
            return DDL
        case _:
            # Whatever is not listed defines an object.
            return _BY_KIND.get(kind, DDL)
