"""Exclusions: unique indexes on expressions or some of the rows, as bound keys, conditions and queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpudb.catalog.tables import DataFile, Exclusion, IndexKey, Table
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.dml.checks import parse_expression
from gpudb.sql.bind.expressions.expressions import bind_expression
from gpudb.sql.bind.expressions.operators import apply_operator, conjunction, disjunction
from gpudb.sql.bind.query.sources import build_source, table_columns
from gpudb.sql.bind.scope import Scope
from gpudb.sql.bind.types.conversions import coerce_condition
from gpudb.sql.bound import (
    NEW_ROWS,
    Case,
    Column,
    Constant,
    DistinctFrom,
    Expr,
    FrameScan,
    Join,
    OutputColumn,
    Scan,
    Select,
    SortKey,
    Test,
)
from gpudb.types import INT8, TEXT


def bind_keys(binder: Binder, table: Table, keys: Sequence[IndexKey], rel: int) -> tuple[Expr, ...]:
    """Binds the keys of an index over the columns of relation `rel`."""
    places = {column.name: place for place, column in enumerate(table.columns)}
    bound: list[Expr] = []
    for key in keys:
        if key.expression:
            bound.append(_bind(binder, table, key.expression, rel))
        else:
            place = places[key.column]
            bound.append(Column(rel, place, table.columns[place].type, key.column))
    return tuple(bound)


def bind_predicate(binder: Binder, table: Table, predicate: str, rel: int) -> Expr | None:
    """Binds the condition of an index's rows over the columns of relation `rel`; None without one."""
    if not predicate:
        return None
    return coerce_condition(binder, _bind(binder, table, predicate, rel), "WHERE")


def _bind(binder: Binder, table: Table, text: str, rel: int) -> Expr:
    scope, columns = Scope(clause="index expressions"), table_columns(table)
    source = build_source(binder, rel, FrameScan(rel, NEW_ROWS, columns), columns, table.name, None, table.schema)
    scope.add(source.items, source.columns)
    scope.rels.add(rel)
    with binder.bind_stored():
        return bind_expression(binder, scope, parse_expression(text))


def bind_guarded(binder: Binder, table: Table, exclusion: Exclusion, rel: int) -> tuple[tuple[Expr, ...], Expr | None]:
    """Binds the keys of an exclusion over relation `rel`, and its predicate; the keys of other rows are NULL.

    So they are not computed, and raise no errors.
    """
    keys, predicate = (
        bind_keys(binder, table, exclusion.keys, rel),
        bind_predicate(binder, table, exclusion.predicate, rel),
    )
    if predicate is None:
        return keys, None
    guarded = tuple(
        key if isinstance(key, Column) else Case(((predicate, key),), Constant(None, key.type), key.type)
        for key in keys
    )
    return guarded, predicate


def bind_conflict(binder: Binder, table: Table, exclusion: Exclusion, rel: int, other: int) -> Expr:
    """Returns the condition that a row of `rel` and one of `other` are a pair that an exclusion forbids."""
    ones, one_applies = bind_guarded(binder, table, exclusion, rel)
    others, other_applies = bind_guarded(binder, table, exclusion, other)
    parts: list[Expr] = []
    for operator, one, two in zip(exclusion.operators, ones, others, strict=True):
        if exclusion.nulls_distinct:
            parts.append(apply_operator(binder, operator, one, two))
        else:
            parts.append(DistinctFrom(one, two, True))
    return conjunction([*parts, *(each for each in (one_applies, other_applies) if each is not None)])


def build_conflict_query(
    binder: Binder, table: Table, exclusion: Exclusion, new: Sequence[DataFile], existing: Sequence[DataFile]
) -> Select:
    """Returns the query for a pair that an exclusion forbids: a row of `new` files, and one of these or `existing`.

    It returns the keys of the first such row, then those of another one; no row if there is no pair.
    """
    rel, other = binder.new_rel(), binder.new_rel()
    # As an earlier snapshot a table is read as it is bound here, whatever the catalog has.
    fresh, whole = (replace(table, past_of=table.oid, files=tuple(files)) for files in (new, (*existing, *new)))
    width = len(table.columns)
    here, there = ((Column(each, width, TEXT, "file"), Column(each, width + 1, INT8, "row")) for each in (rel, other))
    # As if the rows of a file came one after the other
    apart = disjunction(
        [apply_operator(binder, "<>", here[0], there[0]), apply_operator(binder, "<", there[1], here[1])]
    )
    on = conjunction([bind_conflict(binder, table, exclusion, rel, other), apart])
    source = Join("INNER", Scan(rel, fresh, row_ids=True), Scan(other, whole, row_ids=True), on)
    targets = tuple(key for each in (rel, other) for key in bind_guarded(binder, table, exclusion, each)[0])
    columns = tuple(OutputColumn(f"k{place}", key.type) for place, key in enumerate(targets))
    return Select(columns, targets, source, order_by=(SortKey(here[1], False, False),), limit=Constant(1, INT8))


def build_keys_query(binder: Binder, table: Table, exclusion: Exclusion) -> Select:
    """Returns the query for the keys of NEW_ROWS that are compared with =, of rows that can be part of a pair.

    Without such keys it returns a constant for each row.
    """
    rel = binder.new_rel()
    keys, predicate = bind_guarded(binder, table, exclusion, rel)
    equal = tuple(key for key, operator in zip(keys, exclusion.operators, strict=True) if operator == "=")
    targets: tuple[Expr, ...] = equal or (Constant(0, INT8),)
    tests: list[Expr] = [] if predicate is None else [predicate]
    if exclusion.nulls_distinct:
        tests += [Test(key, "NULL", True) for key in keys]
    columns = tuple(OutputColumn(f"k{place}", key.type) for place, key in enumerate(targets))
    source = FrameScan(rel, NEW_ROWS, table_columns(table))
    return Select(columns, targets, source, where=conjunction(tests) if tests else None)
