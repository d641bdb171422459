"""Rows of PostgreSQL's system relations for a catalog's own objects."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from gpudb.catalog.extensions import AVAILABLE, list_extensions
from gpudb.catalog.languages import list_languages
from gpudb.catalog.model import Catalog
from gpudb.catalog.models import CONTENT_SCHEMA
from gpudb.catalog.postgres import oids
from gpudb.catalog.postgres.dependencies import list_referenced_relations
from gpudb.catalog.postgres.foreign_rows import add_foreign_objects
from gpudb.catalog.postgres.indexes import list_indexes
from gpudb.catalog.postgres.language_rows import add_languages
from gpudb.catalog.postgres.privilege_rows import add_privileges, show_acl
from gpudb.catalog.postgres.role_rows import add_roles
from gpudb.catalog.postgres.routine_rows import add_routine
from gpudb.catalog.postgres.row_builder import SystemRows
from gpudb.catalog.postgres.sequence_rows import add_sequence_dependencies
from gpudb.catalog.postgres.table_rows import add_relation
from gpudb.catalog.postgres.type_rows import add_type
from gpudb.catalog.relations import get_stored_query
from gpudb.catalog.row_types import refresh_row_types
from gpudb.catalog.secured_objects import get_database, get_owner, get_stored_acl
from gpudb.catalog.tables import Table
from gpudb.values.acl import format_acl


def build_rows(catalog: Catalog) -> Mapping[str, pa.Table]:
    """Returns the rows of a catalog's objects, by relation; relations without rows are absent."""
    builder = SystemRows()
    owners = {role.name: role.oid for role in catalog.roles.values()}
    owners.setdefault("pg_database_owner", oids.DATABASE_OWNER)
    namespaces = _add_namespaces(builder, catalog, owners)
    add_roles(builder, catalog)
    _add_databases(builder, catalog, owners)
    # In PostgreSQL a foreign key has triggers on both tables.
    tables_with_triggers = {
        oid for table in catalog.tables() for key in table.foreign_keys for oid in (table.oid, key.table)
    }
    for relation in catalog.relations.values():
        owner = owners.get(relation.owner, oids.BOOTSTRAP_ROLE)
        triggers = relation.oid in tables_with_triggers or bool(getattr(relation, "triggers", ()))
        add_relation(builder, catalog, relation, namespaces[relation.schema], owner, triggers=triggers)
        if owner != oids.BOOTSTRAP_ROLE:
            _add_owner(builder, catalog, oids.PG_CLASS, relation.oid, owner)
        if get_stored_query(relation) is not None:
            for oid in list_referenced_relations(relation, catalog):
                builder.depend(oids.PG_REWRITE, oids.rule(relation.oid), 0, oids.PG_CLASS, oid, 0, "n")
    for definition in catalog.types.values():
        owner = owners.get(definition.owner, oids.BOOTSTRAP_ROLE)
        add_type(builder, definition, namespaces[definition.schema], owner)
        if owner != oids.BOOTSTRAP_ROLE:
            _add_owner(builder, catalog, oids.PG_TYPE, definition.oid, owner)
    languages = list_languages(catalog.languages)
    for routine in catalog.routines.values():
        owner = owners.get(routine.owner, oids.BOOTSTRAP_ROLE)
        row_relation = catalog.find_relation_by_oid(routine.rows_of) if routine.rows_of else None
        name = row_relation.name if row_relation is not None else None
        language = languages.get(routine.language)
        language_oid = language.oid if language is not None else 0
        add_routine(builder, refresh_row_types(catalog, routine), namespaces[routine.schema], owner, language_oid, name)
        if owner != oids.BOOTSTRAP_ROLE:
            _add_owner(builder, catalog, oids.PG_PROC, routine.oid, owner)
    for found in catalog.large_objects.values():
        builder.describe(oids.PG_LARGEOBJECT, found.oid, 0, found.comment)
    add_foreign_objects(builder, catalog, owners)
    add_languages(builder, catalog, owners)
    add_sequence_dependencies(builder, catalog)
    add_privileges(builder, catalog)
    _add_default_acls(builder, catalog, namespaces, owners)
    _add_extensions(builder, catalog)
    return builder.tables()


def build_sizes(catalog: Catalog) -> pa.Table | None:
    """Returns the bytes and rows of every table and index in this snapshot; None if there is no table."""
    builder = SystemRows()
    for table in catalog.relations.values():
        if isinstance(table, Table) and table.is_readable:
            size = sum(file.bytes for file in table.files)
            builder.add("relation_sizes", oid=table.oid, bytes=size, row_count=table.rows)
            for index in list_indexes(table):
                builder.add("relation_sizes", oid=index.oid, bytes=0, row_count=table.rows)
    return builder.tables().get("relation_sizes")


def build_large_objects(catalog: Catalog) -> pa.Table | None:
    """Returns the rows of pg_largeobject_metadata, which change without the catalog's version; None without any."""
    builder = SystemRows()
    owners = {role.name: role.oid for role in catalog.roles.values()}
    for each in catalog.large_objects.values():
        builder.add(
            "pg_largeobject_metadata",
            oid=each.oid,
            lomowner=owners.get(each.owner, oids.BOOTSTRAP_ROLE),
            lomacl=show_acl(each.acl),
        )
    return builder.tables().get("pg_largeobject_metadata")


def _add_namespaces(builder: SystemRows, catalog: Catalog, owners: Mapping[str, int]) -> Mapping[str, int]:
    namespace_oids = {}
    for schema in catalog.schemas.values():
        owner = owners.get(get_owner(catalog, schema), oids.BOOTSTRAP_ROLE)
        acl = show_acl(get_stored_acl(catalog, schema))
        builder.add("pg_namespace", oid=schema.oid, nspname=schema.name, nspowner=owner, nspacl=acl)
        comment = schema.comment
        if comment is None and schema.oid == oids.PUBLIC_SCHEMA:
            comment = "standard public schema"
        builder.describe(oids.PG_NAMESPACE, schema.oid, 0, comment)
        if owner not in (oids.BOOTSTRAP_ROLE, oids.DATABASE_OWNER):
            _add_owner(builder, catalog, oids.PG_NAMESPACE, schema.oid, owner)
        namespace_oids[schema.name] = schema.oid
    namespace_oids[CONTENT_SCHEMA] = oids.PG_TOAST
    for name in sorted({relation.schema for relation in catalog.relations.values()} - namespace_oids.keys()):
        namespace_oids[name] = oids.schema(name)
        builder.add("pg_namespace", oid=namespace_oids[name], nspname=name, nspowner=oids.BOOTSTRAP_ROLE)
    return namespace_oids


def _add_owner(builder: SystemRows, catalog: Catalog, classid: int, oid: int, owner: int) -> None:
    builder.add(
        "pg_shdepend", dbid=get_database(catalog).oid, classid=classid, objid=oid, objsubid=0,
        refclassid=oids.PG_AUTHID, refobjid=owner, deptype="o",
    )  # fmt: skip


def _add_default_acls(
    builder: SystemRows, catalog: Catalog, namespaces: Mapping[str, int], owners: Mapping[str, int]
) -> None:
    for each in catalog.default_acls.values():
        builder.add(
            "pg_default_acl", oid=each.oid, defaclrole=owners.get(each.role, oids.BOOTSTRAP_ROLE),
            defaclnamespace=namespaces.get(each.schema, 0), defaclobjtype=each.kind, defaclacl=format_acl(each.acl),
        )  # fmt: skip


def _add_extensions(builder: SystemRows, catalog: Catalog) -> None:
    for each in list_extensions(catalog.extensions).values():
        available = AVAILABLE.get(each.name)
        builder.add(
            "pg_extension", oid=each.oid, extname=each.name, extowner=oids.BOOTSTRAP_ROLE, extnamespace=each.schema,
            extrelocatable=available is not None and available.relocatable, extversion=each.version,
        )  # fmt: skip
        builder.describe(oids.PG_EXTENSION, each.oid, 0, each.comment)
        if each.schema != oids.CATALOG_SCHEMA:  # what depends on initdb's objects is not listed
            builder.depend(oids.PG_EXTENSION, each.oid, 0, oids.PG_NAMESPACE, each.schema, 0, "n")


def _add_databases(builder: SystemRows, catalog: Catalog, owners: Mapping[str, int]) -> None:
    for each in catalog.databases.values():
        builder.add(
            "pg_database", oid=each.oid, datname=each.name, datdba=owners[get_owner(catalog, each)], encoding=6,
            datlocprovider="c", datistemplate=each.is_template, datallowconn=each.allows_connections,
            datconnlimit=each.connection_limit, datfrozenxid=0, datminmxid=0, dattablespace=1663, datcollate="C",
            datctype="C.UTF-8", datacl=show_acl(each.acl),
        )  # fmt: skip
        if each.comment is not None:
            builder.add("pg_shdescription", objoid=each.oid, classoid=oids.PG_DATABASE, description=each.comment)
