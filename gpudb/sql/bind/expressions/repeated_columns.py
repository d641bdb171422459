"""COLUMNS('regex'), COLUMNS(*) and COLUMNS(* EXCLUDE (a)): the columns for which an expression is repeated."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from gpudb.errors import FeatureNotSupported, SqlError, UndefinedColumn
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.expressions.changed_stars import list_changed_star
from gpudb.sql.bind.expressions.routines import find_routines
from gpudb.sql.bind.expressions.stars import list_star, record_columns
from gpudb.sql.bind.scope import Repetition, Scope
from gpudb.sql.bound import Expr
from gpudb.sql.expansions import name_repeated
from gpudb.sql.parse.friendly.columns import COLUMNS
from gpudb.sql.parse.parser import inner, kind, strings
from gpudb.sql.parse.star_changes import is_changed_star


def name_output(repetition: Repetition, alias: str) -> str:
    """Returns the name of the output of the current column."""
    return name_repeated(repetition.columns[repetition.place][0], alias, repetition.pattern)


def is_columns(call: Any) -> bool:
    """Whether a FuncCall message is COLUMNS."""
    return strings(call.funcname) == (COLUMNS,)


def restore_function(binder: Binder, call: Any) -> Any | None:
    """Returns the call of a function of the database that is named columns; None if it has none."""
    if not find_routines(binder, ("columns",)):
        return None
    own = type(call)()
    own.CopyFrom(call)
    own.funcname[0].string.sval = "columns"
    return own


def bind_columns(binder: Binder, scope: Scope, call: Any) -> Expr:
    """Binds COLUMNS to the column that its item of the select list is bound for now."""
    repetition = scope.repetition
    if repetition is None:
        error = FeatureNotSupported("COLUMNS is supported in items of a select list alone")
        raise binder.locate(error, call.location)
    columns, pattern = _list_columns(binder, scope, call)
    if repetition.columns and repetition.columns != columns:
        error = FeatureNotSupported("several COLUMNS of different columns in one expression are not supported")
        raise binder.locate(error, call.location)
    repetition.columns, repetition.pattern = columns, pattern
    expr = columns[repetition.place][1]
    binder.accesses.select(expr)
    return expr


def _list_columns(binder: Binder, scope: Scope, call: Any) -> tuple[tuple[tuple[str, Expr], ...], str | None]:
    argument = None if call.agg_star else call.args[0]
    if argument is not None and is_changed_star(argument):
        changed = list_changed_star(binder, scope, inner(argument))
        if any(each.replacement is not None or each.name != each.column.name for each in changed):
            error = FeatureNotSupported("COLUMNS of a star with REPLACE or RENAME is not supported")
            raise binder.locate(error, call.location)
        found = [each.column for each in changed]
        pattern = None
    else:
        found = list_star(binder, scope, None, call.location)
        pattern = None
        if argument is not None and kind(argument) == "a_const":
            pattern = str(inner(argument).sval.sval)
            try:
                kept = pc.match_substring_regex(pa.array([each.name for each in found], pa.string()), pattern)
            except pa.ArrowInvalid as invalid:
                reason = str(invalid).removeprefix("Invalid regular expression: ")
                message = f"invalid regular expression: {reason}"
                raise binder.locate(SqlError.of("invalid_regular_expression", message), call.location) from None
            found = [each for each, keep in zip(found, kept.to_pylist(), strict=True) if keep]
    if not found:
        shown = f' that match "{pattern}"' if pattern is not None else ""
        raise binder.locate(UndefinedColumn(f"COLUMNS finds no columns{shown}"), call.location)
    record_columns(binder, call.location, found)
    return tuple((each.name, each.expr) for each in found), pattern
