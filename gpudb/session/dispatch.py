"""All statement handlers together: importing this registers them; and what they know of a statement beforehand."""

from __future__ import annotations

from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any

import postgast
from postgast import pg_query_pb2 as pg

from gpudb.session.copy import statement as copying
from gpudb.session.copy.load_data import is_load_call, load_columns
from gpudb.session.cursors import statements
from gpudb.session.ddl import (
    alter_table,
    comments,
    create_table,
    domains,
    drop,
    indexes,
    materialized_views,
    rename,
    roles,
    schemas,
    sequences,
    temporary_tables,
    types,
    views,
)
from gpudb.session.dml import changes, set_constraints, truncate
from gpudb.session.execution import routine_calls
from gpudb.session.results import ResultColumn
from gpudb.session.routines import aggregates, create
from gpudb.session.state import deferral
from gpudb.session.statements import analyze, explain, nodes, prepared, query, set_show, transactions
from gpudb.sql.parse.parser import RawStatement

if TYPE_CHECKING:
    from gpudb.session.session import Session
    from gpudb.storage.transaction import Transaction

REGISTERED = (
    aggregates,
    alter_table,
    analyze,
    routine_calls,
    changes,
    comments,
    copying,
    statements,
    domains,
    drop,
    explain,
    indexes,
    materialized_views,
    nodes,
    prepared,
    query,
    rename,
    roles,
    create,
    schemas,
    sequences,
    set_constraints,
    set_show,
    create_table,
    transactions,
    truncate,
    types,
    views,
)

_COMMENTS = {pg.SQL_COMMENT, pg.C_COMMENT}
_ENDS = {pg.TRANS_STMT_COMMIT, pg.TRANS_STMT_ROLLBACK, pg.TRANS_STMT_ROLLBACK_TO}


def ends_transaction(statement: RawStatement) -> bool:
    """Whether a failed transaction takes this statement: COMMIT, ROLLBACK or ROLLBACK TO."""
    node: Any = statement.node
    return statement.kind == "TransactionStmt" and node.kind in _ENDS


def columns_of(session: Session, statement: RawStatement) -> tuple[ResultColumn, ...] | None:
    """The columns that a statement will give which is not bound ahead; None for one without rows."""
    node: Any = statement.node
    match statement.kind:
        case "SelectStmt" if is_load_call(statement):
            return load_columns(statement)
        case "VariableShowStmt":
            return set_show.show_columns(node.name)
        case "ExplainStmt":
            return explain.plan_columns(node)
        case "ExecuteStmt":
            return session.saved(node.name).columns
        case "FetchStmt":
            return statements.columns(session, node)
        case _:
            return None


def spoken(statement: RawStatement) -> str:
    """A statement as a message names it: the keywords that it begins with, two at most."""
    text = statement.text.encode()
    tokens = (each for each in postgast.scan(statement.text).tokens if each.token not in _COMMENTS)
    leading = takewhile(lambda each: each.keyword_kind != pg.NO_KEYWORD, islice(tokens, 2))
    return " ".join(text[each.start : each.end].decode() for each in leading).upper()


def transaction_ended(session: Session, committed: bool) -> None:
    """Cursors end with their transaction, and so does what one that fails had put off."""
    statements.transaction_ended(session, committed)
    if not committed:
        deferral.forget(session)


def before_commit(session: Session, transaction: Transaction) -> None:
    """Foreign keys may have waited for this; temporary tables may be for one transaction alone."""
    set_constraints.before_commit(session, transaction)
    temporary_tables.before_commit(session, transaction)


def session_closed(session: Session) -> None:
    """Temporary tables end with their session."""
    drop.drop_temporary(session)
