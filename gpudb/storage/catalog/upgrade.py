"""Upgrade of a catalog file that an earlier gpudb wrote: format 1 knew one database."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

_TABLES = (
    "ALTER TABLE gpudb_relations RENAME TO gpudb_relations_1",
    """CREATE TABLE gpudb_relations (
        database TEXT, oid INTEGER, definition TEXT NOT NULL, PRIMARY KEY (database, oid))""",
    "INSERT INTO gpudb_relations SELECT 'gpudb', oid, definition FROM gpudb_relations_1",
    "DROP TABLE gpudb_relations_1",
    "ALTER TABLE gpudb_objects RENAME TO gpudb_objects_1",
    """CREATE TABLE gpudb_objects (
        database TEXT, kind TEXT, name TEXT, definition TEXT NOT NULL, PRIMARY KEY (database, kind, name))""",
    """INSERT INTO gpudb_objects
        SELECT CASE WHEN kind IN ('roles', 'memberships', 'databases', 'nodes') THEN '' ELSE 'gpudb' END,
               kind, name, definition
        FROM gpudb_objects_1""",
    "DROP TABLE gpudb_objects_1",
)
_FIND = "SELECT name, definition FROM gpudb_objects WHERE kind = ?"
_STORE = "INSERT OR REPLACE INTO gpudb_objects VALUES ('', ?, ?, ?)"


def upgrade(connection: sqlite3.Connection) -> None:
    """Upgrades a file of format 1 to format 2, at once or not at all."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        for statement in _TABLES:
            connection.execute(statement)
        _move_role_settings(connection)
        connection.execute("UPDATE gpudb_state SET value = '2' WHERE key = 'format'")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _move_role_settings(connection: sqlite3.Connection) -> None:
    """Moves the settings of roles in the database to the database."""
    found = dict(connection.execute(_FIND, ("databases",)))
    database: dict[str, Any] = json.loads(found.get("gpudb", '{"":"Database","name":"gpudb"}'))
    moved = {}
    for name, definition in connection.execute(_FIND, ("roles",)).fetchall():
        role = json.loads(definition)
        if settings := role.pop("database_settings", None):
            moved[str(role["oid"])] = settings
            connection.execute(_STORE, ("roles", name, json.dumps(role)))
    if moved or "gpudb" in found:
        connection.execute(_STORE, ("databases", "gpudb", json.dumps({**database, "role_settings": moved})))
