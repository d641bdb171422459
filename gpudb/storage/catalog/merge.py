"""Three-way merge of catalogs: applies a transaction's changes to what others committed since it began.

Isolation is snapshot isolation: the first to commit wins, and only changes of the same thing conflict.
- appended files are added to the table's current files;
- statistics apply to whatever the table is now, and to nothing if it is gone;
- files that were replaced or removed must still exist as they were, or be inputs of a compaction that is undone, else
  40001; of a file of which both deleted rows, both lists apply, unless they share a row;
- a definition, role or schema that both changed: 40001; a name that both created: the error of a duplicate;
- grants of roles that both changed, and a reference to a role that is gone: 40001.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from gpudb.catalog.deleted_rows import DeletedRows
from gpudb.catalog.model import Catalog
from gpudb.catalog.model_functions import has_namesake
from gpudb.catalog.models import CONTENT_SCHEMA
from gpudb.catalog.relations import Relation
from gpudb.catalog.routines import Routine
from gpudb.catalog.tables import ColumnStatistics, DataFile, Table, list_added_rows
from gpudb.errors import DuplicateTable, SerializationFailure, SqlError
from gpudb.storage.catalog.changes import LoggedCompaction, is_temporary_object, is_temporary_schema, list_object_kinds
from gpudb.storage.catalog.role_references import find_lost_role, has_conflicting_grants

_CHANGING_KINDS = frozenset({"large_objects"})
"""Objects that change as rows do: no plan depends on them, nor on what is new of them."""


@dataclass(frozen=True, slots=True)
class Change:
    """One relation's part of a commit: `old` as committed before, `new` as committed now, None if absent.

    `added` are the files with rows that the transaction wrote or restored. `concurrent` are those with rows that others
    added since it began, with which its keys have not been compared.
    """

    oid: int
    old: Relation | None
    new: Relation | None
    added: tuple[DataFile, ...] = ()
    concurrent: tuple[DataFile, ...] = ()


@dataclass(frozen=True, slots=True)
class Compaction:
    """A compaction that open transactions may not have seen: `outputs` hold exactly the rows of `inputs`."""

    commit: int
    oid: int
    inputs: tuple[DataFile, ...]
    outputs: tuple[DataFile, ...]


@dataclass(frozen=True, slots=True)
class MergeResult:
    """The catalog to commit, and its differences from the committed one. `objects` are by (kind, name)."""

    catalog: Catalog
    changes: tuple[Change, ...]
    objects: Mapping[tuple[str, str], object]
    reverted: frozenset[str] = frozenset()
    defines: bool = True
    """Whether the transaction itself has given its catalog another version."""

    @property
    def changes_definitions(self) -> bool:
        """Whether more than tables' files changed, so that plans with other statistics are invalid."""
        if any(self.defines or kind not in _CHANGING_KINDS for kind, _ in self.objects):
            return True
        return any(
            not has_same_definition(c.old, c.new) or _statistics(c.old) != _statistics(c.new) for c in self.changes
        )

    def list_compactions(self, commit: int) -> list[Compaction]:
        """Returns what a transaction that compacts has merged, committed under a number."""
        found: list[Compaction] = []
        for change in self.changes:
            if isinstance(change.old, Table) and isinstance(change.new, Table):
                after = {file.id for file in change.new.files}
                inputs = tuple(file for file in change.old.files if file.id not in after)
                found.append(Compaction(commit, change.oid, inputs, change.added))
        return found


def find_compactions(
    logged: Iterable[LoggedCompaction], before: Mapping[int, Relation], after: Mapping[int, Table], commit: int
) -> list[Compaction]:
    """Returns other coordinators' compactions whose files are all known, from tables by OID before and after them.

    Without the others, a transaction that changes a merged file conflicts with them.
    """
    found: list[Compaction] = []
    for each in logged:
        old, new = before.get(each.oid), after.get(each.oid)
        if isinstance(old, Table) and old.is_readable and new is not None:
            inputs = tuple(file for file in old.files if file.id in each.inputs)
            outputs = tuple(file for file in new.files if file.id in each.outputs)
            if len(inputs) == len(each.inputs) and len(outputs) == len(each.outputs):
                found.append(Compaction(commit, each.oid, inputs, outputs))
    return found


def changes_shared(base: Catalog, own: Catalog) -> bool:
    """Returns whether a transaction has changed more than temporary objects."""
    for kind in list_object_kinds():
        before, after = getattr(base, kind), getattr(own, kind)
        if before is not after and any(
            before.get(name) != after.get(name) and not is_temporary_object(kind, name)
            for name in before.keys() | after.keys()
        ):
            return True
    if base.relations is not own.relations and any(
        base.relations.get(key) is not own.relations.get(key) and not is_temporary_schema(key[0])
        for key in base.relations.keys() | own.relations.keys()
    ):
        return True
    return bool(_scalar_changes(base, own))


def merge(
    base: Catalog,
    own: Catalog,
    current: Catalog,
    compacted: Iterable[Compaction] = (),
    lost_roles: frozenset[str] = frozenset(),
) -> MergeResult:
    """Merges `own`, which is derived from `base`, into `current`, the committed catalog; raises on a conflict.

    `lost_roles` are those that `base` had once and others dropped or renamed.
    """
    if has_conflicting_grants(base, own, current):
        raise _conflict_error("the memberships of roles")
    objects = {kind: dict(getattr(current, kind)) for kind in list_object_kinds()}
    changed = dict(_object_changes(base, own, current))
    for (kind, name), value in changed.items():
        if value is None:
            del objects[kind][name]
        else:
            objects[kind][name] = value
    for value in changed.values():
        if isinstance(value, Routine) and value.model and has_namesake(objects["routines"].values(), value):
            raise _conflict_error(f"model {value.model.name}")
    merger = _RelationMerge(current, tuple(compacted))
    relations, changes = merger.merge(base, own)
    for relation in (change.new for change in changes):
        if relation is not None and relation.schema not in (*objects["schemas"], CONTENT_SCHEMA):
            raise SqlError.of("invalid_schema_name", f'schema "{relation.schema}" does not exist')
    for kind, name in changed:
        gone = kind == "schemas" and changed[kind, name] is None
        if gone and any(schema == name for schema, _ in relations):
            detail = "A relation was created in it meanwhile."
            raise SqlError.of("dependent_objects_still_exist", f"cannot drop schema {name}", detail=detail)
    kinds = {kind for kind, _ in changed}
    made: dict[str, Any] = {kind: MappingProxyType(objects[kind]) for kind in kinds}
    catalog = replace(
        current,
        next_oid=max(current.next_oid, own.next_oid),
        relations=MappingProxyType(relations) if changes else current.relations,
        **{**made, **_scalar_changes(base, own)},
    )
    if (lost := find_lost_role(base, catalog, lost_roles)) is not None:
        raise _conflict_error(f"role {lost}")
    return MergeResult(catalog, tuple(changes), changed, frozenset(merger.reverted), own.version != base.version)


def _scalar_changes(base: Catalog, own: Catalog) -> dict[str, object]:
    excluded = {"version", "next_oid", "relations", "snapshots", "oids", *list_object_kinds()}
    names = [f.name for f in fields(Catalog) if f.name not in excluded]
    return {name: getattr(own, name) for name in names if getattr(own, name) != getattr(base, name)}


def _object_changes(base: Catalog, own: Catalog, current: Catalog) -> Iterable[tuple[tuple[str, str], object]]:
    for kind in list_object_kinds():
        before, after, now = (getattr(catalog, kind) for catalog in (base, own, current))
        if before is after:
            continue
        for name in before.keys() | after.keys():
            old, new = before.get(name), after.get(name)
            if old == new:
                continue
            if now.get(name) != old:
                if old is None:
                    raise _duplicate_error(kind, name)
                raise _conflict_error(f"{kind[:-1]} {name}")
            yield (kind, name), new


def _duplicate_error(kind: str, name: str) -> SqlError:
    conditions = {"schemas": "duplicate_schema", "databases": "duplicate_database"}
    condition = conditions.get(kind, "duplicate_object")
    return SqlError.of(condition, f'{kind[:-1]} "{name}" already exists')


def _conflict_error(what: str) -> SerializationFailure:
    return SerializationFailure(
        "could not serialize access due to concurrent update",
        detail=f"Another transaction changed {what} since this one began.",
        hint="The transaction might succeed if retried.",
    )


def strip_data(relation: Relation) -> Relation:
    """Returns a relation without its data: files, metadata and statistics."""
    if isinstance(relation, Table):
        return replace(relation, files=(), metadata_location=None, statistics=())
    return relation


def has_same_definition(one: Relation | None, other: Relation | None) -> bool:
    """Returns whether two relations differ in their files at most."""
    if one is other:
        return True
    return one is not None and other is not None and strip_data(one) == strip_data(other)


def _follow_comments(old: Table, new: Table, now: Table) -> tuple[Table, Table]:
    """Returns a table before and after a change of its rows alone, with the comments that others have made since."""
    if has_same_definition(old, now) or not has_same_definition(old, new):
        return old, new
    if _strip_comments(strip_data(old)) != _strip_comments(strip_data(now)):
        return old, new
    kept = "files", "metadata_location", "statistics"
    return (
        replace(now, **{name: getattr(old, name) for name in kept}),
        replace(now, **{name: getattr(new, name) for name in kept}),
    )


def _strip_comments(relation: Relation) -> Relation:
    if not isinstance(relation, Table):
        return relation
    return replace(
        relation,
        comment=None,
        primary_key_comment=None,
        columns=tuple(replace(each, comment=None) for each in relation.columns),
        constraints=tuple(replace(each, comment=None) for each in relation.constraints),
        triggers=tuple(replace(each, comment=None) for each in relation.triggers),
        policies=tuple(replace(each, comment=None) for each in relation.policies),
    )


def _statistics(relation: Relation | None) -> tuple[ColumnStatistics, ...]:
    return relation.statistics if isinstance(relation, Table) else ()


class _RelationMerge:
    """Merge of relations by OID; a rename is a change like any other."""

    def __init__(self, current: Catalog, compacted: tuple[Compaction, ...]) -> None:
        self._current = current
        self._compacted = compacted
        self.reverted: set[str] = set()

    def merge(self, base: Catalog, own: Catalog) -> tuple[dict[tuple[str, str], Relation], list[Change]]:
        if base.relations is own.relations:
            return dict(self._current.relations), []
        now = {relation.oid: relation for relation in self._current.relations.values()}
        before = {relation.oid: relation for relation in base.relations.values()}
        after = {relation.oid: relation for relation in own.relations.values()}
        changes = []
        for oid in sorted(before.keys() | after.keys()):
            old, new = before.get(oid), after.get(oid)
            if old is new or (old == new and _ids(old) == _ids(new)):
                continue
            change = self._merge_relation(oid, old, new, now.get(oid))
            if change is not None:
                changes.append(change)
        relations = dict(self._current.relations)
        for change in changes:
            if change.old is not None:
                del relations[change.old.schema, change.old.name]
        for change in changes:
            if change.new is not None:
                key = (change.new.schema, change.new.name)
                if key in relations:
                    raise DuplicateTable(f'relation "{change.new.name}" already exists')
                relations[key] = change.new
        return relations, changes

    def _merge_relation(
        self, oid: int, old: Relation | None, new: Relation | None, now: Relation | None
    ) -> Change | None:
        if old is None:
            assert new is not None
            return Change(oid, None, new, new.files if isinstance(new, Table) else ())
        if isinstance(old, Table) and isinstance(new, Table) and _differ_in_statistics_alone(old, new):
            return _set_statistics(new, now)
        if now is None:
            raise _conflict_error(f"{old.schema}.{old.name}")
        if new is None:
            # A drop removes the rows that others added meanwhile, as if it had run after them.
            if not has_same_definition(old, now):
                raise _conflict_error(f"{old.schema}.{old.name}")
            return Change(oid, now, None)
        if isinstance(old, Table) and isinstance(new, Table) and isinstance(now, Table):
            old, new = _follow_comments(old, new, now)
        if not has_same_definition(old, now):
            raise _conflict_error(f"{old.schema}.{old.name}")
        if not isinstance(old, Table) or not isinstance(new, Table) or not isinstance(now, Table):
            return Change(oid, now, new)
        files, added, joined = self._merge_files(old, new, now)
        if joined and _row_requirements(new) != _row_requirements(old):
            # Rows written meanwhile may violate new columns and constraints, or be in other buckets.
            raise _conflict_error(f"{old.schema}.{old.name}")
        statistics = new.statistics if new.statistics != old.statistics else now.statistics
        merged = replace(new, files=files, metadata_location=now.metadata_location, statistics=statistics)
        return Change(oid, now, merged, added, joined)

    def _merge_files(
        self, old: Table, new: Table, now: Table
    ) -> tuple[tuple[DataFile, ...], tuple[DataFile, ...], tuple[DataFile, ...]]:
        before, after = _ids(old), _ids(new)
        entered = tuple(file for file in new.files if file.id not in before)
        removed = before - after
        files = _undo(self._find_needed(now.files, removed), now.files)
        shrunk = {file.path: file for file in entered if not list_added_rows([file], old.files)}
        gone = {file.id for file in old.files if file.id in removed and file.path not in shrunk}
        if not gone <= {file.id for file in files} or not shrunk.keys() <= {file.path for file in files}:
            raise _conflict_error(f"{old.schema}.{old.name}")
        joined = list_added_rows(_undo(self._find_unseen(old.files), now.files), old.files)
        known = {file.path: file for file in old.files}
        kept: list[DataFile] = []
        for file in files:
            if file.path in shrunk:
                kept.append(_delete_rows_of_both(old, known[file.path], shrunk[file.path], file))
            elif file.id not in gone:
                kept.append(file)
        merged = (*(file for file in kept if file.rows), *(file for file in entered if file.path not in shrunk))
        paths = {file.path for file in merged}
        if len(paths) < len(merged):
            # One restored a file of which the other kept another state.
            raise _conflict_error(f"{old.schema}.{old.name}")
        self.reverted |= paths - {file.path for file in now.files}
        return merged, list_added_rows(entered, old.files), joined

    def _find_needed(self, files: tuple[DataFile, ...], needed: set[str]) -> list[Compaction]:
        """Returns the compactions that merged the files with the ids `needed`, in their order."""
        present = {file.id for file in files}
        missing, chosen = needed - present, []
        for compaction in self._compacted:
            if not missing.isdisjoint(file.id for file in compaction.inputs):
                chosen.append(compaction)
                # Its outputs may have been merged in turn.
                missing |= {file.id for file in compaction.outputs} - present
        return chosen

    def _find_unseen(self, before: tuple[DataFile, ...]) -> list[Compaction]:
        """Returns the compactions that merged files of an earlier state, in their order.

        Those before that state are not among them: what they merged may be gone from the disk.
        """
        known, chosen = {file.path for file in before}, []
        for compaction in self._compacted:
            if not known.isdisjoint(file.path for file in compaction.inputs):
                chosen.append(compaction)
                known |= {file.path for file in compaction.outputs}
        return chosen


def _undo(compactions: list[Compaction], files: tuple[DataFile, ...]) -> tuple[DataFile, ...]:
    """Returns files as they were without compactions, of which the latest is undone first."""
    for compaction in reversed(compactions):
        outputs = {file.id for file in compaction.outputs}
        if outputs <= {file.id for file in files}:
            files = compaction.inputs + tuple(file for file in files if file.id not in outputs)
    return files


def _delete_rows_of_both(table: Table, before: DataFile, own: DataFile, now: DataFile) -> DataFile:
    """Returns a file without the rows that a transaction and others have deleted from it since; 40001 for the same."""
    if now.id == before.id:
        return own
    assert own.deleted is not None
    if now.deleted is None or (before.deleted is not None and not before.deleted.is_within(now.deleted)):
        raise _conflict_error(f"{table.schema}.{table.name}")  # another one has restored rows
    known = () if before.deleted is None else before.deleted.rows
    mine = np.setdiff1d(own.deleted.rows, known, assume_unique=True)
    if np.isin(mine, now.deleted.rows, assume_unique=True).any():
        raise _conflict_error(f"{table.schema}.{table.name}")
    return now.with_deleted(DeletedRows.of(np.concatenate([mine, now.deleted.rows])))


def _differ_in_statistics_alone(one: Table, other: Table) -> bool:
    return has_same_definition(one, other) and _ids(one) == _ids(other)


def _set_statistics(analyzed: Table, now: Relation | None) -> Change | None:
    """Sets a table's statistics, as far as its columns still exist; None if it is gone."""
    if not isinstance(now, Table):
        return None
    fields = {column.field_id for column in now.columns}
    statistics = tuple(each for each in analyzed.statistics if each.field_id in fields)
    return Change(now.oid, now, replace(now, statistics=statistics))


def _row_requirements(table: Table) -> tuple[object, ...]:
    """Returns what a table requires of its rows."""
    return table.columns, table.keys, table.constraints, table.distribution, table.partition_bound


def _ids(relation: Relation | None) -> set[str]:
    return {file.id for file in relation.files} if isinstance(relation, Table) else set()
