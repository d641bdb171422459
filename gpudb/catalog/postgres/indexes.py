"""The indexes of tables as the system catalog has them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from gpudb import pgdata
from gpudb.catalog.postgres import oids
from gpudb.catalog.tables import Index, IndexDetails, Table, Unique
from gpudb.types import SqlType


class IndexFacts(NamedTuple):
    """An index: its OID and that of its constraint, 0 for none."""

    oid: int
    name: str
    columns: tuple[str, ...]
    constraint: int = 0
    unique: bool = True
    primary: bool = False
    nulls_distinct: bool = True
    method: str = "btree"
    options: tuple[int, ...] = ()
    comment: str | None = None
    details: IndexDetails | None = None


def list_indexes(table: Table) -> Iterator[IndexFacts]:
    """Returns all indexes of a table, the primary key's first."""
    if table.primary_key:
        index, constraint = oids.index(table.oid), oids.constraint(table.oid)
        yield IndexFacts(index, table.key_name, table.primary_key, constraint, primary=True)
    for constraint_ in table.constraints:
        if isinstance(constraint_, Unique):
            oid, constraint = (
                (constraint_.oid, 0) if constraint_.index else (oids.index(constraint_.oid), constraint_.oid)
            )
            comment = constraint_.comment if constraint_.index else None
            yield IndexFacts(
                oid,
                constraint_.name,
                constraint_.columns,
                constraint,
                nulls_distinct=constraint_.nulls_distinct,
                comment=comment,
            )
        elif isinstance(constraint_, Index):
            yield IndexFacts(
                constraint_.oid,
                constraint_.name,
                constraint_.columns,
                0,
                False,
                False,
                True,
                constraint_.method,
                constraint_.options,
                constraint_.comment,
                constraint_.details,
            )


def is_same_index(one: IndexFacts, other: IndexFacts) -> bool:
    """Returns whether two indexes, of a partitioned table and of a partition, have the same definition."""
    return all(
        getattr(one, name) == getattr(other, name)
        for name in ("columns", "unique", "primary", "nulls_distinct", "method", "options", "details")
    ) and bool(one.constraint) <= bool(other.constraint)


@cache
def _load_operator_classes() -> dict[int, int]:
    classes = pgdata.load_table("pg_opclass").select("opcintype", "oid", "opcmethod", "opcdefault")
    return {
        int(item): int(oid)
        for item, oid, method, is_default in classes
        if method == str(oids.BTREE_AM) and is_default == "t"
    }


def get_operator_class(item: SqlType) -> int:
    """Returns the OID of the default operator class of a type for btree indexes."""
    classes = _load_operator_classes()
    if item.element is not None:
        return classes[2277]
    if item.user is not None:
        return classes[3500 if item.user.kind == "e" else 2249]
    return classes.get(item.oid) or classes[25]


def get_named_class(method: int, name: str, item: SqlType) -> int:
    """Returns the OID of a key's operator class: that of gpudb's methods by name, without it their default for a type.

    Indexes by PostgreSQL's methods show the type's default class for btree.
    """
    for own, oid, class_name, kind, is_default in _load_added_classes():
        if own == method and (class_name == name if name else is_default and kind == item.oid):
            return oid
    return get_operator_class(item)


@cache
def _load_added_classes() -> list[tuple[int, int, str, int, bool]]:
    rows = pgdata.load_added("pg_opclass").select("opcmethod", "oid", "opcname", "opcintype", "opcdefault")
    return [(int(method), int(oid), name, int(kind), default == "t") for method, oid, name, kind, default in rows]


def get_operator_class_name(item: SqlType) -> str:
    """Returns the name of a type's operator class for btree that is used by default."""
    wanted = str(get_operator_class(item))
    return next(name for oid, name in pgdata.load_table("pg_opclass").select("oid", "opcname") if oid == wanted)
