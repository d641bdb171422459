"""Calls that the session runs instead of the engine: sequence functions, signals, routines that are no query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gpudb.catalog.model import FIRST_USER_OID
from gpudb.catalog.postgres.extension_objects import STATEMENTS_RESET
from gpudb.errors import FeatureNotSupported
from gpudb.functions.library import Function
from gpudb.session.context import Context
from gpudb.session.execution import sequence_values
from gpudb.session.execution.large_objects import LARGE_OBJECT_FUNCTIONS, call_large_object_function
from gpudb.session.execution.locks_and_snapshots.advisory_locks import ADVISORY_FUNCTIONS, call_advisory_function
from gpudb.session.execution.locks_and_snapshots.shared_snapshots import export_snapshot
from gpudb.session.execution.signals import SIGNAL_FUNCTIONS, send_signal
from gpudb.session.execution.system.session_functions import set_config
from gpudb.session.execution.system.statement_rows import reset_statistics
from gpudb.sql.bound import (
    BoolOp,
    Call,
    Case,
    Cast,
    Choice,
    Constant,
    Constrained,
    DomainValue,
    Expr,
    FunctionScan,
    Parameter,
    Query,
    Select,
    TableFunction,
)
from gpudb.sql.traverse import replace_nodes, walk
from gpudb.types import OID, SqlType

_SEQUENCE_FUNCTIONS = frozenset({"nextval", "currval", "lastval", "setval"})
_SESSION_FUNCTIONS = (
    _SEQUENCE_FUNCTIONS
    | SIGNAL_FUNCTIONS
    | ADVISORY_FUNCTIONS
    | LARGE_OBJECT_FUNCTIONS
    | {"pg_export_snapshot", "pg_notify", STATEMENTS_RESET}
)


def is_session_call(node: Any) -> bool:
    """Whether a node calls a function that the session runs, or a routine whose statements it runs."""
    if type(node) is Call:
        name = node.function.name
        if name == "set_config":  # with constants it is evaluated before the statement runs
            return any(type(each) not in (Constant, Parameter) for each in node.args)
        return is_routine(node.function) or name in _SESSION_FUNCTIONS
    return type(node) is TableFunction or (type(node) is FunctionScan and is_routine(node.function))


def is_routine(function: Function) -> bool:
    """Whether a function is a routine that the session runs: engines run those of device code."""
    return function.oid >= FIRST_USER_OID and function.code is None


def has_session_calls(node: Any) -> bool:
    """Whether a query or an expression contains a session call, or locks rows, which the session does too."""
    return any(is_session_call(each) or _locks(each) for each in walk(node))


def without_locks(query: Query) -> Query:
    """The query without FOR UPDATE and its like: EXPLAIN locks nothing."""
    unlocked: Query = replace_nodes(query, _unlock)
    return unlocked


def _unlock(node: Any) -> Any:
    return replace_nodes(replace(node, locks=()), _unlock) if _locks(node) else None


def locks_rows(node: Any) -> bool:
    """Whether a query contains a SELECT with FOR UPDATE or its like."""
    return any(map(_locks, walk(node)))


def _locks(node: Any) -> bool:
    return type(node) is Select and bool(node.locks)


def check_always_evaluated(node: Any) -> None:
    """0A000 for a routine call where evaluation may skip it: the routine may change data, or raise an error."""
    match node:
        case Case(branches=((_, first), *others), default=default):
            skipped: list[Any] = [first, *(each for branch in others for each in branch), default]
        case Choice(op="COALESCE", args=(_, *others)) | BoolOp(op="AND" | "OR", args=(_, *others)):
            skipped = list(others)
        case _:
            return
    if any(type(each) is Call and _may_change(each.function) for part in skipped for each in walk(part)):
        message = "functions that run statements are not supported where CASE, COALESCE, AND or OR may skip them"
        raise FeatureNotSupported(message)


def _may_change(function: Function) -> bool:
    """Whether a function runs statements, which may change data."""
    return is_routine(function) and not function.is_pure


def put_checked_value(check: Any, value: Any) -> Any:
    """Returns a domain's check with the value in place of VALUE, but for checks of other domains inside it."""

    def change(node: Any) -> Any:
        if isinstance(node, DomainValue):
            return value
        return replace(node, arg=replace_nodes(node.arg, change)) if isinstance(node, Constrained) else None

    return replace_nodes(check, change)


def without_session_calls(query: Query) -> Query:
    """The query with zeros in the place of session calls: EXPLAIN plans it and draws no values."""
    zeroed: Query = replace_nodes(query, lambda node: _zero(node.type) if is_session_call(node) else None)
    return zeroed


_ZEROS = {"bool": False, "void": "", "bytea": b""}


def _zero(item: SqlType) -> Constant:
    return Constant(_ZEROS.get(item.name, 0), item)


def call_session_function(context: Context, name: str, args: Sequence[object]) -> object:
    """The result of a sequence, signal or lock function; all but lastval are strict."""
    if name in ADVISORY_FUNCTIONS:
        return call_advisory_function(context, name, args)
    if name == "pg_notify":
        context.session.mailbox.notify(*("" if each is None else str(each) for each in args))
        return ""
    if name == "pg_export_snapshot":
        return export_snapshot(context)
    if name == STATEMENTS_RESET:
        return reset_statistics(context, args)
    if name == "set_config":
        return set_config(context, *args)
    if name in LARGE_OBJECT_FUNCTIONS:
        return call_large_object_function(context, name, args)
    if name in SIGNAL_FUNCTIONS:
        return send_signal(context, name, args)
    if name == "lastval":
        return sequence_values.lastval(context)
    if args[0] is None or (isinstance(args[0], int) and None in args):
        return None
    sequence = sequence_values.named_sequence(context, args[0])
    if None in args:
        return None  # PostgreSQL resolves a name before it tests for NULL
    if name == "nextval":
        return sequence_values.draw(context, sequence, 1)[0][0]
    if name == "currval":
        return sequence_values.currval(context, sequence)
    value = args[1]
    assert isinstance(value, int)
    return sequence_values.setval(context, sequence, value, len(args) < 3 or args[2] is True)


def constant_argument(arg: Expr) -> object:
    """The value of a constant argument, without casts to regclass; None for any other argument."""
    if isinstance(arg, Cast) and arg.type.name == "regclass":
        arg = arg.arg.arg if isinstance(arg.arg, Cast) and arg.arg.type.name == "text" else arg.arg
    return arg.value if isinstance(arg, Constant) else None


def engine_argument(arg: Expr) -> Expr:
    """An argument as the engine computes it: a regclass as its OID."""
    return Cast(arg, OID) if arg.type.name == "regclass" else arg
