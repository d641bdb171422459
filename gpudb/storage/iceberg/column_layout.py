"""Layout of columns in Parquet files by SQL type, with Iceberg's field ids, and the conversions to and from it.

A column uses consecutive field ids: its own, then one for each member of a struct or list, depth first. The ids within
a column follow from its type and are not stored.

    int2      int (Iceberg has no 16 bits)         interval  struct(months int, days int, microseconds long)
    uuid      uuid (16 bytes)                      carried   struct(v decimal(p,s), s int)
    numeric   decimal(p,s)                         T[]       list of T's form
    json, jsonb, varchar(n), char(n), enums  string    else      the type's Arrow form
    bit, varbit  string of the digits
    money     decimal(19,2)                        vector    list of float
    inet, cidr  struct(text string, key binary), where comparisons use the key (`values.inet`)
    numeric beyond 128 bits  struct(text string, key binary), likewise (`values.wide_numerics`)
    timetz    struct(time time, east int), the zone in seconds east of Greenwich
    ranges    struct(empty boolean, lower T, upper T, lower_inc boolean, upper_inc boolean); an infinite bound is NULL.
              A numrange has one member more: scales int, 64 times the decimals that lower shows plus those of upper
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gpudb.catalog.tables import Column
from gpudb.errors import InternalError, SqlError
from gpudb.types import FLOAT4, SqlType
from gpudb.values.inet import format_network_column
from gpudb.values.money import decimals_from_cents
from gpudb.values.range_columns import propagate_nulls
from gpudb.values.timetz import MIDDLE, SHIFT, unpack_timetz_column
from gpudb.values.wide_numerics import format_column

FIELD_ID = b"PARQUET:field_id"
# Types that are stored as structs of two members.
_PAIRS = frozenset({"timetz", "inet", "cidr"})


def _has_key(type: SqlType) -> bool:
    """Whether values are stored as their text beside the key by which they compare."""
    return type.name in {"inet", "cidr"} or (type.name == "numeric" and type.wide)


INTERVAL_MEMBERS: tuple[tuple[str, pa.DataType], ...] = (
    ("months", pa.int32()),
    ("days", pa.int32()),
    ("microseconds", pa.int64()),
)


def id_span(type: SqlType) -> int:
    """Returns the number of consecutive field ids of a column of this type, its own included."""
    if type.item is not None:
        return 1 + id_span(type.item)
    if type.fields:
        return 1 + sum(id_span(item) for _, item in type.fields)
    if type.name == "interval":
        return 4
    if type.name in _PAIRS:
        return 3
    if type.name == "vector":
        return 2
    if type.subtype is not None:
        return 1 + len(_range_members(type))
    return 3 if type.is_carried else 1


def leaf_count(type: SqlType) -> int:
    """Returns the number of Parquet columns (leaves) of a column of this type."""
    if type.item is not None:
        return leaf_count(type.item)
    if type.fields:
        return sum(leaf_count(item) for _, item in type.fields)
    if type.name == "interval":
        return 3
    if type.name in _PAIRS:
        return 2
    if type.subtype is not None:
        return len(_range_members(type))
    return 2 if type.is_carried else 1


def leaf_ids(column: Column) -> tuple[int, ...]:
    """Returns the field ids of a column's leaves, in the order of the file."""
    return tuple(_leaf_ids(column.type, column.field_id))


def _leaf_ids(type: SqlType, field_id: int) -> Iterator[int]:
    if type.item is not None:
        yield from _leaf_ids(type.item, field_id + 1)
    elif type.fields:
        for (_, item), member in zip(type.fields, member_ids(type, field_id), strict=True):
            yield from _leaf_ids(item, member)
    else:
        yield from range(field_id + id_span(type) - leaf_count(type), field_id + id_span(type))


def member_ids(type: SqlType, field_id: int) -> list[int]:
    """Returns the field ids of a row type's fields; `field_id` is its own."""
    ids = [field_id + 1]
    for _, item in type.fields[:-1]:
        ids.append(ids[-1] + id_span(item))
    return ids


def stored_type(type: SqlType, field_id: int) -> pa.DataType:
    """Returns the Arrow type in the file of a column with this field id."""
    if type.item is not None:
        return pa.list_(_build_field("element", stored_type(type.item, field_id + 1), field_id + 1))
    if type.fields:
        ids = zip(type.arrow, type.fields, member_ids(type, field_id), strict=True)
        return pa.struct([_build_field(field.name, stored_type(item, id), id) for field, (_, item), id in ids])
    if type.name == "interval":
        return pa.struct(
            [_build_field(name, arrow, field_id + i) for i, (name, arrow) in enumerate(INTERVAL_MEMBERS, 1)]
        )
    if _has_key(type):
        return pa.struct(
            [_build_field("text", pa.string(), field_id + 1), _build_field("key", pa.binary(), field_id + 2)]
        )
    if type.name == "vector":
        return pa.list_(_build_field("element", pa.float32(), field_id + 1))
    if type.name == "timetz":
        return pa.struct(
            [_build_field("time", pa.time64("us"), field_id + 1), _build_field("east", pa.int32(), field_id + 2)]
        )
    if type.subtype is not None:
        return pa.struct(
            [_build_field(name, arrow, field_id + i) for i, (name, arrow) in enumerate(_range_members(type), 1)]
        )
    if type.is_carried:
        value, scale = type.arrow.field("v").type, pa.int32()
        return pa.struct([_build_field("v", value, field_id + 1), _build_field("s", scale, field_id + 2)])
    if type.name == "money":
        return pa.decimal128(19, 2)
    if type.name == "int2":
        return pa.int32()
    if type.name == "uuid":
        return pa.uuid()
    return type.arrow


def _range_members(type: SqlType) -> list[tuple[str, pa.DataType]]:
    subtype = type.subtype
    assert subtype is not None
    bound, flag = subtype.arrow_value, pa.bool_()
    members = [("empty", flag), ("lower", bound), ("upper", bound), ("lower_inc", flag), ("upper_inc", flag)]
    return [*members, ("scales", pa.int32())] if type.is_carried else members


def is_stored_as_struct(type: SqlType) -> bool:
    """Returns whether a column of this type is stored as a struct."""
    return type.is_carried or bool(type.fields) or type.subtype is not None or type.name in _PAIRS | {"interval"}


def stored_schema(columns: Sequence[Column]) -> pa.Schema:
    """Returns the Arrow schema of a table's files; its Iceberg field ids also appear in the Parquet schema."""
    return pa.schema(
        [_build_field(c.name, stored_type(c.type, c.field_id), c.field_id, not c.not_null) for c in columns]
    )


def _build_field(name: str, type: pa.DataType, field_id: int, nullable: bool = True) -> pa.Field:
    return pa.field(name, type, nullable=nullable, metadata={FIELD_ID: str(field_id).encode()})


def names_by_id(schema: pa.Schema) -> dict[int, str]:
    """Returns the names of a file's columns by their field ids."""
    return {int((field.metadata or {}).get(FIELD_ID, b"-1")): field.name for field in schema}


def to_stored(array: pa.Array, type: SqlType, target: pa.DataType) -> pa.Array:
    """Converts a column's values (`SqlType.arrow`) to their stored form, of type `target` (see `stored_type`)."""
    if type.item is not None:
        return _list_to_stored(array, type.item, target)
    if type.name == "vector":
        return _list_to_stored(array, FLOAT4, target)
    if type.fields:
        pairs = zip(type.fields, array.flatten(), target, strict=True)
        return _build_struct([to_stored(each, item, field.type) for (_, item), each, field in pairs], array, target)
    if type.wide:
        keys = pc.struct_field(array, [0])
        return _build_struct([format_column(array), keys], keys, target)
    if type.name in {"inet", "cidr"}:
        return _build_struct([format_network_column(type, array), array], array, target)
    if type.subtype is not None:
        return _range_to_stored(propagate_nulls(type, array), type, target)
    convert = _CONVERTERS.get("carried" if type.is_carried else type.name)
    if convert is not None:
        return convert(array, target)
    if any(label.name != label.stored for label in type.labels or ()):
        return _labels_to_stored(array, type)
    return array if array.type == target else array.cast(target)


def _list_to_stored(array: pa.Array, element: SqlType, target: pa.DataType) -> pa.Array:
    """Lists are rebuilt from their parts: slices and NULL lists may hide values that do not count."""
    lengths = pc.fill_null(pc.list_value_length(array), 0)
    offsets = np.zeros(len(array) + 1, dtype=np.int64)
    np.cumsum(lengths.to_numpy(zero_copy_only=False), out=offsets[1:])
    if offsets[-1] >= 2**31:
        message = "more than 2147483647 array elements in one batch"
        raise SqlError.of("program_limit_exceeded", message)
    values = to_stored(array.flatten(), element, target.value_type)
    mask = array.is_null() if array.null_count else None
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), values, type=target, mask=mask)


def _interval_to_stored(array: pa.Array, target: pa.DataType) -> pa.Array:
    raw = np.frombuffer(_data_buffer(array, 16), dtype=[("m", "<i4"), ("d", "<i4"), ("n", "<i8")])
    # Floor division is exact: DuckDB's and PostgreSQL's values have whole microseconds.
    members = [np.ascontiguousarray(raw["m"]), np.ascontiguousarray(raw["d"]), raw["n"] // 1000]
    return _build_struct([pa.array(member) for member in members], array, target)


def _carried_to_stored(array: pa.Array, target: pa.DataType) -> pa.Array:
    # NULL may be a NULL struct or one whose v is NULL; a file has only the former.
    value, scale = pc.struct_field(array, [0]), pc.struct_field(array, [1]).cast(pa.int32())
    if value.type != target.field("v").type:
        value = value.cast(target.field("v").type)
    return _build_struct([value, scale], value, target)


def _build_struct(members: list[pa.Array], like: pa.Array, target: pa.DataType) -> pa.Array:
    mask = like.is_null() if like.null_count else None
    return pa.StructArray.from_arrays(members, fields=list(target), mask=mask)


def _labels_to_stored(array: pa.Array, type: SqlType) -> pa.Array:
    """Stores renamed labels under their first name."""
    labels = type.labels or ()
    places = pc.index_in(array, pa.array([label.name for label in labels], pa.string()))
    return pa.array([label.stored for label in labels], pa.string()).take(places)


def _range_to_stored(array: pa.StructArray, type: SqlType, target: pa.DataType) -> pa.Array:
    scales = []
    if type.is_carried:
        scales = [pc.struct_field(array, [1]).cast(pa.int32())]
        value = pc.struct_field(array, [0])
    else:
        value = array
    lower, upper = pc.struct_field(value, [0]), pc.struct_field(value, [1])
    kinds, near = ([pc.struct_field(each, [at]) for each in (lower, upper)] for at in (0, 2))
    included = [pc.and_(pc.equal(kind, 1), pc.equal(side, 0)) for kind, side in zip(kinds, near)]
    bounds = [pc.struct_field(each, [1]) for each in (lower, upper)]
    return _build_struct([pc.equal(kinds[0], -1), *bounds, *included, *scales], array, target)


def _uuid_to_stored(array: pa.Array, target: pa.DataType) -> pa.Array:
    if array.type == target:
        return array
    if pa.types.is_fixed_size_binary(array.type) and array.type.byte_width == 16:
        return pa.ExtensionArray.from_storage(target, array)
    filled = pc.fill_null(array.cast(pa.string()), "00000000-0000-0000-0000-000000000000")
    lengths = pc.min_max(pc.binary_length(filled)).as_py()
    if len(filled) and (lengths["min"], lengths["max"]) != (36, 36):
        raise InternalError("a uuid that is not in its canonical form reached storage")
    start = filled.offset * 4
    offsets = np.frombuffer(filled.buffers()[1], dtype=np.int32, count=len(filled) + 1, offset=start)
    text = np.frombuffer(filled.buffers()[2] or b"", dtype=np.uint8)[offsets[0] : offsets[-1]]
    digits = _HEX_VALUES[text.reshape(-1, 36)[:, _HEX_PLACES]]
    if (digits > 15).any():
        raise InternalError("a uuid that is not in its canonical form reached storage")
    packed = np.ascontiguousarray((digits[:, 0::2] << 4) | digits[:, 1::2])
    validity = None
    if array.null_count:
        validity = pc.is_valid(array).buffers()[1]  # computed anew, so without an offset
    storage = pa.Array.from_buffers(pa.binary(16), len(array), [validity, pa.py_buffer(packed)])
    return pa.ExtensionArray.from_storage(target, storage)


_HEX_PLACES = np.array([i for i in range(36) if i not in (8, 13, 18, 23)])
_HEX_VALUES = np.full(256, 255, dtype=np.uint8)
for _digit in range(16):
    _HEX_VALUES[[ord(f"{_digit:x}"), ord(f"{_digit:X}")]] = _digit


def _data_buffer(array: pa.Array, width: int) -> pa.Buffer:
    return array.buffers()[1].slice(array.offset * width, len(array) * width)


def _timetz_to_stored(array: pa.Array, target: pa.DataType) -> pa.Array:
    microseconds, west = unpack_timetz_column(array)
    members = [pa.array(microseconds).view(pa.time64("us")), pa.array((-west).astype(np.int32))]
    return _build_struct(members, array, target)


_CONVERTERS: dict[str, Callable[[pa.Array, pa.DataType], pa.Array]] = {
    "interval": _interval_to_stored,
    "carried": _carried_to_stored,
    "uuid": _uuid_to_stored,
    "timetz": _timetz_to_stored,
    "money": lambda array, _: decimals_from_cents(array),
}


def stored_duckdb_type(type: SqlType) -> str:
    """Returns the DuckDB type of a stored column as `read_parquet` returns it, before `render_restored`."""
    if type.item is not None:
        return stored_duckdb_type(type.item) + "[]"
    if type.fields:
        held = zip(type.members, type.fields, strict=True)
        return f"STRUCT({', '.join(f'{member} {stored_duckdb_type(item)}' for member, (_, item) in held)})"
    if type.name == "interval":
        return "STRUCT(months INTEGER, days INTEGER, microseconds BIGINT)"
    if _has_key(type):
        return "STRUCT(text VARCHAR, key BLOB)"
    if type.name == "money":
        return "DECIMAL(19,2)"
    if type.name == "timetz":
        return "STRUCT(time TIME, east INTEGER)"
    if (subtype := type.subtype) is not None:
        bounds = f"lower {subtype.duckdb_value}, upper {subtype.duckdb_value}"
        scales = ", scales INTEGER" if type.is_carried else ""
        return f"STRUCT(empty BOOLEAN, {bounds}, lower_inc BOOLEAN, upper_inc BOOLEAN{scales})"
    return "VARCHAR" if type.labels else type.duckdb


def render_restored(type: SqlType, expression: str) -> str:
    """Returns DuckDB SQL that converts a column of `stored_duckdb_type` to `SqlType.duckdb`."""
    if stored_duckdb_type(type) == type.duckdb:
        return expression
    if type.item is not None:
        return f"list_transform({expression}, lambda e: {render_restored(type.item, 'e')})"
    if type.wide:
        text = f"{expression}.text"
        decimals = f"CASE WHEN contains({text}, '.') THEN length({text}) - instr({text}, '.') ELSE 0 END"
        made = f"struct_pack(v := {expression}.key, s := CAST({decimals} AS SMALLINT))"
        return f"(CASE WHEN {expression} IS NOT NULL THEN {made} END)"
    if type.name in {"inet", "cidr"}:
        return f"{expression}.key"
    if type.name == "money":
        return f"CAST({expression} * 100 AS BIGINT)"
    if type.name == "timetz":
        utc = f"epoch_us(CAST({expression}.time AS TIME)) - CAST({expression}.east AS BIGINT) * 1000000"
        return f"(({utc}) * {1 << SHIFT} - {expression}.east + {MIDDLE})"
    if type.fields:
        held = zip(type.members, type.fields, strict=True)
        made = ", ".join(f"{member} := {render_restored(item, f'{expression}.{member}')}" for member, (_, item) in held)
        return f"(CASE WHEN {expression} IS NOT NULL THEN struct_pack({made}) END)"
    if type.subtype is not None:
        return _render_restored_range(type, expression)
    if type.labels:
        return _render_restored_label(type, expression)
    members = (("months", "to_months"), ("days", "to_days"), ("microseconds", "to_microseconds"))
    return "(" + " + ".join(f"{function}({expression}.{name})" for name, function in members) + ")"


def _render_restored_range(type: SqlType, held: str) -> str:
    sides = []
    for name, infinite, beside in (("lower", 0, 1), ("upper", 2, -1)):
        kind = f"CASE WHEN {held}.empty THEN -1 WHEN {held}.{name} IS NULL THEN {infinite} ELSE 1 END"
        near = f"CASE WHEN {held}.{name}_inc OR {held}.{name} IS NULL THEN 0 ELSE {beside} END"
        sides.append(f"struct_pack(k := CAST({kind} AS TINYINT), v := {held}.{name}, s := CAST({near} AS TINYINT))")
    made = f"struct_pack(l := {sides[0]}, u := {sides[1]})"
    if type.is_carried:
        made = f"struct_pack(v := {made}, s := CAST({held}.scales AS SMALLINT))"
    return f"(CASE WHEN {held} IS NOT NULL THEN {made} END)"


def _render_restored_label(type: SqlType, expression: str) -> str:
    pairs = [(each.stored.replace("'", "''"), each.name.replace("'", "''")) for each in type.labels or ()]
    renamed = [f" WHEN '{stored}' THEN '{name}'" for stored, name in pairs if stored != name]
    if renamed:
        expression = f"CASE {expression}{''.join(renamed)} ELSE {expression} END"
    return f"CAST({expression} AS {type.duckdb})"
