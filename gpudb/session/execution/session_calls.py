"""Calls that the session runs instead of the engine: sequence functions, signals, routines that are no query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpudb.catalog.model import FIRST_USER_OID
from gpudb.errors import FeatureNotSupported
from gpudb.session.context import Context
from gpudb.session.execution import sequence_values
from gpudb.session.execution.signals import SIGNAL_FUNCTIONS, send_signal
from gpudb.sql.bound import BoolOp, Call, Case, Cast, Choice, Constant, Expr, FunctionScan, Query
from gpudb.sql.traverse import replace_nodes, walk
from gpudb.types import BOOL, OID, SqlType

_SESSION_FUNCTIONS = frozenset({"nextval", "currval", "lastval", "setval"}) | SIGNAL_FUNCTIONS


def is_session_call(node: Any) -> bool:
    """Whether a node calls a function that the session runs, or a routine whose statements it runs."""
    if type(node) is Call:
        return node.function.oid >= FIRST_USER_OID or node.function.name in _SESSION_FUNCTIONS
    return type(node) is FunctionScan and node.function.oid >= FIRST_USER_OID


def has_session_calls(node: Any) -> bool:
    """Whether a query or an expression contains a session call."""
    return any(is_session_call(each) for each in walk(node))


def check_always_evaluated(node: Any) -> None:
    """0A000 for a routine call where evaluation may skip it: the routine may change data."""
    if not isinstance(node, Case | Choice | BoolOp):
        return
    if any(type(each) is Call and each.function.oid >= FIRST_USER_OID for each in walk(node)):
        raise FeatureNotSupported("functions that change data are not supported within CASE, COALESCE, AND and OR")


def without_session_calls(query: Query) -> Query:
    """The query with zeros in the place of session calls: EXPLAIN plans it and draws no values."""
    zeroed: Query = replace_nodes(query, lambda node: _zero(node.type) if is_session_call(node) else None)
    return zeroed


def _zero(item: SqlType) -> Constant:
    return Constant(False if item == BOOL else 0, item)


def call_session_function(context: Context, name: str, args: Sequence[object]) -> int | None:
    """The result of a sequence function or a signal function; all but lastval are strict."""
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
