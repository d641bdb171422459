"""Rows of PostgreSQL's system relations for a catalog's own objects."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from gpudb.catalog.model import Catalog, Table, stored_query
from gpudb.catalog.postgres import oids
from gpudb.catalog.postgres.constraint_rows import indexes
from gpudb.catalog.postgres.dependencies import referenced
from gpudb.catalog.postgres.routine_rows import add_routine
from gpudb.catalog.postgres.row_builder import Rows
from gpudb.catalog.postgres.sequence_rows import add_uses
from gpudb.catalog.postgres.table_rows import add_relation
from gpudb.catalog.postgres.type_rows import add_type
from gpudb.catalog.row_types import as_of_now

_PUBLIC_ACL = ["pg_database_owner=UC/pg_database_owner", "=U/pg_database_owner"]


def rows(catalog: Catalog) -> Mapping[str, pa.Table]:
    """Returns the rows of a catalog's objects, by relation; relations without rows are absent."""
    made = Rows()
    owners = {role.name: role.oid for role in catalog.roles.values()}
    owners.setdefault("pg_database_owner", oids.DATABASE_OWNER)
    namespaces = _namespaces(made, catalog, owners)
    _roles(made, catalog)
    _database(made, catalog)
    # In PostgreSQL a foreign key has triggers on both tables.
    triggered = {oid for table in catalog.tables() for key in table.foreign_keys for oid in (table.oid, key.table)}
    for relation in catalog.relations.values():
        owner = owners.get(relation.owner, oids.BOOTSTRAP_ROLE)
        triggers = relation.oid in triggered
        add_relation(made, catalog, relation, namespaces[relation.schema], owner, triggers=triggers)
        if owner != oids.BOOTSTRAP_ROLE:
            _owned(made, oids.PG_CLASS, relation.oid, owner)
        if stored_query(relation) is not None:
            for oid in referenced(relation, catalog):
                made.depend(oids.PG_REWRITE, oids.rule(relation.oid), 0, oids.PG_CLASS, oid, 0, "n")
    for each in catalog.types.values():
        owner = owners.get(each.owner, oids.BOOTSTRAP_ROLE)
        add_type(made, each, namespaces[each.schema], owner)
        if owner != oids.BOOTSTRAP_ROLE:
            _owned(made, oids.PG_TYPE, each.oid, owner)
    for routine in catalog.routines.values():
        owner = owners.get(routine.owner, oids.BOOTSTRAP_ROLE)
        returned = catalog.by_oid(routine.rows_of) if routine.rows_of else None
        name = returned.name if returned is not None else None
        add_routine(made, as_of_now(catalog, routine), namespaces[routine.schema], owner, name)
        if owner != oids.BOOTSTRAP_ROLE:
            _owned(made, oids.PG_PROC, routine.oid, owner)
    add_uses(made, catalog)
    return made.tables()


def sizes(catalog: Catalog) -> pa.Table | None:
    """Returns the bytes and rows of every table and index in this snapshot; None if there is no table."""
    made = Rows()
    for table in catalog.relations.values():
        if isinstance(table, Table):
            size = sum(file.bytes for file in table.files)
            made.add("relation_sizes", oid=table.oid, bytes=size, row_count=table.rows)
            for index in indexes(table):
                made.add("relation_sizes", oid=index.oid, bytes=0, row_count=table.rows)
    return made.tables().get("relation_sizes")


def _namespaces(made: Rows, catalog: Catalog, owners: Mapping[str, int]) -> Mapping[str, int]:
    found = {}
    for schema in catalog.schemas.values():
        owner = owners.get(schema.owner, oids.BOOTSTRAP_ROLE)
        acl = None
        if schema.oid == oids.PUBLIC_SCHEMA and owner == oids.BOOTSTRAP_ROLE:
            # As in PostgreSQL, public belongs to the database's owner.
            owner, acl = oids.DATABASE_OWNER, _PUBLIC_ACL
        made.add("pg_namespace", oid=schema.oid, nspname=schema.name, nspowner=owner, nspacl=acl)
        comment = schema.comment
        if comment is None and acl is not None:
            comment = "standard public schema"
        made.describe(oids.PG_NAMESPACE, schema.oid, 0, comment)
        if owner not in (oids.BOOTSTRAP_ROLE, oids.DATABASE_OWNER):
            _owned(made, oids.PG_NAMESPACE, schema.oid, owner)
        found[schema.name] = schema.oid
    for name in sorted({relation.schema for relation in catalog.relations.values()} - found.keys()):
        found[name] = oids.schema(name)
        made.add("pg_namespace", oid=found[name], nspname=name, nspowner=oids.BOOTSTRAP_ROLE)
    return found


def _owned(made: Rows, catalog: int, oid: int, owner: int) -> None:
    made.add(
        "pg_shdepend", dbid=oids.DATABASE, classid=catalog, objid=oid, objsubid=0, refclassid=oids.PG_AUTHID,
        refobjid=owner, deptype="o",
    )  # fmt: skip


def _roles(made: Rows, catalog: Catalog) -> None:
    for role in catalog.roles.values():
        bootstrap = role.oid == oids.BOOTSTRAP_ROLE
        made.add(
            "pg_authid", oid=role.oid, rolname=role.name, rolsuper=role.superuser, rolcreaterole=role.createrole,
            rolcreatedb=role.createdb, rolcanlogin=role.login, rolpassword=role.verifier, rolreplication=bootstrap,
            rolbypassrls=bootstrap,
        )  # fmt: skip
        if role.settings:
            listed = [f"{name}={value}" for name, value in role.settings.items()]
            made.add("pg_db_role_setting", setdatabase=0, setrole=role.oid, setconfig=listed)


def _database(made: Rows, catalog: Catalog) -> None:
    made.add(
        "pg_database", oid=oids.DATABASE, datname=catalog.database, datdba=oids.BOOTSTRAP_ROLE, encoding=6,
        datlocprovider="c", datistemplate=False, datallowconn=True, datconnlimit=-1, datfrozenxid=0, datminmxid=0,
        dattablespace=1663, datcollate="C", datctype="C.UTF-8",
    )  # fmt: skip
