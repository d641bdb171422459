"""BEGIN, COMMIT, ROLLBACK, savepoints, LOCK TABLE, and transaction modes."""

from __future__ import annotations

from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.tables import Table
from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.session.context import Context
from gpudb.session.execution.locks_and_snapshots.savepoints import restore_savepoint, take_savepoint
from gpudb.session.objects.relations import lock_table
from gpudb.session.results import Result
from gpudb.sql.bind.query.sources import find_relation
from gpudb.sql.parse.parser import inner, present

# PostgreSQL's numbers of lock modes
_ACCESS_SHARE, _ROW_SHARE, _ROW_EXCLUSIVE = 1, 2, 3
_SHARED = (_ROW_SHARE, _ROW_EXCLUSIVE)
_EXCLUDING = range(5, 9)
"""SHARE and the modes above it: no rows are added meanwhile."""


def transaction(context: Context) -> Result:
    """BEGIN, COMMIT, ROLLBACK, and SAVEPOINT, RELEASE and ROLLBACK TO."""
    node: Any = context.statement.node
    session = context.session
    match pg.TransactionStmtKind.Name(node.kind).removeprefix("TRANS_STMT_"):
        case "BEGIN" | "START" as verb:
            if session.transactions.explicit:
                context.notice("there is already a transaction in progress", severity="WARNING", sqlstate="25001")
            apply_modes(context, node.options)
            session.transactions.explicit = True
            return Result("BEGIN" if verb == "BEGIN" else "START TRANSACTION")
        case "COMMIT":
            return _end(context, commit=True, chain=node.chain)
        case "ROLLBACK":
            return _end(context, commit=False, chain=node.chain)
        case "SAVEPOINT":
            _check_in_block(context, "SAVEPOINT")
            session.transactions.savepoints.append(take_savepoint(context, node.savepoint_name))
            return Result("SAVEPOINT")
        case "RELEASE":
            _check_in_block(context, "RELEASE SAVEPOINT")
            _release(context, _find_savepoint(context, node.savepoint_name))
            return Result("RELEASE")
        case "ROLLBACK_TO":
            _check_in_block(context, "ROLLBACK TO SAVEPOINT")
            at = _find_savepoint(context, node.savepoint_name)
            restore_savepoint(context, session.transactions.savepoints[at])
            del session.transactions.savepoints[at + 1 :]
            session.transactions.failed = False
            return Result("ROLLBACK")
        case "PREPARE":
            session.transactions.end(commit=False)
            hint = "gpudb has no two-phase commit."
            raise SqlError.of("object_not_in_prerequisite_state", "prepared transactions are disabled", hint=hint)
        case "COMMIT_PREPARED" | "ROLLBACK_PREPARED":
            message = f'prepared transaction with identifier "{node.gid}" does not exist'
            raise SqlError.of("undefined_object", message)
        case other:
            raise FeatureNotSupported(f"{other.replace('_', ' ')} is not supported")


def _end(context: Context, *, commit: bool, chain: bool) -> Result:
    session = context.session
    if not session.transactions.explicit:
        if chain:
            message = f"{'COMMIT' if commit else 'ROLLBACK'} AND CHAIN can only be used in transaction blocks"
            raise SqlError.of("no_active_sql_transaction", message)
        context.notice("there is no transaction in progress", severity="WARNING", sqlstate="25P01")
    commit_now = commit and not session.transactions.failed
    if chain:
        session.transactions.end_and_chain(commit=commit_now)
    else:
        session.transactions.end(commit=commit_now)
    return Result("COMMIT" if commit_now else "ROLLBACK")


def _release(context: Context, place: int) -> None:
    """Releases a savepoint and those after it. What was READ ONLY since is as before, which no other setting is."""
    savepoints, settings = context.session.transactions.savepoints, context.session.settings
    settings.begin_modes(
        {**settings.modes(), "transaction_read_only": savepoints[place].settings[2]["transaction_read_only"]}
    )
    del savepoints[place:]


def _check_in_block(context: Context, what: str) -> None:
    if not context.session.transactions.explicit:
        message = f"{what} can only be used in transaction blocks"
        raise SqlError.of("no_active_sql_transaction", message)


def _find_savepoint(context: Context, name: str) -> int:
    names = [each.name for each in context.session.transactions.savepoints]
    if name not in names:
        raise SqlError.of("invalid_savepoint_specification", f'savepoint "{name}" does not exist')
    return len(names) - 1 - names[::-1].index(name)


def apply_modes(context: Context, options: Any) -> None:
    """Sets ISOLATION LEVEL, READ ONLY and DEFERRABLE.

    READ UNCOMMITTED is READ COMMITTED, as in PostgreSQL. SERIALIZABLE runs as REPEATABLE READ, with a WARNING.
    """
    for each in options:
        option = inner(each)
        constant = inner(option.arg) if present(option.arg) else None
        if option.defname == "transaction_isolation":
            level = constant.sval.sval if constant is not None else ""
            warn_of_serializable(context, level)
            context.session.settings.set("transaction_isolation", level)
        elif option.defname == "transaction_read_only":
            on = constant is not None and bool(constant.ival.ival)
            context.session.settings.set("transaction_read_only", "on" if on else "off")
        elif option.defname == "transaction_deferrable":
            on = constant is not None and bool(constant.ival.ival)
            context.session.settings.set("transaction_deferrable", "on" if on else "off")
        else:
            raise FeatureNotSupported(f"transaction option {option.defname} is not supported")


def warn_of_serializable(context: Context, level: str) -> None:
    """Warns that transactions of level SERIALIZABLE are not checked for what that level adds; 0A000 if refused."""
    if level == "serializable":
        if context.session.settings["gpudb.serializable"] == "off":
            hint = "It runs as REPEATABLE READ with SET gpudb.serializable = on."
            raise FeatureNotSupported("isolation level SERIALIZABLE is not supported", hint=hint)
        message = "isolation level SERIALIZABLE runs as REPEATABLE READ"
        detail = "Transactions that read what the other one changes may both commit (write skew)."
        context.notice(message, severity="WARNING", sqlstate="01000", detail=detail)


def lock(context: Context) -> Result:
    """LOCK TABLE: excludes statements that rewrite files of the table until the transaction ends.

    ACCESS SHARE takes no lock: a transaction reads its snapshot, whatever others do to the table. ROW SHARE and ROW
    EXCLUSIVE are what those hold who lock rows; any other mode excludes these, and itself. 55P03 for NOWAIT if others
    hold the lock.
    """
    _check_in_block(context, "LOCK TABLE")
    node: Any = context.statement.node
    for each in node.relations:
        relation = find_relation(context.binder(), inner(each).schemaname, inner(each).relname)
        if isinstance(relation, Table) and node.mode != _ACCESS_SHARE:
            shared = node.mode in _SHARED
            lock_table(context, relation, shared=shared, nowait=node.nowait, writers=node.mode in _EXCLUDING)
    return Result("LOCK TABLE")
