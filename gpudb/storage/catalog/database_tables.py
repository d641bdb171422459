"""The tables of a catalog's database, in SQLite and in PostgreSQL.

`iceberg_tables` and `iceberg_namespace_properties` are those of pyiceberg's SqlCatalog, so that any Iceberg reader may
open the database: each database of gpudb is a catalog of its name.
"""

from __future__ import annotations

DEFINED = "defined"
"""Key in gpudb_state: the time of the last commit that changed more than rows, in microseconds since 1970 UTC."""
CATALOG_TABLES = """
CREATE TABLE IF NOT EXISTS iceberg_tables (
    catalog_name varchar(255) NOT NULL, table_namespace varchar(255) NOT NULL,
    table_name varchar(255) NOT NULL, metadata_location varchar(1000),
    previous_metadata_location varchar(1000), iceberg_type varchar(5),
    PRIMARY KEY (catalog_name, table_namespace, table_name));
CREATE TABLE IF NOT EXISTS iceberg_namespace_properties (
    catalog_name varchar(255) NOT NULL, namespace varchar(255) NOT NULL,
    property_key varchar(255) NOT NULL, property_value varchar(1000) NOT NULL,
    PRIMARY KEY (catalog_name, namespace, property_key));
CREATE TABLE IF NOT EXISTS gpudb_relations (
    database text, oid bigint, definition text NOT NULL, PRIMARY KEY (database, oid));
CREATE TABLE IF NOT EXISTS gpudb_objects (
    database text, kind text, name text, definition text NOT NULL, PRIMARY KEY (database, kind, name));
CREATE TABLE IF NOT EXISTS gpudb_state (key text PRIMARY KEY, value text NOT NULL);
"""
