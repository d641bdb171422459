"""Writes the rows of one commit into a catalog in PostgreSQL."""

from __future__ import annotations

import json
from typing import Any

import psycopg

from gpudb.storage.catalog.changes import CatalogChanges
from gpudb.storage.catalog.database_tables import DEFINED
from gpudb.storage.catalog.postgres_connection import Connection
from gpudb.storage.catalog.records import encode


def write_rows(connection: Connection, write: CatalogChanges, coordinator: int) -> None:
    """Writes the changes of a commit, its row in the log, and the files that it discards and takes back."""
    execute = connection.execute
    state = [("version", write.version), ("next_oid", write.next_oid)]
    if write.defined is not None:
        state.append((DEFINED, write.defined))
    for key, value in state:
        execute(
            "INSERT INTO gpudb_state AS known VALUES (%s, %s) ON CONFLICT (key) DO UPDATE"
            " SET value = greatest(known.value::bigint, excluded.value::bigint)::text",
            (key, str(value)),
        )
    execute("UPDATE gpudb_state SET value = %s WHERE key = 'commit'", (str(write.commit),))
    for (database, oid), relation in write.relations.items():
        if relation is None:
            execute("DELETE FROM gpudb_relations WHERE database = %s AND oid = %s", (database, oid))
        else:
            execute(
                "INSERT INTO gpudb_relations VALUES (%s, %s, %s)"
                " ON CONFLICT (database, oid) DO UPDATE SET definition = excluded.definition",
                (database, oid, encode(relation)),
            )
    for (database, kind, name), held in write.objects.items():
        _write_object(connection, database, kind, name, held)
    log = {
        "relations": list(write.relations),
        "objects": list(write.objects),
        "compactions": write.compactions,
    }
    execute(
        "INSERT INTO gpudb_commits (commit, coordinator, changes) VALUES (%s, %s, %s)",
        (write.commit, coordinator, json.dumps(log)),
    )
    if write.discarded:
        execute(
            "INSERT INTO gpudb_garbage (path, commit) SELECT path, %s FROM unnest(%s::text[]) AS new (path)"
            " ON CONFLICT (path) DO NOTHING",
            (write.commit, write.discarded),
        )
    if write.restored:
        execute("DELETE FROM gpudb_garbage WHERE path = ANY(%s)", (write.restored,))


def _write_object(connection: Connection, database: str, kind: str, name: str, held: object) -> None:
    execute = connection.execute
    if held is None:
        place = (database, kind, name)
        execute("DELETE FROM gpudb_objects WHERE database = %s AND kind = %s AND name = %s", place)
    else:
        execute(
            "INSERT INTO gpudb_objects VALUES (%s, %s, %s, %s)"
            " ON CONFLICT (database, kind, name) DO UPDATE SET definition = excluded.definition",
            (database, kind, name, encode(held)),
        )
    if kind == "schemas":
        execute("DELETE FROM iceberg_namespace_properties WHERE catalog_name = %s AND namespace = %s", (database, name))
        if held is not None:
            properties = (database, name, "exists", "true")
            execute("INSERT INTO iceberg_namespace_properties VALUES (%s, %s, %s, %s)", properties)


def write_pointers(connection: Connection, write: CatalogChanges) -> list[psycopg.Cursor[Any]]:
    """Writes the pointers of a commit; returns a cursor for each old one, which has one row if nobody changed it."""
    execute = connection.execute
    previous = {id(new): old.location for old, new in write.pointers if old is not None and new is not None}
    # All old rows are deleted first, since two tables of one transaction may swap their names.
    gone = [
        execute(
            "DELETE FROM iceberg_tables WHERE catalog_name = %s AND table_namespace = %s AND table_name = %s"
            " AND metadata_location = %s",
            (old.database, old.schema, old.name, old.location),
        )
        for old, _ in write.pointers
        if old is not None
    ]
    for _, new in write.pointers:
        if new is not None:
            execute(
                "INSERT INTO iceberg_tables VALUES (%s, %s, %s, %s, %s, 'TABLE')",
                (new.database, new.schema, new.name, new.location, previous.get(id(new))),
            )
    return gone
