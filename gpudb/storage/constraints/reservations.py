"""Reservations of keys: what a transaction locks so that others wait with a row of the same key until it ends.

The lock is on a hash of the key's values, which equal values share. Values of types that have several spellings, and no
simple form that tells them apart, share one hash: whoever writes such keys waits for all others who do.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from gpudb.catalog.tables import Exclusion, Key, Table
from gpudb.functions.equality import has_many_representations
from gpudb.storage.locks import Item
from gpudb.storage.plain_rows import PlainRows
from gpudb.types import SqlType
from gpudb.values.json import normalize_jsonb

MAX_KEYS = 1000
"""A statement with more rows reserves no keys: they are compared when it commits."""
_SIMPLE = frozenset({"bool", "int2", "int4", "int8", "text", "varchar"})
"""Types whose plain values have that form."""
_DAY = 86_400_000_000
"""Microseconds: a date refers to a timestamp, and both have one form."""


def list_unique_items(
    table: Table, root: int, batches: Sequence[pa.RecordBatch | PlainRows], keys: Sequence[Key]
) -> set[Item]:
    """Returns what rows with these `keys` lock, so that no other transaction adds one of the same key.

    Batches have the table's columns in order. `root` is the OID of the partitioned table that all partitions are of, or
    the table's own.
    """
    places = {column.name: index for index, column in enumerate(table.columns)}
    found: set[Item] = set()
    for key in keys:
        types = [table.columns[places[name]].type for name in key.columns]
        for batch in batches:
            arrays = [get_column(batch, places[name]) for name in key.columns]
            found |= set(_hash(root, "key", key.columns, types, arrays, nulls=not key.nulls_distinct))
    return found


def list_exclusion_items(
    root: int, exclusion: Exclusion, types: Sequence[SqlType], batches: Iterable[pa.RecordBatch]
) -> set[Item]:
    """Returns what rows with keys that an exclusion compares lock, so that no other transaction adds one to a pair.

    Batches have the keys that are compared with =, of `types`. `root` is as for `list_unique_items`.
    """
    names = repr((exclusion.keys, exclusion.operators, exclusion.predicate))
    found: set[Item] = set()
    for batch in batches:
        found |= set(_hash(root, "key", (names,), types, batch.columns, nulls=not exclusion.nulls_distinct))
    return found


def get_column(rows: pa.RecordBatch | PlainRows, place: int) -> Any:
    """Returns a column of rows, a list of plain ones."""
    return rows.columns[place] if isinstance(rows, PlainRows) else rows.column(place)


def list_reference_items(root: int, names: Sequence[str], types: Sequence[SqlType], keys: Sequence[Any]) -> set[Item]:
    """Returns the locks of keys in columns `names` of a referenced table: shared by rows that refer to them, alone for
    whoever takes them away.

    `keys` are columns of values, of `types`. `root` is as for `list_unique_items`, of the referenced table.
    """
    order = sorted(range(len(names)), key=lambda place: names[place])
    return set(
        _hash(
            root,
            "reference",
            [names[place] for place in order],
            [types[place] for place in order],
            [keys[place] for place in order],
            nulls=False,
        )
    )


def _hash(
    table: int, kind: str, names: Sequence[str], types: Sequence[SqlType], columns: Sequence[Any], *, nulls: bool
) -> Iterator[Item]:
    """Yields the item of each row's key; none for one with a NULL unless `nulls` are equal to each other."""
    spelt = [_spell(item, column) for item, column in zip(types, columns, strict=True)]
    for values in zip(*spelt, strict=True):
        if nulls or None not in values:
            digest = hashlib.blake2b(repr((tuple(names), values)).encode(), digest_size=8).digest()
            yield Item(table, kind, int.from_bytes(digest, "big"))


def _spell(item: SqlType, array: Any) -> list[object]:
    """Returns values in a form that equal ones share; None for NULL."""
    if isinstance(array, list):
        if item.name in _SIMPLE:
            return array
        array = pa.array(array, item.arrow)
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if item.is_carried and pa.types.is_struct(array.type):
        array = pc.struct_field(array, "v")
    elif item.name == "jsonb":
        return [None if each is None else normalize_jsonb(each) for each in array.to_pylist()]
    elif has_many_representations(item):
        return _hide(array)
    return _spell_plain(array)


def _spell_plain(array: pa.Array) -> list[object]:
    """Returns values of a type of which equal ones are stored alike; of a struct, those of its fields."""
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if pa.types.is_struct(array.type):
        fields = zip(*map(_spell_plain, array.flatten()), strict=True)
        return [None if missing else tuple(held) for missing, held in zip(array.is_null().to_pylist(), fields)]
    if pa.types.is_nested(array.type) or pa.types.is_interval(array.type):
        return _hide(array)
    if pa.types.is_date32(array.type):
        return [None if days is None else days * _DAY for days in array.view(pa.int32()).to_pylist()]
    if pa.types.is_temporal(array.type):
        array = array.view(pa.int32() if array.type.bit_width == 32 else pa.int64())
    return [_simplify(each) for each in array.to_pylist()]


def _hide(array: pa.Array) -> list[object]:
    return [None if missing else "" for missing in array.is_null().to_pylist()]


def _simplify(value: Any) -> object:
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else value.normalize()
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    return value
