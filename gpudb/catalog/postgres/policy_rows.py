"""Rows of pg_policy."""

from __future__ import annotations

from gpudb.catalog.model import Catalog
from gpudb.catalog.policies import PUBLIC
from gpudb.catalog.postgres import oids
from gpudb.catalog.postgres.deparse_operations import deparse_expression
from gpudb.catalog.postgres.dependencies import list_relations_in
from gpudb.catalog.postgres.row_builder import SystemRows
from gpudb.catalog.secured_objects import get_database
from gpudb.catalog.tables import Table


def add_policies(rows: SystemRows, catalog: Catalog, table: Table) -> None:
    """Adds the rows of a table's policies."""
    database = get_database(catalog).oid
    for each in table.policies:
        using, check = (
            None if text is None else rows.shorten(*(deparse_expression(text, short=short) for short in (False, True)))
            for text in (each.using, each.check)
        )
        rows.add(
            "pg_policy", oid=each.oid, polname=each.name, polrelid=table.oid, polcmd=each.command,
            polpermissive=each.permissive, polroles=list(each.roles), polqual=using, polwithcheck=check,
        )  # fmt: skip
        rows.describe(oids.PG_POLICY, each.oid, 0, each.comment)
        rows.depend(oids.PG_POLICY, each.oid, 0, oids.PG_CLASS, table.oid, 0, "a")
        for oid in dict.fromkeys(oid for text in each.texts for oid in list_relations_in(text, catalog)):
            rows.depend(oids.PG_POLICY, each.oid, 0, oids.PG_CLASS, oid, 0, "n")
        for role in each.roles:
            if role != PUBLIC:
                rows.add(
                    "pg_shdepend", dbid=database, classid=oids.PG_POLICY, objid=each.oid, objsubid=0,
                    refclassid=oids.PG_AUTHID, refobjid=role, deptype="r",
                )  # fmt: skip
