"""Rebuilds a lost, damaged or outdated catalog from its last backup and from the tables' own metadata.

Each table's metadata holds its definition and the number of the commit that wrote it, so tables come back whole.
Other objects (schemas, views, sequences, types, routines, roles) are those of the newest catalog that can be read:
`catalog.db` itself, or its backup.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from gpudb.catalog.model import FIRST_DATABASE, Catalog, Schema, make_initial_catalog
from gpudb.catalog.models import CONTENT_SCHEMA
from gpudb.catalog.relations import Sequence
from gpudb.catalog.tables import DataFile, Table
from gpudb.errors import GpudbError
from gpudb.storage.catalog.changes import Catalogs, Pointer
from gpudb.storage.catalog.copying import write_catalog
from gpudb.storage.catalog.database import BACKUP, CatalogDatabase
from gpudb.storage.catalog.records import decode
from gpudb.storage.catalog.sequences import Sequences, SequenceState
from gpudb.storage.iceberg.locations import to_uri
from gpudb.storage.iceberg.metadata_reader import load
from gpudb.storage.recovery.metadata_versions import MetadataVersion, exists_whole, iter_versions
from gpudb.storage.recovery.opening import (
    lock_closed_directory,
    read_current_catalogs,
    require_catalog,
)

SUPERUSER = "gpudb"
_OID_MARGIN = 1024
"""OIDs left free above the largest one found, since dropped objects may have drawn more."""


@dataclass(slots=True)
class RepairReport:
    """What was rebuilt. `changes` are sentences about what differs from a catalog that was not lost."""

    rebuilt: bool = False
    tables: int = 0
    rows: int = 0
    saved: Path | None = None
    changes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _OldCatalog:
    """The newest catalog that can be read; `commit` is -1 if there is none."""

    catalogs: Catalogs
    pointers: Mapping[int, Pointer]
    commit: int
    path: Path | None


def repair(directory: Path) -> RepairReport:
    """Rebuilds the catalog of a data directory if it cannot be opened; otherwise changes nothing.

    The old `catalog.db` is kept under another name. Raises 58P01 for a directory that does not exist, 55006 for one
    that a server has open.
    """
    with lock_closed_directory(directory):
        return RepairReport() if _is_sound(directory) else _rebuild(directory)


def _is_sound(directory: Path) -> bool:
    try:
        require_catalog(directory)
        if not (directory / "catalog.db").exists():
            return True
        with closing(CatalogDatabase(directory / "catalog.db", read_only=True)) as database:
            read_current_catalogs(directory, database)
    except GpudbError:
        return False
    return True


def _rebuild(directory: Path) -> RepairReport:
    report = RepairReport(rebuilt=True)
    old = _read_old_catalog(directory)
    if old.path is None:
        report.changes.append("no catalog and no backup of one can be read: only tables are rebuilt")
    else:
        report.changes.append(f'objects that are not tables are those of "{old.path.name}", of commit {old.commit}')
    tables = directory / "tables"
    versions = {oid: found for oid in _list_oids(directory) if (found := _list_whole_versions(tables / str(oid)))}
    last = max([old.commit, *(each.commit for found in versions.values() for each in found)])
    last = _drop_incomplete_commit(versions, last, old.commit, report)
    relations = {name: dict(catalog.relations) for name, catalog in old.catalogs.items()}
    pointers = dict(old.pointers)
    for _, found in sorted(versions.items()):
        newest = max(found, key=lambda each: each.commit)
        if newest.commit > old.commit:
            _add_table(relations, pointers, newest, _find_database(old.catalogs, newest, report), report)
    catalogs = {
        name: _add_missing_owners(replace(catalog, relations=MappingProxyType(relations[name])), report)
        for name, catalog in old.catalogs.items()
    }
    oids = [_find_largest_oid(each) + _OID_MARGIN for found in relations.values() for each in found.values()]
    next_oid = max([*(catalog.next_oid for catalog in catalogs.values()), *oids])
    catalogs = {
        name: replace(catalog, version=catalog.version + len(catalogs), next_oid=next_oid)
        for name, catalog in catalogs.items()
    }
    states: dict[Sequence, SequenceState] = {}
    for catalog in catalogs.values():
        states |= _advance_sequences(directory, old, catalog, pointers, report)
    report.saved = _write(directory, catalogs, pointers, last, states)
    for table in (each for catalog in catalogs.values() for each in catalog.tables()):
        report.tables += 1
        report.rows += sum(file.rows for file in _load_files(directory, table, pointers))
    return report


def _find_database(catalogs: Catalogs, version: MetadataVersion, report: RepairReport) -> str:
    """Returns the name of the database to which a table belongs: the first one if its own is lost."""
    known = {each.oid: each.name for each in catalogs[FIRST_DATABASE].databases.values()}
    if version.database and version.database not in known:
        name = f'table "{version.table.schema}.{version.table.name}"'
        report.changes.append(f"{name} is in database {FIRST_DATABASE} now: its own is lost")
    return known.get(version.database, FIRST_DATABASE)


def _read_old_catalog(directory: Path) -> _OldCatalog:
    first = make_initial_catalog()
    best = _OldCatalog({name: replace(first, database=name) for name in first.databases}, {}, -1, None)
    for path in (directory / "catalog.db", directory / BACKUP):
        if not path.exists() or not path.stat().st_size:
            continue
        try:
            with closing(CatalogDatabase(path, create=False, read_only=True)) as database:
                catalogs, pointers = database.read()
                if (commit := database.last_commit()) > best.commit:
                    best = _OldCatalog(catalogs, pointers, commit, path)
        except (GpudbError, ValueError, KeyError, TypeError):
            continue
    return best


def _list_oids(directory: Path) -> list[int]:
    return [int(path.name) for path in (directory / "tables").iterdir() if path.name.isdigit()]


def _list_whole_versions(folder: Path) -> list[MetadataVersion]:
    return [each for each in iter_versions(folder) if all(map(exists_whole, each.files))]


def _drop_incomplete_commit(
    versions: dict[int, list[MetadataVersion]], last: int, known: int, report: RepairReport
) -> int:
    """Removes the last commit's versions if a crash left only some of its tables; returns the last commit kept."""
    newest = [each for found in versions.values() for each in found if each.commit == last]
    if last <= known or not newest or len(newest) == newest[0].commit_tables:
        return last
    report.changes.append(f"commit {last} is incomplete and left out")
    for oid, found in list(versions.items()):
        versions[oid] = [each for each in found if each.commit != last]
        if not versions[oid]:
            del versions[oid]
    return last - 1


def _add_table(
    databases: dict[str, dict[tuple[str, str], Any]],
    pointers: dict[int, Pointer],
    version: MetadataVersion,
    database: str,
    report: RepairReport,
) -> None:
    table = version.table
    for known in databases.values():
        for key, relation in list(known.items()):
            if relation.oid == table.oid:
                del known[key]
    relations = databases[database]
    if (table.schema, table.name) in relations:
        name = f"{table.name}_{table.oid}"
        report.changes.append(f'table "{table.schema}.{table.name}" exists twice: one is named "{name}"')
        table = replace(table, name=name)
    relations[table.schema, table.name] = table
    pointers[table.oid] = Pointer(table.schema, table.name, to_uri(version.path), database)


def _add_missing_owners(catalog: Catalog, report: RepairReport) -> Catalog:
    schemas, relations = dict(catalog.schemas), dict(catalog.relations)
    oid = catalog.next_oid
    for key, relation in list(relations.items()):
        if relation.schema not in (*schemas, CONTENT_SCHEMA):
            schemas[relation.schema] = Schema(oid, relation.schema, SUPERUSER)
            oid += 1
            report.changes.append(f'schema "{relation.schema}" is created anew')
        if relation.owner not in catalog.roles:
            name = f'"{relation.schema}.{relation.name}"'
            report.changes.append(f'{name} belongs to {SUPERUSER} now: role "{relation.owner}" is lost')
            relations[key] = replace(relation, owner=SUPERUSER)
    return replace(catalog, next_oid=oid, schemas=MappingProxyType(schemas), relations=MappingProxyType(relations))


def _find_largest_oid(value: object) -> int:
    """Returns the largest OID in a relation's definition: its own, and those of its constraints and triggers."""
    oids = [getattr(value, "oid", 0), *(each.oid for each in getattr(value, "constraints", ()))]
    oids += [each.oid for each in getattr(value, "triggers", ())]
    return max(each for each in oids if isinstance(each, int))


def _advance_sequences(
    directory: Path, old: _OldCatalog, catalog: Catalog, pointers: Mapping[int, Pointer], report: RepairReport
) -> dict[Sequence, SequenceState]:
    """Returns the states of all sequences, past the values that the columns that own them hold."""
    known = Sequences(old.path) if old.path is not None else Sequences(None)
    try:
        states = {}
        for sequence in catalog.sequences():
            state = known.get(sequence)
            used = _find_used_value(directory, catalog, pointers, sequence)
            ahead = used is not None and (used > state.value if sequence.increment > 0 else used < state.value)
            states[sequence] = SequenceState(used, True) if ahead and used is not None else state
            if used is None:
                name = f"{sequence.schema}.{sequence.name}"
                report.changes.append(f'sequence "{name}" continues at {state.value}, which may repeat values')
    finally:
        known.close()
    return states


def _find_used_value(
    directory: Path, catalog: Catalog, pointers: Mapping[int, Pointer], sequence: Sequence
) -> int | None:
    """Returns the last value of the column that owns a sequence, by the files' statistics; None if there is none."""
    oid, name = sequence.owned_by or (0, "")
    table = catalog.find_relation_by_oid(oid)
    if not isinstance(table, Table):
        return None
    column = next((each for each in table.columns if each.name == name), None)
    if column is None:
        return None
    files = _load_files(directory, table, pointers)
    ends = [(file.maximums if sequence.increment > 0 else file.minimums).get(column.field_id) for file in files]
    values = [each for each in ends if isinstance(each, int)]
    return (max(values) if sequence.increment > 0 else min(values)) if values else None


def _write(
    directory: Path,
    catalogs: Catalogs,
    pointers: Mapping[int, Pointer],
    commit: int,
    states: Mapping[Sequence, SequenceState],
) -> Path | None:
    """Writes the catalog's database; returns where the old one is kept."""
    path = directory / "catalog.db"
    saved = None
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    for suffix in ("", "-wal", "-shm"):
        source = directory / f"catalog.db{suffix}"
        if source.exists():
            saved = saved or directory / f"catalog.db.{stamp}"
            source.rename(f"{saved}{suffix}")
    write_catalog(path, catalogs, pointers, commit, states)
    return saved


def _load_files(directory: Path, table: Table, pointers: Mapping[int, Pointer]) -> tuple[DataFile, ...]:
    """Returns the files of a table; none if its metadata is missing or cannot be read."""
    if table.oid not in pointers:
        return ()
    try:
        return load(directory / "tables" / str(table.oid), pointers[table.oid].file, table, decode)[1]
    except GpudbError:
        return ()
