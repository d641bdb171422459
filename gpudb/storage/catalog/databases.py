"""What a commit in one database changes in the others: objects that all share, and databases that come, go or rename.

Other catalogs refer to roles by name, so a renamed role is renamed in them too. A new database begins as a copy of its
template, which holds neither tables nor sequences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from gpudb.catalog.model import SHARED_KINDS, Catalog, Database
from gpudb.catalog.role_renaming import rename_references
from gpudb.errors import FeatureNotSupported, SerializationFailure, SqlError
from gpudb.storage.catalog.changes import (
    CatalogChanges,
    Catalogs,
    Pointer,
    get_home,
    is_temporary_object,
    is_temporary_schema,
    iter_objects,
)
from gpudb.storage.catalog.role_references import find_lost_role

Change = tuple[Database | None, Database | None]


def list_changed_databases(before: Catalog, after: Catalog) -> list[Change]:
    """Returns pairs (old, new) of the databases that were created, dropped or renamed; the other is None, or both."""
    old = {each.oid: each for each in before.databases.values()}
    new = {each.oid: each for each in after.databases.values()}
    pairs = [(old.get(oid), new.get(oid)) for oid in old.keys() | new.keys()]
    return [(one, other) for one, other in pairs if one is None or other is None or one.name != other.name]


def spread(catalogs: Catalogs, changed: Catalog, next_version: Callable[[], int]) -> Catalogs:
    """Returns the catalogs after `changed`, that of one database, has been committed, without its predecessor."""
    before = catalogs[changed.database]
    made = {**catalogs, changed.database: changed}
    if all(getattr(before, kind) is getattr(changed, kind) for kind in SHARED_KINDS):
        return MappingProxyType(made)
    pairs = list_changed_databases(before, changed)
    # All leave their names first: a name may pass from one to another.
    kept = {old.oid: made.pop(old.name) for old, _ in pairs if old is not None}
    for old, new in pairs:
        if new is not None:
            made[new.name] = replace(kept[new.oid] if old else _copy_template(catalogs, new), database=new.name)
    shared: dict[str, Any] = {kind: getattr(changed, kind) for kind in SHARED_KINDS}
    renamed = list(_iter_renamed_roles(before, changed))
    for name, catalog in made.items():
        if catalog is not changed:
            next_oid = max(catalog.next_oid, changed.next_oid)
            catalog = _rename_roles(catalog, renamed)
            made[name] = replace(catalog, version=next_version(), next_oid=next_oid, **shared)
            if (lost := find_lost_role(before, made[name])) is not None:
                raise SerializationFailure(
                    "could not serialize access due to concurrent update",
                    detail=f"Role {lost} was used in database {name} since the transaction began.",
                    hint="The transaction might succeed if retried.",
                )
    return MappingProxyType(made)


def _rename_roles(catalog: Catalog, pairs: Sequence[tuple[str, str]]) -> Catalog:
    """Returns a catalog in which roles have other names; a name may pass from one to another."""
    for number, (old, _) in enumerate(pairs):
        catalog = rename_references(catalog, old, f"\0{number}")
    for number, (_, new) in enumerate(pairs):
        catalog = rename_references(catalog, f"\0{number}", new)
    return catalog


def add_changes(write: CatalogChanges, before: Catalogs, after: Catalogs, changed: str) -> None:
    """Adds what `spread` changed in the other databases of a commit in the database `changed`."""
    for name in (before.keys() | after.keys()) - {changed}:
        old, new = before.get(name), after.get(name)
        if old is new:
            continue
        objects, others = _index_objects(old), _index_objects(new)
        for key in objects.keys() | others.keys():
            if objects.get(key) is not others.get(key):
                write.objects[key] = others.get(key)
        relations, others_ = _index_relations(old), _index_relations(new)
        for place in relations.keys() | others_.keys():
            if relations.get(place) is not others_.get(place):
                write.relations[place] = others_.get(place)


def move_pointers(pointers: dict[int, Pointer], before: Catalogs, after: Catalogs, changed: str) -> dict[int, Pointer]:
    """Returns the pointers of the tables of renamed databases, under their new names, by OID."""
    moved = {}
    for old, new in list_changed_databases(before[changed], after[changed]):
        if old is not None and new is not None:
            for oid, pointer in pointers.items():
                if pointer.database == old.name:
                    moved[oid] = replace(pointer, database=new.name)
    return moved


def check_template(template: Catalog) -> None:
    """0A000 for a database that cannot be copied: it has tables or sequences, whose rows and values are its own."""
    if next(template.tables(), None) is not None or next(template.sequences(), None) is not None:
        raise FeatureNotSupported(f'database "{template.database}" cannot be copied: it has tables or sequences')


def _copy_template(catalogs: Catalogs, database: Database | None) -> Catalog:
    assert database is not None
    template = catalogs.get(database.template)
    if template is None:
        raise SqlError.of("invalid_catalog_name", f'template database "{database.template}" does not exist')
    check_template(template)
    return template


def _iter_renamed_roles(before: Catalog, after: Catalog) -> Iterator[tuple[str, str]]:
    names = {role.oid: role.name for role in before.roles.values()}
    for role in after.roles.values():
        if names.get(role.oid, role.name) != role.name:
            yield names[role.oid], role.name


def _index_objects(catalog: Catalog | None) -> dict[tuple[str, str, str], object]:
    """Returns the objects of a catalog that are no other database's, by database, kind and name."""
    if catalog is None:
        return {}
    return {
        (get_home(catalog.database, kind), kind, name): value
        for kind, name, value in iter_objects(catalog)
        if kind not in SHARED_KINDS and not is_temporary_object(kind, name)
    }


def _index_relations(catalog: Catalog | None) -> dict[tuple[str, int], Any]:
    if catalog is None:
        return {}
    return {
        (catalog.database, relation.oid): relation
        for relation in catalog.relations.values()
        if not is_temporary_schema(relation.schema)
    }
