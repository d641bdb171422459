"""Text and binary forms of whole columns of rows, from those of their fields."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from gpudb.types import SqlType
from gpudb.values.record import NEEDS_QUOTES


def format_record_column(
    type_: SqlType, column: pa.StructArray, format_field: Callable[[SqlType, pa.Array], pa.StringArray]
) -> pa.StringArray:
    """Formats each row as `(1,,"a b")`; `format_field` formats a column of a field's type."""
    parts = []
    for (_, item), field in zip(type_.fields, column.flatten(), strict=True):
        text = format_field(item, field)
        needs_quotes = pc.match_substring_regex(text, NEEDS_QUOTES)
        if pc.any(needs_quotes).as_py():
            doubled = pc.replace_substring_regex(text, r'(["\\])', r"\1\1")
            text = pc.if_else(needs_quotes, pc.binary_join_element_wise('"', doubled, '"', ""), text)
        parts.append(pc.fill_null(text, ""))
    joined = pc.binary_join_element_wise(*parts, ",") if len(parts) > 1 else parts[0]
    enclosed = pc.binary_join_element_wise("(", joined, ")", "")
    return pc.if_else(pc.is_valid(column), enclosed, None) if column.null_count else enclosed


def encode_record_column(
    type_: SqlType, column: pa.StructArray, encode_field: Callable[[SqlType, pa.Array], pa.BinaryArray]
) -> pa.BinaryArray:
    """Encodes rows as record_send does: the number of fields, then OID and value of each.

    `encode_field` encodes a column of values, each after its length.
    """
    parts = [pa.scalar(struct.pack("!i", len(type_.fields)), pa.binary())]
    for (_, item), field in zip(type_.fields, column.flatten(), strict=True):
        parts += [pa.scalar(struct.pack("!I", item.declared_oid), pa.binary()), encode_field(item, field)]
    encoded = pc.binary_join_element_wise(*parts, pa.scalar(b"", pa.binary()))
    return pc.if_else(pc.is_valid(column), encoded, None) if column.null_count else encoded
