"""From text to bound statement: parse, rewrite, and bind with the binder for the kind of statement."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.lru import LruCache
from gpudb.session.authorization.authorize import authorize
from gpudb.session.context import Context
from gpudb.session.execution.binding.literal_rows import bind_literal_rows
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.dml.insert import bind_insert
from gpudb.sql.bind.dml.merge import bind_merge
from gpudb.sql.bind.dml.update_delete import bind_delete, bind_update
from gpudb.sql.bind.dml.with_changes import bind_with_changes
from gpudb.sql.bind.expressions.system_columns import read_addresses
from gpudb.sql.bind.query.select import bind_query
from gpudb.sql.bind.scope import Scope
from gpudb.sql.bound import DataChange, Parameter, Query, Statement
from gpudb.sql.parse.literal_rows import LiteralRows, take_first_row
from gpudb.sql.parse.parser import RawStatement, changes_data, parse
from gpudb.sql.rewrite import rewrite_bound, rewrite_statement
from gpudb.sql.traverse import iter_queries, map_queries, walk

BINDABLE = frozenset({"SelectStmt", "InsertStmt", "UpdateStmt", "DeleteStmt", "MergeStmt"})
"""Kinds of statement with a bound form."""

_KEPT = BINDABLE | {"TransactionStmt"}
"""Kinds of statement whose handlers leave the tree as it is, so that sessions can share it."""
_LONGEST_KEPT = 1024
_parsed: LruCache[tuple[str, bool], tuple[RawStatement, ...]] = LruCache(512)
_MOST_CONTROLS = 256
transaction_controls: dict[str, RawStatement] = {}
"""Texts that are one BEGIN, COMMIT, ROLLBACK or the like: the first that were parsed."""


def parse_statements(text: str, *, friendly: bool = True) -> list[RawStatement]:
    """Parses the statements of a text and applies the rewrite rules; short texts that repeat are parsed once.

    `friendly` is whether they may have the constructs of `parse.friendly`.
    """
    known = _parsed.get((text, friendly))
    if known is None:
        parsed = parse(text, friendly=friendly)
        known = tuple(replace(statement, node=rewrite_statement(statement.node)) for statement in parsed)
        if len(text) <= _LONGEST_KEPT and all(statement.kind in _KEPT for statement in known):
            _parsed.put((text, friendly), known)
            if len(known) == 1 and known[0].kind == "TransactionStmt" and len(transaction_controls) < _MOST_CONTROLS:
                transaction_controls[text] = known[0]
    return list(known)


def parse_literal_rows(text: str, rows: LiteralRows) -> RawStatement:
    """Parses an INSERT … VALUES of literal rows by the first of them."""
    (statement,) = parse(take_first_row(text, rows))
    own = text.rstrip().removesuffix(";").rstrip()
    return replace(statement, node=rewrite_statement(statement.node), text=own, rows=rows)


def bind_authorized(context: Context, binder: Binder, statement: RawStatement) -> Statement:
    """Binds a statement that the current role may run; 42501 if it may not."""
    bound = bind_statement(binder, statement)
    context.transaction.keeps_places |= bool(binder.accesses.addressed)
    return authorize(context, bound, binder.accesses)


def bind_statement(binder: Binder, statement: RawStatement) -> Statement:
    """Binds SELECT, VALUES, INSERT, UPDATE, DELETE or MERGE."""
    if statement.kind not in BINDABLE:
        raise FeatureNotSupported(f"{statement.kind} is not supported here")
    bound: Statement
    if statement.rows is not None:
        found = bind_literal_rows(binder, statement, bind_insert(binder, statement.node))
        if found is not None:
            bound = map_queries(found, rewrite_bound)
            return bound
        # Each row is parsed and bound by itself
        (whole,) = parse_statements(statement.text)
        statement = whole
    if changes_data(statement.node):
        bound = bind_with_changes(binder, statement.node, _bind)
    else:
        bound = _bind(binder, statement.node, None)
    if binder.accesses.addressed:
        bound = read_addresses(binder, bound)
    if binder.parameters:
        _check_parameters(binder, bound)
    bound = map_queries(bound, rewrite_bound)
    return bound


def _check_parameters(binder: Binder, bound: Statement) -> None:
    """42P18 for a parameter whose type cannot be inferred; 42P08 if it is known only in another place."""
    for query in iter_queries(bound):
        for node in walk(query):
            if isinstance(node, Parameter) and node.type.name == "unknown":
                known = binder.parameters[node.number].name != "unknown"
                message = f"could not determine data type of parameter ${node.number}"
                raise SqlError.of("ambiguous_parameter" if known else "indeterminate_datatype", message)


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
