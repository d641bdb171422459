"""A statement's way through sql: parsed, rewritten by rule, then bound by the binder for its kind."""

from __future__ import annotations

from dataclasses import replace

from gpudb.errors import FeatureNotSupported
from gpudb.sql.bind.binder import Binder
from gpudb.sql.bind.changes import bind_delete, bind_insert, bind_update
from gpudb.sql.bind.select import bind_query
from gpudb.sql.bound import DataChange, Query
from gpudb.sql.parse import RawStatement, parse
from gpudb.sql.rewrite import rewrite


def statements_of(text: str) -> list[RawStatement]:
    """The statements of a text, each with the rewrite rules applied."""
    return [replace(statement, node=rewrite(statement.node)) for statement in parse(text)]


def bind_statement(binder: Binder, statement: RawStatement) -> Query | DataChange:
    """The bound form of SELECT, VALUES, INSERT, UPDATE or DELETE."""
    node = statement.node
    match statement.kind:
        case "SelectStmt":
            return bind_query(binder, node, None)
        case "InsertStmt":
            return bind_insert(binder, node)
        case "UpdateStmt":
            return bind_update(binder, node)
        case "DeleteStmt":
            return bind_delete(binder, node)
    raise FeatureNotSupported(f"{statement.kind} is not supported here")
