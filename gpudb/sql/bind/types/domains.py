"""Domains: conversion of values with the checks of the domain, and binding of those checks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gpudb.catalog.user_types import TypeDefinition
from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.scope import Scope
from gpudb.sql.bind.types.conversions import coerce_condition, coercion_error, is_coercible
from gpudb.sql.bound import (
    Aggregate,
    AnySubquery,
    Array,
    ArraySubquery,
    Cast,
    Constant,
    Constrained,
    DomainValue,
    Exists,
    Expr,
    ScalarSubquery,
    SetReturning,
    Window,
)
from gpudb.sql.parse.parser import inner, parse
from gpudb.sql.traverse import walk
from gpudb.types import SqlType
from gpudb.values.datetime_style import use_style


def coerce_to_domain(binder: Binder, expr: Expr, target: SqlType, context: str, target_name: str | None) -> Expr:
    """Converts `expr` to a domain, or to an array of one; `target_name` is the column of an assignment."""
    assert target.domain is not None
    if target.domain.base != target.name:
        return _coerce_to_array(binder, expr, target, context, target_name)
    plain = get_base_type(target)
    if not is_coercible(expr.type, plain, context):
        refused = coercion_error(expr.type, target, context, target_name)
        raise refused if target_name is None else binder.locate_expr(refused, expr)
    result = binder.coerce(expr, plain, context, target_name)
    # A numeric keeps the digits of its representation
    base_type = replace(result.type, domain=None)
    checks: tuple[tuple[str, Expr], ...] = ()
    not_null = False
    definition: TypeDefinition | None = get_definition(binder, target)
    while definition is not None:
        # Checks of the base domain come first
        checks = (
            tuple((each.name, bind_stored_check(binder, each.expression, base_type)) for each in definition.checks)
            + checks
        )
        not_null = not_null or definition.not_null
        definition = find_definition(binder, definition.parent)
    if checks or not_null:
        return Constrained(result, checks, not_null, replace(base_type, domain=target.domain))
    marked = replace(base_type, domain=target.domain)
    return Constant(result.value, marked) if isinstance(result, Constant) else Cast(result, marked)


def get_base_type(target: SqlType) -> SqlType:
    """Returns the base type of a domain."""
    return replace(target, domain=None)


def get_definition(binder: Binder, item: SqlType) -> TypeDefinition:
    """Returns the definition of a domain."""
    assert item.domain is not None
    found = find_definition(binder, item.domain.oid)
    assert found is not None
    return found


def find_definition(binder: Binder, oid: int) -> TypeDefinition | None:
    """Returns the definition of an OID; None for 0."""
    return next((each for each in binder.catalog.types.values() if each.oid == oid), None) if oid else None


def get_domain_default(binder: Binder, item: SqlType) -> str | None:
    """Returns the default of a column of a domain that declares none itself."""
    if item.domain is None or item.domain.base != item.name:
        return None
    return get_definition(binder, item).default


def _coerce_to_array(binder: Binder, expr: Expr, target: SqlType, context: str, target_name: str | None) -> Expr:
    element = target.element
    assert element is not None
    result = binder.coerce(expr, replace(target, domain=None), context, target_name)
    if isinstance(result, Constant) and result.value is None:
        return Constant(None, target)
    if isinstance(result, Constant) and isinstance(result.value, list):
        items: tuple[Expr, ...] = tuple(Constant(each, replace(element, domain=None)) for each in result.value)
    elif isinstance(result, Array):
        items = result.items
    else:
        raise FeatureNotSupported(f"cast from {expr.type} to {target} is not supported")
    return Array(tuple(binder.coerce(item, element, context) for item in items), target)


def bind_stored_check(binder: Binder, text: str, item: SqlType) -> Expr:
    """Binds a condition as the catalog has it."""
    with binder.bind_stored():
        return bind_check(binder, text, item)


@use_style()
def bind_check(binder: Binder, text: str, item: SqlType) -> Expr:
    """Binds a condition over VALUE, which is of type `item`; raises for expressions that no CHECK may contain."""
    with binder.changed(text=f"SELECT {text}"):
        value = DomainValue(item)
        scope = Scope(clause="CHECK", columns=[("value", value)])
        node = inner(parse(binder.text)[0].node.target_list[0]).val
        result = coerce_condition(binder, binder.bind_expression(scope, node), "CHECK")
    for message in _iter_errors(result):
        raise message
    return result


def _iter_errors(expr: Expr) -> Iterator[SqlError]:
    for node in walk(expr):
        match node:
            case ScalarSubquery() | ArraySubquery() | AnySubquery() | Exists():
                yield FeatureNotSupported("cannot use subquery in check constraint")
            case Aggregate():
                message = "aggregate functions are not allowed in check constraints"
                yield SqlError.of("grouping_error", message)
            case Window():
                message = "window functions are not allowed in check constraints"
                yield SqlError.of("windowing_error", message)
            case SetReturning():
                yield FeatureNotSupported("set-returning functions are not allowed in check constraints")
