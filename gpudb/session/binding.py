"""A statement's way through sql: parsed, rewritten by rule, then bound by the binder for its kind."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gpudb.errors import FeatureNotSupported
from gpudb.sql.bind.binder import Binder
from gpudb.sql.bind.inserts import bind_insert
from gpudb.sql.bind.merge import bind_merge
from gpudb.sql.bind.scope import Scope
from gpudb.sql.bind.select import bind_query
from gpudb.sql.bind.updates import bind_delete, bind_update
from gpudb.sql.bind.with_changes import bind_with_changes, changes_data
from gpudb.sql.bound import DataChange, Query, Statement
from gpudb.sql.parse import RawStatement, parse
from gpudb.sql.rewrite import rewrite


def statements_of(text: str) -> list[RawStatement]:
    """The statements of a text, each with the rewrite rules applied."""
    return [replace(statement, node=rewrite(statement.node)) for statement in parse(text)]


BINDABLE = frozenset({"SelectStmt", "InsertStmt", "UpdateStmt", "DeleteStmt", "MergeStmt"})
"""The kinds of statement that have a bound form."""


def bind_statement(binder: Binder, statement: RawStatement) -> Statement:
    """The bound form of SELECT, VALUES, INSERT, UPDATE, DELETE or MERGE."""
    if statement.kind not in BINDABLE:
        raise FeatureNotSupported(f"{statement.kind} is not supported here")
    if changes_data(statement.node):
        return bind_with_changes(binder, statement.node, _bind)
    return _bind(binder, statement.node, None)


def _bind(binder: Binder, node: Any, outer: Scope | None) -> Query | DataChange:
    match node.DESCRIPTOR.name:
        case "InsertStmt":
            return bind_insert(binder, node, outer)
        case "UpdateStmt":
            return bind_update(binder, node, outer)
        case "DeleteStmt":
            return bind_delete(binder, node, outer)
        case "MergeStmt":
            return bind_merge(binder, node, outer)
    return bind_query(binder, node, outer)
