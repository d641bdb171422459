"""Rows of pg_foreign_data_wrapper, pg_foreign_server, pg_user_mapping and pg_foreign_table."""

from __future__ import annotations

from collections.abc import Mapping

from gpudb.catalog.model import Catalog
from gpudb.catalog.postgres import oids
from gpudb.catalog.postgres.privilege_rows import show_acl
from gpudb.catalog.postgres.row_builder import SystemRows
from gpudb.catalog.wrappers import KNOWN

_HANDLERS = 9100
"""OIDs from here on are of functions of wrappers, which pg_proc does not list."""


def add_foreign_objects(rows: SystemRows, catalog: Catalog, owners: Mapping[str, int]) -> None:
    """Adds the rows of all foreign objects; `owners` are OIDs of roles by name."""
    functions = {
        name: _HANDLERS + 2 * number + place
        for number, each in enumerate(KNOWN.values())
        for place, name in enumerate((each.handler, each.validator))
    }
    used = {each for wrapper in catalog.wrappers.values() for each in (wrapper.handler, wrapper.validator)}
    for name, oid in functions.items():
        if name in used:
            rows.add(
                "procedure_names", oid=oid, proname=name, namespace=oids.PUBLIC_SCHEMA, nspname="public", name=name,
                arguments="text[], oid" if name.endswith("_validator") else "",
            )  # fmt: skip
    for wrapper in catalog.wrappers.values():
        owner = owners.get(wrapper.owner, oids.BOOTSTRAP_ROLE)
        rows.add(
            "pg_foreign_data_wrapper", oid=wrapper.oid, fdwname=wrapper.name, fdwowner=owner,
            fdwhandler=functions.get(wrapper.handler or "", 0), fdwvalidator=functions.get(wrapper.validator or "", 0),
            fdwacl=show_acl(wrapper.acl), fdwoptions=list(wrapper.options) or None,
        )  # fmt: skip
        rows.describe(oids.PG_FOREIGN_DATA_WRAPPER, wrapper.oid, 0, wrapper.comment)
        if wrapper.name in catalog.extensions:
            extension = catalog.extensions[wrapper.name].oid
            rows.depend(oids.PG_FOREIGN_DATA_WRAPPER, wrapper.oid, 0, oids.PG_EXTENSION, extension, 0, "e")
    for server in catalog.servers.values():
        owner = owners.get(server.owner, oids.BOOTSTRAP_ROLE)
        rows.add(
            "pg_foreign_server", oid=server.oid, srvname=server.name, srvowner=owner, srvfdw=server.wrapper,
            srvtype=server.type, srvversion=server.version, srvacl=show_acl(server.acl),
            srvoptions=list(server.options) or None,
        )  # fmt: skip
        rows.describe(oids.PG_FOREIGN_SERVER, server.oid, 0, server.comment)
        rows.depend(oids.PG_FOREIGN_SERVER, server.oid, 0, oids.PG_FOREIGN_DATA_WRAPPER, server.wrapper, 0, "n")
    for mapping in catalog.user_mappings.values():
        rows.add(
            "pg_user_mapping", oid=mapping.oid, umuser=mapping.role, umserver=mapping.server,
            umoptions=list(mapping.options) or None,
        )  # fmt: skip
        rows.depend(oids.PG_USER_MAPPING, mapping.oid, 0, oids.PG_FOREIGN_SERVER, mapping.server, 0, "n")
    for table in catalog.tables():
        if (source := table.foreign) is not None:
            options = list(source.options) or None
            rows.add("pg_foreign_table", ftrelid=table.oid, ftserver=source.server, ftoptions=options)
            rows.depend(oids.PG_CLASS, table.oid, 0, oids.PG_FOREIGN_SERVER, source.server, 0, "n")
