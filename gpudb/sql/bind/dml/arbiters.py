"""The arbiters of ON CONFLICT: the keys and unique indexes that it names, or that fit what it infers them from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gpudb.catalog.tables import Exclude, Exclusion, IndexKey, Key, Table, Unique
from gpudb.errors import FeatureNotSupported, SqlError, UndefinedColumn
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.dml.exclusions import bind_keys, bind_predicate
from gpudb.sql.bind.dml.view_targets import ChangeTarget, resolve_target
from gpudb.sql.bind.expressions.expressions import bind_expression
from gpudb.sql.bind.scope import NamespaceItem, Scope
from gpudb.sql.bind.types.conversions import coerce_condition
from gpudb.sql.bound import BoolOp, Call, Column, Expr, Test
from gpudb.sql.parse.parser import inner, present


def list_arbiters(table: Table) -> tuple[Exclusion, ...]:
    """Returns the keys of a table and its other unique indexes, all in one form."""
    return (*map(_as_exclusion, table.keys), *table.exclusions)


def _as_exclusion(key: Key) -> Exclusion:
    keys = tuple(map(IndexKey, key.columns))
    return Exclusion(0, key.name, keys, ("=",) * len(keys), key.columns, nulls_distinct=key.nulls_distinct)


def check_not_deferrable(arbiters: Sequence[Exclusion]) -> None:
    """Raises 55000 for an arbiter that may be checked at the end of the transaction."""
    if any(each.deferrable for each in arbiters):
        message = "ON CONFLICT does not support deferrable unique constraints/exclusion constraints as arbiters"
        raise SqlError.of("object_not_in_prerequisite_state", message)


def infer_arbiters(binder: Binder, target: ChangeTarget, infer: Any, *, updates: bool) -> Sequence[Exclusion]:
    """Returns the arbiters of an InferClause message, of which there is at least one; `updates` is for DO UPDATE.

    42P10, 42704, 42703, 42809.
    """
    if infer.conname:
        found = _find_named(binder, target, infer.conname)
        if updates and not all(each.is_unique for each in found):
            message = "ON CONFLICT DO UPDATE not supported with exclusion constraints"
            raise SqlError.of("wrong_object_type", message)
        return found
    table, columns = target.table, dict(target.columns)
    rel = binder.new_rel()
    seen = resolve_target(binder, target.relation, rel, "insert into")
    binder.accesses.add_target_rows(rel, target.rel, seen.layers)
    names: set[str | None] = set()
    exprs: list[Expr] = []
    for each in map(inner, infer.index_elems):
        if len(each.collation) or len(each.opclass):
            raise FeatureNotSupported("ON CONFLICT over collations or operator classes is not supported")
        if not each.name:
            exprs.append(_bind(binder, target, seen, each.expr))
            continue
        if each.name not in columns:
            raise binder.locate(UndefinedColumn(f'column "{each.name}" does not exist'), infer.location)
        result = columns[each.name]
        binder.accesses.select(result)
        # A computed column of a view is no key of its table
        own = isinstance(result, Column) and result.rel == target.rel
        names.add(table.columns[result.index].name if own and isinstance(result, Column) else None)
    given: list[Expr] = []
    if present(infer.where_clause):
        given = list(_conjuncts(coerce_condition(binder, _bind(binder, target, seen, infer.where_clause), "WHERE")))
    found = [each for each in list_arbiters(table) if _fits(binder, table, each, seen.rel, names, exprs, given)]
    if not found:
        message = "there is no unique or exclusion constraint matching the ON CONFLICT specification"
        raise SqlError.of("invalid_column_reference", message)
    return found


def _find_named(binder: Binder, target: ChangeTarget, name: str) -> Sequence[Exclusion]:
    table = target.table
    constraints = {
        c.name for c in table.constraints if isinstance(c, Exclude) or (isinstance(c, Unique) and not c.index)
    }
    known = constraints | ({table.key_name} if table.primary_key else set())
    if target.view is None and name in known:
        named = [each for each in list_arbiters(table) if each.name == name]
        for expr in (expr for column, expr in target.columns if any(column in each.columns for each in named)):
            binder.accesses.select(expr)
        return named
    if target.view is None and any(c.name == name for c in table.checks):
        raise SqlError.of("wrong_object_type", "constraint in ON CONFLICT clause has no associated index")
    message = f'constraint "{name}" for table "{target.relation.name}" does not exist'
    raise SqlError.of("undefined_object", message)


def _bind(binder: Binder, target: ChangeTarget, seen: ChangeTarget, node: Any) -> Expr:
    """Binds an expression over the columns of the table or view."""
    scope = Scope(clause="WHERE")
    scope.add((NamespaceItem(target.relation.name, seen.columns, target.relation.schema),), seen.columns)
    return bind_expression(binder, scope, node)


def _fits(
    binder: Binder,
    table: Table,
    arbiter: Exclusion,
    rel: int,
    names: set[str | None],
    exprs: Sequence[Expr],
    given: Sequence[Expr],
) -> bool:
    """Whether an index is on these columns and expressions, and has all rows that fulfil the conditions `given`."""
    if not arbiter.is_unique or {key.column for key in arbiter.keys if key.column} != names:
        return False
    own = bind_keys(binder, table, [key for key in arbiter.keys if key.expression], rel)
    if any(each not in own for each in exprs) or any(each not in exprs for each in own):
        return False
    predicate = bind_predicate(binder, table, arbiter.predicate, rel)
    return predicate is None or _is_implied(predicate, given)


def _conjuncts(expr: Expr) -> Iterator[Expr]:
    if isinstance(expr, BoolOp) and expr.op == "AND":
        for each in expr.args:
            yield from _conjuncts(each)
    else:
        yield expr


def _is_implied(expr: Expr, given: Sequence[Expr]) -> bool:
    """Whether conditions that are given prove an expression: by its parts, and strict comparisons that it is not NULL.

    PostgreSQL proves more; what is not proven is no arbiter.
    """
    if expr in given:
        return True
    if any(isinstance(each, BoolOp) and each.op == "OR" and _all_imply(each, expr) for each in given):
        return True
    if isinstance(expr, BoolOp) and expr.op in ("AND", "OR"):
        parts = (_is_implied(each, given) for each in expr.args)
        return all(parts) if expr.op == "AND" else any(parts)
    if isinstance(expr, Test) and expr.what == "NULL" and expr.negated:
        return any(isinstance(each, Call) and each.function.strict and expr.arg in each.args for each in given)
    return False


def _all_imply(alternatives: BoolOp, expr: Expr) -> bool:
    return all(_is_implied(expr, list(_conjuncts(each))) for each in alternatives.args)
