"""Rows, represented as structs: access to members by position, and conversion."""

from __future__ import annotations

from collections.abc import Callable

from gpudb.functions.let_binding import bind_values
from gpudb.functions.operands import ScaledSql, pack, unpack
from gpudb.types import SqlType


def get_member(sql: str, item: SqlType, index: int) -> ScaledSql:
    """Returns value and display scale of a row's field."""
    return unpack(f"struct_extract_at({sql}, {index + 1})", item.fields[index][1])


def pack_record(values: list[str], item: SqlType) -> str:
    """Returns a row of its fields' values, each as one value."""
    return f"struct_pack({', '.join(f'{name} := {value}' for name, value in zip(item.members, values, strict=True))})"


def convert_record(
    sql: str, source: SqlType, target: SqlType, change: Callable[[str, str, SqlType, SqlType], ScaledSql]
) -> str:
    """Converts each field of a row: `change` takes value, display scale, the field's type and the target type."""

    def body(value: str) -> str:
        fields = []
        for index, ((_, source_type), (_, target_type)) in enumerate(zip(source.fields, target.fields, strict=True)):
            fields.append(pack(*change(*get_member(value, source, index), source_type, target_type), target_type))
        return f"(CASE WHEN {value} IS NOT NULL THEN {pack_record(fields, target)} END)"

    return bind_values(body, sql)
