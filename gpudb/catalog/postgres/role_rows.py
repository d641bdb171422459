"""Rows of roles: pg_authid, pg_auth_members, pg_db_role_setting, and the roles that each role reaches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpudb.catalog.initial_settings import iter_initial_settings
from gpudb.catalog.model import Catalog
from gpudb.catalog.postgres import oids
from gpudb.catalog.postgres.row_builder import SystemRows
from gpudb.catalog.role_memberships import index_grants, list_roles_of
from gpudb.catalog.roles import Membership


def add_roles(builder: SystemRows, catalog: Catalog) -> None:
    """Adds the rows of all roles and memberships."""
    for role in catalog.roles.values():
        builder.add(
            "pg_authid", oid=role.oid, rolname=role.name, rolsuper=role.superuser, rolcreaterole=role.createrole,
            rolcreatedb=role.createdb, rolcanlogin=role.login, rolpassword=role.verifier, rolinherit=role.inherit,
            rolreplication=role.replication, rolbypassrls=role.bypassrls,
            rolconnlimit=role.connection_limit, rolvaliduntil=role.valid_until,
        )  # fmt: skip
        if role.comment is not None:
            builder.add("pg_shdescription", objoid=role.oid, classoid=oids.PG_AUTHID, description=role.comment)
        reached = list_reached_roles(catalog, role.name)
        builder.add("role_reach", oid=role.oid, superuser=role.superuser, **reached)
    for number, oid, settings in iter_initial_settings(catalog):
        if settings:
            assignments = [f"{name}={value}" for name, value in settings.items()]
            builder.add("pg_db_role_setting", setdatabase=number, setrole=oid, setconfig=assignments)
    for grant in catalog.memberships.values():
        role_oid, member, grantor = (catalog.roles[name].oid for name in (grant.role, grant.member, grant.grantor))
        builder.add(
            "pg_auth_members", oid=grant.oid, roleid=role_oid, member=member, grantor=grantor,
            admin_option=grant.admin, inherit_option=grant.inherit, set_option=grant.set,
        )  # fmt: skip


def list_reached_roles(catalog: Catalog, role: str) -> Mapping[str, Sequence[int]]:
    """Returns the OIDs of the roles that a role reaches by grants, by what it may do with them.

    `usage`: it has their privileges. `member`: it is a member. `set`: it may SET ROLE to them. `admin`: it may grant
    them. The first three include the role itself.
    """
    members = list_roles_of(catalog, role, lambda grant: True)
    administered = {each.role for name in members for each in index_grants(catalog).get(name, ()) if each.admin}
    return {
        "usage": _oids(catalog, list_roles_of(catalog, role, _inherits)),
        "member": _oids(catalog, members),
        "set": _oids(catalog, list_roles_of(catalog, role, _sets)),
        "admin": _oids(catalog, sorted(administered - {role})),
    }


def _oids(catalog: Catalog, names: Sequence[str]) -> list[int]:
    return [catalog.roles[name].oid for name in names if name in catalog.roles]


def _inherits(grant: Membership) -> bool:
    return grant.inherit


def _sets(grant: Membership) -> bool:
    return grant.set
