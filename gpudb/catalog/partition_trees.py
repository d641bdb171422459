"""Partitioned tables with the files of their partitions, as statements read them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from gpudb.catalog.lazy_files import DerivedFiles, LazyFiles
from gpudb.catalog.model import Catalog
from gpudb.catalog.partitions import PartitionTree
from gpudb.catalog.tables import DataFile, ForeignKey, Table
from gpudb.lru import LruCache

Children = Mapping[int, Sequence[Table]]
_ASSEMBLED: LruCache[int, tuple[Table, tuple[Table, ...], Table]] = LruCache(1024)
"""By OID: a partitioned table, its partitions at all levels, and the table with their files."""


def list_children(catalog: Catalog) -> Children:
    """Returns the partitions of each partitioned table of the catalog by its OID, ordered by OID."""
    found: dict[int, list[Table]] = defaultdict(list)
    for relation in catalog.relations.values():
        if isinstance(relation, Table) and relation.partition_bound is not None:
            found[relation.partition_bound.parent].append(relation)
    return {oid: sorted(tables, key=lambda each: each.oid) for oid, tables in found.items()}


def list_partitions(catalog: Catalog, table: Table) -> tuple[Table, ...]:
    """Returns the partitions of a table at all levels, each before its own; none for other tables."""
    return _list_below(list_children(catalog), table) if table.partitioned_by is not None else ()


def _list_below(children: Children, table: Table) -> tuple[Table, ...]:
    found: list[Table] = []
    for child in children.get(table.oid, ()):
        found += (child, *_list_below(children, child))
    return tuple(found)


def find_root(catalog: Catalog, table: Table) -> Table:
    """Returns the partitioned table above all others of which a table is a partition; itself if it is none."""
    while table.partition_bound is not None:
        parent = catalog.find_relation_by_oid(table.partition_bound.parent)
        if not isinstance(parent, Table):
            break
        table = parent
    return table


def list_ancestors(catalog: Catalog, table: Table) -> tuple[Table, ...]:
    """Returns the partitioned tables of which a table is a partition, the nearest first."""
    found: list[Table] = []
    while table.partition_bound is not None:
        parent = catalog.find_relation_by_oid(table.partition_bound.parent)
        if not isinstance(parent, Table):
            break
        found.append(parent)
        table = parent
    return tuple(found)


def find_inherited_key(catalog: Catalog, table: Table, foreign: ForeignKey) -> ForeignKey | None:
    """Returns the foreign key of a partitioned table that one of its partition is a copy of; None if it is none."""
    parents = list_ancestors(catalog, table)[:1]
    return next((each for parent in parents for each in parent.foreign_keys if is_same_key(each, foreign)), None)


def is_same_key(one: ForeignKey, other: ForeignKey) -> bool:
    """Returns whether two foreign keys require the same, whatever their names are."""
    return replace(one, oid=0, name="", comment=None) == replace(other, oid=0, name="", comment=None)


def assemble(catalog: Catalog, table: Table) -> Table:
    """Returns a partitioned table with its `tree` and the files of its partitions; any other table unchanged.

    The result is the same object while the table and its partitions are.
    """
    if table.partitioned_by is None:
        return table
    children = list_children(catalog)
    below = _list_below(children, table)
    known = _ASSEMBLED.get(table.oid)
    if known is not None and known[0] is table and len(known[1]) == len(below):
        if all(one is other for one, other in zip(known[1], below, strict=True)):
            return known[2]
    leaves = [each for each in below if each.partitioned_by is None]

    def collect() -> tuple[DataFile, ...]:
        return tuple(replace(file, partition=each.oid) for each in leaves for file in each.files)

    waits = any(isinstance(each.files, LazyFiles) and not each.files.is_made for each in leaves)
    files = DerivedFiles(collect) if waits else collect()
    assembled = replace(table, files=files, tree=_build_tree(children, table))
    _ASSEMBLED.put(table.oid, (table, below, assembled))
    return assembled


def _build_tree(children: Children, table: Table) -> PartitionTree:
    if table.partitioned_by is None:
        return PartitionTree(table.oid, table.name, table.partition_bound)
    ids = {column.name: column.field_id for column in table.columns}
    fields = tuple(ids[name] for name in table.partitioned_by.columns)
    below = tuple(_build_tree(children, each) for each in children.get(table.oid, ()))
    return PartitionTree(table.oid, table.name, table.partition_bound, table.partitioned_by, fields, below)
