"""PostgreSQL's predefined roles (`pg_monitor`, `pg_read_all_data`, …) and the grants between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from types import MappingProxyType

from gpudb import pgdata
from gpudb.catalog.model import BOOTSTRAP_ROLE_OID, Catalog
from gpudb.catalog.roles import Membership, Role

DATABASE_OWNER = "pg_database_owner"
"""The role whose one member is the database's owner, without a grant."""


@cache
def load_predefined_roles() -> tuple[Role, ...]:
    """Returns the predefined roles with PostgreSQL's OIDs; none can log in."""
    return tuple(
        Role(int(str(row["oid"])), str(row["rolname"]), login=False)
        for row in pgdata.load_table("pg_authid").rows()
        if row["oid"] != str(BOOTSTRAP_ROLE_OID)
    )


def with_predefined_roles(catalog: Catalog) -> Catalog:
    """Returns a catalog with the predefined roles; those that it lacks are added, together with their grants."""
    added = {role.name: role for role in load_predefined_roles() if role.name not in catalog.roles}
    if not added:
        return catalog
    for role in catalog.roles.values():
        if role.oid == BOOTSTRAP_ROLE_OID:
            # A catalog without these roles is older than the two attributes, too.
            added[role.name] = replace(role, replication=True, bypassrls=True)
    names = {str(role.oid): role.name for role in (*catalog.roles.values(), *added.values())}
    grants = {grant.key: grant for grant in _list_grants(names) if grant.role in added and grant.member in added}
    return replace(
        catalog,
        roles=MappingProxyType({**catalog.roles, **added}),
        memberships=MappingProxyType({**catalog.memberships, **grants}),
    )


def _list_grants(names: dict[str, str]) -> Iterator[Membership]:
    """Yields the grants between predefined roles, whose names are by OID."""
    for row in pgdata.load_table("pg_auth_members").rows():
        role, member, grantor = (names[str(row[column])] for column in ("roleid", "member", "grantor"))
        options = (row[f"{option}_option"] == "t" for option in ("admin", "inherit", "set"))
        yield Membership(int(str(row["oid"])), role, member, grantor, *options)
