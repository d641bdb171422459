"""Rows, held as structs: their members by position, their comparison, and their JSON."""

from __future__ import annotations

from collections.abc import Callable

from gpudb.functions.lanes import Lanes, joined, opened
from gpudb.functions.let import let
from gpudb.types import SqlType


def member(sql: str, item: SqlType, index: int) -> Lanes:
    """The lanes of a row's field."""
    return opened(f"struct_extract_at({sql}, {index + 1})", item.fields[index][1])


def packed(values: list[str], item: SqlType) -> str:
    """A row of its fields' values, each as one value."""
    return f"struct_pack({', '.join(f'{name} := {value}' for name, value in zip(item.members, values, strict=True))})"


def rebuilt(sql: str, source: SqlType, target: SqlType, change: Callable[[str, str, SqlType, SqlType], Lanes]) -> str:
    """A row with each field converted: `change` takes lanes, the field's type and the wanted one."""

    def made(value: str) -> str:
        fields = []
        for index, ((_, given), (_, wanted)) in enumerate(zip(source.fields, target.fields, strict=True)):
            fields.append(joined(*change(*member(value, source, index), given, wanted), wanted))
        return f"(CASE WHEN {value} IS NOT NULL THEN {packed(fields, target)} END)"

    return let(made, sql)


def fields_in(item: SqlType) -> bool:
    """Whether a type has rows in it."""
    return bool(item.fields) or (item.element is not None and fields_in(item.element))


def carries(item: SqlType) -> bool:
    """Whether values of a type that are equal may be held differently: numerics that show different digits."""
    if item.fields:
        return any(carries(field) for _, field in item.fields)
    return item.carried if item.element is None else carries(item.element)


def comparable(sql: str, item: SqlType) -> str:
    """A value as it compares, its lane given: a row by its fields' values alone, under no names."""
    element = item.element
    if element is not None:
        if not fields_in(element) and not carries(element):
            return sql
        inner = "(pg_e).v" if element.carried else comparable("pg_e", element)
        return f"list_transform({sql}, lambda pg_e: {inner})"
    if not item.fields:
        return sql

    def made(value: str) -> str:
        fields = (comparable(member(value, item, index)[0], field) for index, (_, field) in enumerate(item.fields))
        return f"(CASE WHEN {value} IS NOT NULL THEN row({', '.join(fields)}) END)"

    return let(made, sql)


def compared(left: str, right: str, one: SqlType, other: SqlType) -> tuple[str, str]:
    """Two rows in forms that DuckDB compares as PostgreSQL does; other values as they are."""
    if not one.fields or (one.members == other.members and not carries(one) and not carries(other)):
        return left, right
    return comparable(left, one), comparable(right, other)
