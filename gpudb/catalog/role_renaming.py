"""A role under another name: every reference to a role is by its name, so that all of them change with it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gpudb.catalog.model import Catalog, Database
from gpudb.catalog.roles import Role
from gpudb.catalog.secured_objects import list_secured_objects, map_acls, replace_owner
from gpudb.values.acl import rename_role as rename_role_in_acl


def rename_role(catalog: Catalog, role: Role, new: str) -> Catalog:
    """Returns the catalog in which a role, and every reference to it, has another name."""
    catalog = rename_references(catalog.drop(role).put(replace(role, name=new)), role.name, new)
    for database in catalog.databases.values():
        owner = new if database.owner == role.name else database.owner
        acl = None if database.acl is None else rename_role_in_acl(database.acl, role.name, new)
        catalog = catalog.put(replace(database, owner=owner, acl=acl))
    for grant in catalog.memberships.values():
        if role.name in (grant.role, grant.member, grant.grantor):
            names: dict[str, Any] = {
                field: new if getattr(grant, field) == role.name else getattr(grant, field)
                for field in ("role", "member", "grantor")
            }
            catalog = catalog.drop(grant).put(replace(grant, **names))
    return catalog


def rename_references(catalog: Catalog, old: str, new: str) -> Catalog:
    """Returns the catalog in which its objects, which are not shared with other databases, name a role otherwise."""
    for found in list(list_secured_objects(catalog)):
        if not isinstance(found, Database) and found.owner == old:
            catalog = replace_owner(catalog, found, new)
    catalog = map_acls(catalog, lambda acl: rename_role_in_acl(acl, old, new))
    for default in list(catalog.default_acls.values()):
        renamed = replace(
            default, role=new if default.role == old else default.role, acl=rename_role_in_acl(default.acl, old, new)
        )
        catalog = catalog.drop(default).put(renamed)
    return catalog
