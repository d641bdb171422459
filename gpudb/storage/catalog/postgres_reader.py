"""Reads a catalog in PostgreSQL: all of it, or what has been committed after a number."""

from __future__ import annotations

import json
from collections.abc import Mapping

from gpudb.catalog.tables import Table
from gpudb.storage.catalog.changes import (
    Catalogs,
    CommittedChanges,
    LoggedCompaction,
    Pointer,
    assemble,
    get_home,
    is_temporary_object,
    is_temporary_schema,
    iter_objects,
)
from gpudb.storage.catalog.postgres_connection import Connection
from gpudb.storage.catalog.records import decode


def read_state(connection: Connection) -> dict[str, str]:
    """Returns the values of gpudb_state by their keys."""
    return dict(connection.execute("SELECT key, value FROM gpudb_state").fetchall())


def read_catalogs(connection: Connection) -> tuple[Catalogs, Mapping[int, Pointer]]:
    """Reads the catalogs without their tables' files, and the pointer of each table by OID."""
    fetch = connection.execute
    return assemble(
        read_state(connection),
        fetch("SELECT database, kind, name, definition FROM gpudb_objects").fetchall(),
        fetch("SELECT database, definition FROM gpudb_relations ORDER BY oid").fetchall(),
        fetch("SELECT catalog_name, table_namespace, table_name, metadata_location FROM iceberg_tables").fetchall(),
    )


def read_all(connection: Connection, catalogs: Catalogs) -> CommittedChanges:
    """Reads all that the database has, as changes of catalogs."""
    read, pointers = read_catalogs(connection)
    found = CommittedChanges(
        int(read_state(connection)["commit"]), next_oid=max(each.next_oid for each in read.values())
    )
    for catalog in catalogs.values():
        for kind, name, _ in iter_objects(catalog):
            if not is_temporary_object(kind, name):
                found.objects[get_home(catalog.database, kind), kind, name] = None
        for relation in catalog.relations.values():
            if not is_temporary_schema(relation.schema):
                found.relations[catalog.database, relation.oid] = None
    for catalog in read.values():
        found.objects.update(
            {(get_home(catalog.database, kind), kind, name): each for kind, name, each in iter_objects(catalog)}
        )
        found.relations.update({(catalog.database, each.oid): each for each in catalog.relations.values()})
    found.pointers = dict(pointers)
    return found


def read_changes(connection: Connection, after: int) -> CommittedChanges | None:
    """Reads what was committed after a commit number; None for nothing."""
    fetch = connection.execute
    state = read_state(connection)
    commit = int(state["commit"])
    if commit == after:
        return None
    rows = fetch("SELECT changes FROM gpudb_commits WHERE commit > %s ORDER BY commit", (after,)).fetchall()
    found = CommittedChanges(commit, is_complete=len(rows) == commit - after, next_oid=int(state["next_oid"]))
    if not found.is_complete:
        return found
    logs = [json.loads(text) for (text,) in rows]
    found.relations = {(database, oid): None for log in logs for database, oid in log["relations"]}
    found.objects = {(database, kind, name): None for log in logs for database, kind, name in log["objects"]}
    for log in logs:
        found.compactions += [LoggedCompaction(o, frozenset(i), frozenset(j)) for o, i, j in log["compactions"]]
    if found.objects:
        databases, kinds, names = (list(part) for part in zip(*found.objects, strict=True))
        for database, kind, name, definition in fetch(
            "SELECT database, kind, name, definition FROM gpudb_objects"
            " JOIN unnest(%s::text[], %s::text[], %s::text[]) AS new (database, kind, name)"
            " USING (database, kind, name)",
            (databases, kinds, names),
        ):
            found.objects[database, kind, name] = decode(definition)
    if found.relations:
        _read_relations(connection, found)
    return found


def _read_relations(connection: Connection, found: CommittedChanges) -> None:
    databases, oids = (list(part) for part in zip(*found.relations, strict=True))
    tables: dict[tuple[str, str, str], int] = {}
    for database, oid, definition in connection.execute(
        "SELECT database, oid, definition FROM gpudb_relations"
        " JOIN unnest(%s::text[], %s::bigint[]) AS new (database, oid) USING (database, oid)",
        (databases, oids),
    ):
        found.relations[database, oid] = relation = decode(definition)
        if isinstance(relation, Table):
            tables[database, relation.schema, relation.name] = oid
    if tables:
        databases, schemas, names = (list(part) for part in zip(*tables, strict=True))
        for database, schema, name, location in connection.execute(
            "SELECT catalog_name, table_namespace, table_name, metadata_location FROM iceberg_tables"
            " JOIN unnest(%s::text[], %s::text[], %s::text[]) AS new (catalog_name, table_namespace, table_name)"
            " USING (catalog_name, table_namespace, table_name)",
            (databases, schemas, names),
        ):
            found.pointers[tables[database, schema, name]] = Pointer(schema, name, location, database)
