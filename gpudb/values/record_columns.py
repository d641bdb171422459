"""Text and binary forms of whole columns of rows, from those of their fields."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from gpudb.types import SqlType
from gpudb.values.record import NEEDS_QUOTES


def record_texts(
    type_: SqlType, column: pa.StructArray, text: Callable[[SqlType, pa.Array], pa.StringArray]
) -> pa.StringArray:
    """Formats each row as `(1,,"a b")`; `text` formats a column of a field's type."""
    parts = []
    for (_, item), field in zip(type_.fields, column.flatten(), strict=True):
        written = text(item, field)
        needs = pc.match_substring_regex(written, NEEDS_QUOTES)
        if pc.any(needs).as_py():
            doubled = pc.replace_substring_regex(written, r'(["\\])', r"\1\1")
            written = pc.if_else(needs, pc.binary_join_element_wise('"', doubled, '"', ""), written)
        parts.append(pc.fill_null(written, ""))
    listed = pc.binary_join_element_wise(*parts, ",") if len(parts) > 1 else parts[0]
    framed = pc.binary_join_element_wise("(", listed, ")", "")
    return pc.if_else(pc.is_valid(column), framed, None) if column.null_count else framed


def record_binaries(
    type_: SqlType, column: pa.StructArray, framed: Callable[[SqlType, pa.Array], pa.BinaryArray]
) -> pa.BinaryArray:
    """Encodes rows as record_send does: the number of fields, then OID and value of each; `framed` writes length and
    value.
    """
    parts = [pa.scalar(struct.pack("!i", len(type_.fields)), pa.binary())]
    for (_, item), field in zip(type_.fields, column.flatten(), strict=True):
        parts += [pa.scalar(struct.pack("!I", item.declared_oid), pa.binary()), framed(item, field)]
    made = pc.binary_join_element_wise(*parts, pa.scalar(b"", pa.binary()))
    return pc.if_else(pc.is_valid(column), made, None) if column.null_count else made
