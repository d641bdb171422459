"""The indexes of tables as the system catalog has them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import count
from typing import NamedTuple

from gpudb import pgdata
from gpudb.catalog.postgres import oids
from gpudb.catalog.tables import Exclude, Index, IndexDetails, Table, Unique
from gpudb.types import SqlType


class IndexFacts(NamedTuple):
    """An index: its OID and that of its constraint, 0 for none; that of an exclusion constraint has `operators`."""

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
    operators: tuple[str, ...] = ()
    deferrable: bool = False
    deferred: bool = False


def list_indexes(table: Table) -> Iterator[IndexFacts]:
    """Returns all indexes of a table, the primary key's first."""
    if table.primary_key:
        index, constraint = oids.index(table.oid), oids.constraint(table.oid)
        deferrable, deferred = table.primary_key_deferrable, table.primary_key_deferred
        facts = IndexFacts(index, table.key_name, table.primary_key, constraint, primary=True)
        yield facts._replace(deferrable=deferrable, deferred=deferred)
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
                options=constraint_.options,
                comment=comment,
                details=constraint_.details,
                deferrable=constraint_.deferrable,
                deferred=constraint_.deferred,
            )
        elif isinstance(constraint_, Exclude):
            yield IndexFacts(
                oids.index(constraint_.oid),
                constraint_.name,
                constraint_.columns,
                constraint_.oid,
                unique=False,
                method=constraint_.method,
                details=IndexDetails(constraint_.keys, predicate=constraint_.predicate),
                operators=constraint_.operators,
                deferrable=constraint_.deferrable,
                deferred=constraint_.deferred,
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


def make_names_unique(names: Iterable[str]) -> list[str]:
    """Returns the names of an index's columns: one that was there before gets a number behind it."""
    made: list[str] = []
    for name in names:
        numbered = (f"{name[: 63 - len(str(number))]}{number}" for number in count(1))
        made.append(name if name not in made else next(each for each in numbered if each not in made))
    return made


def is_same_index(one: IndexFacts, other: IndexFacts) -> bool:
    """Returns whether two indexes, of a partitioned table and of a partition, have the same definition."""
    return all(
        getattr(one, name) == getattr(other, name)
        for name in ("columns", "unique", "primary", "nulls_distinct", "method", "options", "details")
    ) and bool(one.constraint) <= bool(other.constraint)


@cache
def _load_operator_classes(method: int = oids.BTREE_AM) -> dict[int, int]:
    classes = pgdata.load_table("pg_opclass").select("opcintype", "oid", "opcmethod", "opcdefault")
    return {int(item): int(oid) for item, oid, own, is_default in classes if own == str(method) and is_default == "t"}


@cache
def _load_methods() -> dict[str, int]:
    return {name: int(oid) for oid, name in pgdata.load_table("pg_am").select("oid", "amname")}


def has_default_class(item: SqlType, method: str) -> bool:
    """Returns whether PostgreSQL has a default operator class of a type for an access method by name."""
    number = _load_methods().get(method)
    return number is not None and item.oid in _load_operator_classes(number)


def get_operator_class(item: SqlType) -> int:
    """Returns the OID of the default operator class of a type for btree indexes."""
    classes = _load_operator_classes()
    if item.element is not None:
        return classes[2277]
    if item.user is not None:
        return classes[3500 if item.user.kind == "e" else 2249]
    return classes.get(item.oid) or classes[25]


def find_operator(name: str, item: SqlType) -> int:
    """Returns the OID of an operator between two values of a type."""
    by_types = _load_operators()
    polymorphic = {"e": 3500, "r": 3831, "m": 4537}.get(item.user.kind if item.user is not None else "", 0)
    if item.element is not None:
        polymorphic = 2277
    for oid in (item.oid, polymorphic, *_POLYMORPHIC.get(item.name, ())):
        if (name, oid) in by_types:
            return by_types[name, oid]
    return 0


_RANGES = ("int4range", "int8range", "numrange", "daterange", "tsrange", "tstzrange")
_POLYMORPHIC = {
    "varchar": (25,),
    "cidr": (869,),
    **dict.fromkeys(_RANGES, (3831,)),
    **dict.fromkeys((each.replace("range", "multirange") for each in _RANGES), (4537,)),
}


@cache
def _load_operators() -> dict[tuple[str, int], int]:
    rows = pgdata.load_table("pg_operator").select("oid", "oprname", "oprleft", "oprright")
    return {(name, int(left)): int(oid) for oid, name, left, right in rows if left == right}


def get_named_class(method: int, name: str, item: SqlType) -> int:
    """Returns the OID of a key's operator class: that of gpudb's methods by name, without it their default for a type.

    Indexes by PostgreSQL's methods show the type's default class, for btree if the method has none.
    """
    for own, oid, class_name, kind, is_default in _load_added_classes():
        if own == method and (class_name == name if name else is_default and kind == item.oid):
            return oid
    return (None if name else _load_operator_classes(method).get(item.oid)) or get_operator_class(item)


@cache
def _load_added_classes() -> list[tuple[int, int, str, int, bool]]:
    rows = pgdata.load_added("pg_opclass").select("opcmethod", "oid", "opcname", "opcintype", "opcdefault")
    return [(int(method), int(oid), name, int(kind), default == "t") for method, oid, name, kind, default in rows]


def get_operator_class_name(item: SqlType) -> str:
    """Returns the name of a type's operator class for btree that is used by default."""
    wanted = str(get_operator_class(item))
    return next(name for oid, name in pgdata.load_table("pg_opclass").select("oid", "opcname") if oid == wanted)
