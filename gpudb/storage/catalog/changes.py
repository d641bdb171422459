"""What a catalog's database stores, whichever it is: pointers, definitions, and the changes of one commit."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, NamedTuple

from gpudb.catalog.model import (
    FIRST_DATABASE,
    SHARED_KINDS,
    Catalog,
    make_initial_catalog,
    with_predefined_databases,
)
from gpudb.catalog.predefined_roles import with_predefined_roles
from gpudb.catalog.relations import Relation
from gpudb.catalog.tables import Table
from gpudb.errors import GpudbError
from gpudb.storage.catalog.records import decode

Catalogs = Mapping[str, Catalog]
"""The catalog of each database, by name. All hold the same shared objects."""
SHARED = ""
"""Stands for a database where an object belongs to all of them."""


@dataclass(frozen=True, slots=True)
class Pointer:
    """An Iceberg table's name and the location of its current metadata file (a file:// URI)."""

    schema: str
    name: str
    location: str
    database: str = FIRST_DATABASE

    @property
    def file(self) -> str:
        """The name of the metadata file in the folder `metadata` of the table."""
        return self.location.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class LoggedCompaction:
    """A compaction that a coordinator committed: the ids of the files merged and of those written."""

    oid: int
    inputs: frozenset[str]
    outputs: frozenset[str]


class Coordinator(NamedTuple):
    """One of the servers over a catalog: its number, and the address that its clients connect to."""

    number: int
    host: str
    port: int


@dataclass(slots=True)
class CatalogChanges:
    """One transaction's changes: `relations` by database and OID, `objects` by database, kind and name.

    The database of objects that all databases share is SHARED. Pointers are pairs (old, new), None for no table.

    `defined` is the time of the commit, in microseconds since 1970 UTC, if it changes more than rows.

    For a catalog of several coordinators also: the files that are `discarded` and those `restored`, by their paths
    below `tables`, and the `compactions`: OID, ids of the files merged, ids of those written.
    """

    version: int
    next_oid: int
    commit: int
    relations: dict[tuple[str, int], Relation | None] = field(default_factory=dict)
    objects: dict[tuple[str, str, str], object] = field(default_factory=dict)
    pointers: list[tuple[Pointer | None, Pointer | None]] = field(default_factory=list)
    defined: int | None = None
    discarded: list[str] = field(default_factory=list)
    restored: list[str] = field(default_factory=list)
    compactions: list[tuple[int, list[str], list[str]]] = field(default_factory=list)

    def remove(self, catalog: Catalog) -> None:
        """Removes a database and its own objects."""
        self.objects[SHARED, "databases", catalog.database] = None
        for kind, name, _ in iter_objects(catalog):
            if kind not in SHARED_KINDS:
                self.objects[catalog.database, kind, name] = None
        for relation in catalog.relations.values():
            self.relations[catalog.database, relation.oid] = None

    def add(self, catalog: Catalog) -> None:
        """Adds all that a catalog holds."""
        for kind, name, value in iter_objects(catalog):
            self.objects[get_home(catalog.database, kind), kind, name] = value
        for relation in catalog.relations.values():
            self.relations[catalog.database, relation.oid] = relation


@dataclass(slots=True)
class CommittedChanges:
    """What was committed after a number up to `commit`. None for a relation, object or pointer that is gone.

    `is_complete` is false if the log does not reach back so far: everything has to be read anew.
    """

    commit: int
    is_complete: bool = True
    next_oid: int = 0
    relations: dict[tuple[str, int], Relation | None] = field(default_factory=dict)
    objects: dict[tuple[str, str, str], object] = field(default_factory=dict)
    pointers: dict[int, Pointer] = field(default_factory=dict)
    compactions: list[LoggedCompaction] = field(default_factory=list)


def assemble(
    state: Mapping[str, str],
    object_rows: Iterable[tuple[str, str, str, str]],
    relation_rows: Iterable[tuple[str, str]],
    pointer_rows: Iterable[tuple[str, str, str, str | None]],
) -> tuple[Catalogs, Mapping[int, Pointer]]:
    """Makes the catalogs, without their tables' files, and the pointer of each table by OID from a database's rows.

    Objects are rows (database, kind, name, definition), relations (database, definition), pointers (database, schema,
    name, location); `state` has `version` and `next_oid`. Raises XX001 for rows that are damaged.
    """
    objects: dict[str, dict[str, dict[str, object]]] = {SHARED: {}}
    for database, kind, name, definition in object_rows:
        objects.setdefault(database, {}).setdefault(kind, {})[name] = decode(definition)
    known = objects[SHARED].get("databases", {FIRST_DATABASE: None})
    relations: dict[str, dict[tuple[str, str], Relation]] = {}
    for database, definition in relation_rows:
        relation = decode(definition)
        if database not in known:
            message = f'relation "{relation.name}" belongs to the database "{database}", which does not exist'
            raise GpudbError(message, condition="data_corrupted")
        relations.setdefault(database, {})[relation.schema, relation.name] = relation
    catalogs: dict[str, Catalog] = {}
    oids = (each.oid for known in relations.values() for each in known.values())
    next_oid = max(int(state["next_oid"]), max(oids, default=0) + 1)
    for version, name in enumerate(known, int(state["version"])):
        catalog = make_empty(name, version, next_oid)
        kinds = {**objects[SHARED], **objects.get(name, {})}
        made: dict[str, Any] = {kind: MappingProxyType(held) for kind, held in kinds.items()}
        catalogs[name] = replace(catalog, relations=MappingProxyType(relations.get(name, {})), **made)
    pointers = {}
    for database, schema, name, location in pointer_rows:
        owner = relations.get(database, {}).get((schema, name))
        if isinstance(owner, Table) and location is not None:
            pointers[owner.oid] = Pointer(schema, name, location, database)
    return MappingProxyType(catalogs), pointers


def make_empty(database: str, version: int, next_oid: int) -> Catalog:
    """Returns the catalog of a database without objects."""
    nothing: Mapping[Any, Any] = MappingProxyType({})
    return Catalog(version, next_oid, schemas=nothing, relations=nothing, roles=nothing, database=database)


def make_first() -> CatalogChanges:
    """Returns the changes that make the first catalogs of a database without rows."""
    first = with_predefined_roles(make_initial_catalog())
    write = CatalogChanges(first.version, first.next_oid, 0, defined=time.time_ns() // 1000)
    for name in first.databases:
        write.add(replace(first, database=name))
    return write


def make_copy(made: Catalogs, catalogs: Catalogs, pointers: Mapping[int, Pointer], commit: int) -> CatalogChanges:
    """Returns the changes that make catalogs, without their temporary objects, those of a database that is new.

    `made` are the catalogs that it has, without relations.
    """
    first = catalogs[FIRST_DATABASE]
    write = CatalogChanges(first.version, first.next_oid, commit, defined=time.time_ns() // 1000)
    for catalog in made.values():  # databases that the new one has and the catalogs lack
        if catalog.database not in catalogs:
            write.remove(catalog)
    for catalog in catalogs.values():
        write.add(catalog)
    relations, objects = write.relations.items(), write.objects.items()
    write.relations = {key: each for key, each in relations if each is None or not is_temporary_schema(each.schema)}
    write.objects = {key: each for key, each in objects if not is_temporary_object(key[1], key[2])}
    write.pointers = [(None, pointer) for pointer in pointers.values()]
    return write


def list_missing(catalog: Catalog, commit: int) -> CatalogChanges | None:
    """Returns the roles and databases that a catalog lacks which an earlier gpudb wrote; None if it lacks none."""
    # One of several databases lacks those that were dropped or renamed.
    is_old = catalog.databases.keys() <= {FIRST_DATABASE}
    complete = with_predefined_roles(with_predefined_databases(catalog) if is_old else catalog)
    if complete is catalog:
        return None
    write = CatalogChanges(catalog.version, catalog.next_oid, commit, defined=time.time_ns() // 1000)
    for database in complete.databases.keys() - catalog.databases.keys():
        for kind, name, value in iter_objects(make_initial_catalog()):
            if kind not in SHARED_KINDS:
                write.objects[database, kind, name] = value
    known = {(kind, name): value for kind, name, value in iter_objects(catalog)}
    for kind, name, value in iter_objects(complete):
        if kind in SHARED_KINDS and known.get((kind, name)) is not value:
            write.objects[SHARED, kind, name] = value
    return write


def list_object_kinds() -> tuple[str, ...]:
    """Returns the catalog's mappings by name: schemas, roles and all others of the model that are no relations."""
    catalog = make_initial_catalog()
    mappings = (f.name for f in fields(Catalog) if isinstance(getattr(catalog, f.name), Mapping))
    return tuple(name for name in mappings if name not in {"relations", "snapshots"})


def is_temporary_schema(schema: str) -> bool:
    """Returns whether a schema holds a session's temporary objects, which are never persisted."""
    return schema.startswith("pg_temp")


def is_temporary_object(kind: str, name: str) -> bool:
    """Returns whether an object of `iter_objects` is a temporary schema or a routine in one."""
    return (kind == "schemas" and is_temporary_schema(name)) or (kind == "routines" and name.startswith('"pg_temp'))


def get_home(database: str, kind: str) -> str:
    """Returns the database under which a catalog's objects of a kind are stored."""
    return SHARED if kind in SHARED_KINDS else database


def iter_objects(catalog: Catalog) -> Iterable[tuple[str, str, object]]:
    """Yields every object of the catalog that is no relation, as (kind, name, value)."""
    for kind in list_object_kinds():
        for name, value in getattr(catalog, kind).items():
            yield kind, name, value
