"""USING and NATURAL: the condition on columns of the same name, and the columns that the join merges."""

from __future__ import annotations

from collections.abc import Sequence

from gpudb.errors import SqlError, UndefinedColumn
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.expressions import operators
from gpudb.sql.bind.query.sources import Source
from gpudb.sql.bind.scope import Columns
from gpudb.sql.bind.types.coercion import coerce, drop_modifier, unify_branches
from gpudb.sql.bound import Choice, Expr


def bind_using(
    binder: Binder, join_kind: str, left: Source, right: Source, names: Sequence[str], last: str = "="
) -> tuple[Expr | None, Columns]:
    """Returns the condition of USING, and the columns: shared ones first, each once.

    `last` is the operator that compares the last of the shared columns, all others are equal.
    """
    conditions: list[Expr] = []
    merged: list[tuple[str, Expr]] = []
    for number, name in enumerate(names, 1):
        first, second = (_find_only_column(side, name, which) for side, which in ((left, "left"), (right, "right")))
        binder.accesses.select(first)
        binder.accesses.select(second)
        conditions.append(operators.apply_operator(binder, last if number == len(names) else "=", first, second))
        (a, b), target = unify_branches(binder, [first, second], "JOIN/USING")
        if join_kind == "FULL":
            merged.append((name, Choice("COALESCE", (a, b), target)))
        else:
            kept = second if join_kind == "RIGHT" else first
            kept = kept if kept.type.name == target.name else coerce(binder, kept, target)
            merged.append((name, kept if kept.type.modifier == target.modifier else drop_modifier(kept)))
    rest = [(name, expr) for side in (left, right) for name, expr in side.columns if name not in names]
    return operators.conjunction(conditions) if conditions else None, (*merged, *rest)


def _find_only_column(side: Source, name: str, which: str) -> Expr:
    found = [expr for each, expr in side.columns if each == name]
    if not found:
        raise UndefinedColumn(f'column "{name}" specified in USING clause does not exist in {which} table')
    if len(found) > 1:
        message = f'common column name "{name}" appears more than once in {which} table'
        raise SqlError.of("ambiguous_column", message)
    return found[0]
