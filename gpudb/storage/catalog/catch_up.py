"""Applies what other coordinators have committed to the catalogs in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from gpudb.catalog.model import SHARED_KINDS, Catalog
from gpudb.catalog.relations import Relation
from gpudb.catalog.tables import Table, TableSnapshot
from gpudb.storage.catalog.changes import SHARED, Catalogs, is_temporary_object, is_temporary_schema, make_empty
from gpudb.storage.catalog.merge import has_same_definition

Objects = Mapping[tuple[str, str, str], object]
Relations = Mapping[tuple[str, int], Relation | None]


def apply(
    catalogs: Catalogs,
    objects: Objects,
    relations: Relations,
    snapshots: Mapping[int, tuple[TableSnapshot, ...]],
    next_oid: int,
    next_version: Callable[[], int],
) -> Catalogs:
    """Returns the catalogs with changed objects, by database, kind and name, and relations, by database and OID.

    None is for what is gone. Tables have their files; `snapshots` are those of the changed ones, by OID. Temporary
    relations stay, also in a database that others have renamed.
    """
    first = next(iter(catalogs.values()))
    shared = _merge_kinds(first, objects, SHARED)
    after = shared.get("databases", first.databases)
    names = {each.oid: name for name, each in first.databases.items()}
    made = {}
    for name in after:
        old = catalogs.get(names.get(after[name].oid, name))
        catalog = old if old is not None and old.database == name else _rename(old, name, first)
        kinds = {**shared, **_merge_kinds(catalog, objects, name)}
        changed = {oid: relation for (home, oid), relation in relations.items() if home == name}
        if kinds or changed or catalog is not old:
            known = _merge_relations(catalog, changed)
            redefined = bool(kinds) or catalog is not old or _changes_definitions(catalog, changed)
            catalog = replace(
                catalog,
                version=next_version() if redefined else catalog.version,
                next_oid=max(catalog.next_oid, next_oid),
                relations=known,
                snapshots=_merge_snapshots(catalog, changed, snapshots),
                **kinds,
            )
        made[name] = catalog
    return MappingProxyType(made)


def _rename(old: Catalog | None, name: str, first: Catalog) -> Catalog:
    """Returns the catalog of a new or renamed database without what its rows have: all of them are among the changes.

    Of a renamed one the temporary objects stay.
    """
    shared: dict[str, Any] = {kind: getattr(first, kind) for kind in SHARED_KINDS}
    empty = replace(make_empty(name, 0, first.next_oid), oids=first.oids, **shared)
    if old is None:
        return empty
    temporary = {key: each for key, each in old.relations.items() if is_temporary_schema(key[0])}
    kinds: dict[str, Any] = {
        kind: MappingProxyType(
            {key: each for key, each in getattr(old, kind).items() if is_temporary_object(kind, key)}
        )
        for kind in ("schemas", "routines")
    }
    return replace(empty, relations=MappingProxyType(temporary), **kinds)


def _merge_kinds(catalog: Catalog, objects: Objects, database: str) -> dict[str, Any]:
    """Returns a catalog's changed mappings by kind: those of its own, or those that all databases share."""
    kinds: dict[str, dict[str, object]] = {}
    for (home, kind, name), value in objects.items():
        if home != database:
            continue
        held = kinds.get(kind)
        if held is None:
            held = kinds[kind] = dict(getattr(catalog, kind))
        if value is None:
            held.pop(name, None)
        else:
            held[name] = value
    assert database != SHARED or kinds.keys() <= SHARED_KINDS
    return {kind: MappingProxyType(held) for kind, held in kinds.items()}


def _merge_relations(catalog: Catalog, changed: Mapping[int, Relation | None]) -> Mapping[tuple[str, str], Relation]:
    if not changed:
        return catalog.relations
    known = {key: each for key, each in catalog.relations.items() if each.oid not in changed}
    known.update({(each.schema, each.name): each for each in changed.values() if each is not None})
    return MappingProxyType(known)


def _merge_snapshots(
    catalog: Catalog, changed: Mapping[int, Relation | None], snapshots: Mapping[int, tuple[TableSnapshot, ...]]
) -> Mapping[int, tuple[TableSnapshot, ...]]:
    kept = {oid: each for oid, each in catalog.snapshots.items() if oid not in changed}
    return MappingProxyType({**kept, **{oid: snapshots[oid] for oid in changed if oid in snapshots}})


def _changes_definitions(catalog: Catalog, changed: Mapping[int, Relation | None]) -> bool:
    """Returns whether more than the files of tables has changed, so that plans with other statistics are invalid."""
    known = {each.oid: each for each in catalog.relations.values() if each.oid in changed}
    return any(not _have_same_plans(known.get(oid), new) for oid, new in changed.items())


def _have_same_plans(old: Relation | None, new: Relation | None) -> bool:
    if not has_same_definition(old, new):
        return False
    return not (isinstance(old, Table) and isinstance(new, Table)) or old.statistics == new.statistics
