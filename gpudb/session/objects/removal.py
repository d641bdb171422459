"""Removal of relations with the objects that belong to them and, with CASCADE, the objects that depend on them."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import replace

from gpudb.catalog.model import Catalog
from gpudb.catalog.partition_trees import list_ancestors, list_partitions
from gpudb.catalog.relations import Relation, Sequence
from gpudb.catalog.routines import Routine
from gpudb.catalog.row_types import get_row_type, refresh_row_types
from gpudb.catalog.tables import ForeignKey, Table
from gpudb.catalog.type_replacement import contains_type
from gpudb.session.context import Context
from gpudb.session.objects.constraints import referencing_keys, without_foreign_key
from gpudb.session.objects.dependents import (
    SEVERAL_OBJECTS,
    Dependent,
    describe_relation,
    qualified_name,
    refuse_or_report,
    relation_names,
    views_over,
)
from gpudb.session.objects.policies import PolicyUse, policies_over
from gpudb.sql.parse.parser import parse


def drop_with_dependents(context: Context, relations: list[Relation], cascade: bool) -> None:
    """Drops relations, the sequences that they own and, with CASCADE, their dependents; 2BP01 without."""
    catalog = context.transaction.catalog
    removal = _Removal(context, {relation.oid: relation for relation in relations})
    for relation in relations:
        removal.visit(relation)
    what = describe_relation(context, relations[0]) if len(relations) == 1 else SEVERAL_OBJECTS
    refuse_or_report(context, what, removal.dependents, cascade=cascade)
    for owner, foreign in removal.foreign_keys:
        catalog = without_foreign_key(catalog, owner, foreign)
    for use in removal.policies:
        user = catalog.find_relation_by_oid(use.table.oid)
        if isinstance(user, Table):
            catalog = catalog.put(replace(user, policies=tuple(p for p in user.policies if p.oid != use.policy.oid)))
    for routine in removal.routines.values():
        catalog = catalog.drop(routine)
    for relation in removal.relations.values():
        catalog = catalog.drop(relation)
    for oid, name in removal.defaults:
        user = catalog.find_relation_by_oid(oid)
        if isinstance(user, Table):
            columns = tuple(replace(c, default=None) if c.name == name else c for c in user.columns)
            catalog = catalog.put(replace(user, columns=columns))
    context.transaction.set_catalog(catalog)


class _Removal:
    """Collects the objects that are dropped with relations, depth first, and how messages name them."""

    def __init__(self, context: Context, relations: dict[int, Relation]) -> None:
        self._context = context
        self._catalog = context.transaction.catalog
        self.relations = relations
        self.dependents: list[Dependent] = []
        self.foreign_keys: list[tuple[int, ForeignKey]] = []
        self.routines: dict[str, Routine] = {}
        self.defaults: list[tuple[int, str]] = []
        self.policies: list[PolicyUse] = []

    def _list_references(self, table: Table) -> Iterator[tuple[Table, ForeignKey]]:
        """Yields the foreign keys that reference a table, or one that stays and of which it is a partition."""
        for each in (table, *list_ancestors(self._catalog, table)):
            if each is table or each.oid not in self.relations:
                yield from referencing_keys(self._catalog, each.oid)

    def visit(self, relation: Relation) -> None:
        """Adds the dependents of a relation that is dropped."""
        on = describe_relation(self._context, relation)
        if isinstance(relation, Sequence):
            for table, column in _columns_drawing(self._catalog, relation, self.relations.keys()):
                user = describe_relation(self._context, table)
                self.dependents.append(Dependent(f"default value for column {column} of {user}", on))
                self.defaults.append((table.oid, column))
            return
        if isinstance(relation, Table):
            # Partitions go with their table without being named
            for partition in list_partitions(self._catalog, relation):
                if partition.oid not in self.relations:
                    self.relations[partition.oid] = partition
                    self.visit(partition)
            for owned in (each for each in self._catalog.sequences() if _is_owned(each, relation)):
                if owned.oid not in self.relations:
                    self.relations[owned.oid] = owned
                    self.visit(owned)
            for owner, foreign in sorted(self._list_references(relation), key=lambda each: each[1].oid):
                if owner.oid not in self.relations and (owner.oid, foreign) not in self.foreign_keys:
                    user = describe_relation(self._context, owner)
                    self.dependents.append(Dependent(f"constraint {foreign.name} on {user}", on))
                    self.foreign_keys.append((owner.oid, foreign))
        for routine in _routines_using(self._catalog, relation):
            if routine.key not in self.routines:
                user_on = f"type {qualified_name(self._context, relation)}" if _uses_rows(routine, relation) else on
                self.dependents.append(Dependent(f"{routine.noun} {routine.identity}", user_on))
                self.routines[routine.key] = routine
        for use in policies_over(self._catalog, relation):
            if use.table.oid not in self.relations and use not in self.policies:
                self.policies.append(use)
                self.dependents.append(use.describe(self._context, on))
        for view in views_over(self._catalog, relation):
            if view.oid not in self.relations:
                self.relations[view.oid] = view
                self.dependents.append(Dependent(describe_relation(self._context, view), on))
                self.visit(view)


def _is_owned(sequence: Sequence, table: Table) -> bool:
    return sequence.owned_by is not None and sequence.owned_by[0] == table.oid


def _routines_using(catalog: Catalog, relation: Relation) -> list[Routine]:
    """The routines that take or return a relation's rows, or whose standard body names it."""
    found = []
    for each in catalog.routines.values():
        names: set[tuple[str, str]] = set()
        for statement in parse(each.body) if each.standard else ():
            names |= relation_names(statement.node)
        if _uses_rows(each, relation) or (relation.schema, relation.name) in names:
            found.append(refresh_row_types(catalog, each))
    return found


def _uses_rows(routine: Routine, relation: Relation) -> bool:
    rows = get_row_type(relation).user
    assert rows is not None
    return routine.rows_of == relation.oid or any(contains_type(each.type, rows) for each in routine.arguments)


def _columns_drawing(catalog: Catalog, sequence: Sequence, removed: Container[int]) -> Iterator[tuple[Table, str]]:
    """The columns of remaining tables whose defaults draw from a sequence."""
    reference = f"'{sequence.oid}'::regclass"
    for table in catalog.tables():
        for column in table.columns:
            if table.oid not in removed and column.default is not None and reference in column.default:
                yield table, column.name
