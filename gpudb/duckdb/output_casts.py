"""Casts of result columns to the DuckDB types that become `SqlType.arrow`."""

from __future__ import annotations

from gpudb.types import SqlType


def cast_output(column: str, item: SqlType) -> str:
    """Casts a result column for Arrow: uuids and enum labels to text, reg* OIDs to names."""
    base = item.element or item
    if base.name.startswith("reg"):
        if base is item:
            return f"pg_{base.name}_name({column})"
        pairs = f"SELECT unnest({column}) AS item, generate_subscripts({column}, 1) AS place"
        names = f"SELECT list(pg_{base.name}_name(u.item) ORDER BY u.place) FROM ({pairs}) AS u"
        return f"(CASE WHEN {column} IS NOT NULL THEN coalesce(({names}), []) END)"
    if item.fields and any(field.name.lstrip("_").startswith("reg") for _, field in item.fields):
        members = ", ".join(
            f"{member} := {cast_output(f'struct_extract_at({column}, {place})', field)}"
            for place, (member, (_, field)) in enumerate(zip(item.members, item.fields, strict=True), 1)
        )
        return f"(CASE WHEN {column} IS NOT NULL THEN struct_pack({members}) END)"
    duckdb_type = output_type(item)
    return column if duckdb_type == item.duckdb else f"CAST({column} AS {duckdb_type})"


def output_type(item: SqlType) -> str:
    """Returns the DuckDB type of a result column of this SQL type."""
    if item.item is not None:
        return output_type(item.item) + "[]"
    if item.name == "uuid" or item.labels is not None:
        return "VARCHAR"
    if item.fields:
        members = zip(item.members, item.fields, strict=True)
        return f"STRUCT({', '.join(f'{member} {output_type(field)}' for member, (_, field) in members)})"
    return item.duckdb
