"""What a role may do through its memberships in other roles, and as a superuser. Pure functions of the catalog.

As in PostgreSQL, a superuser counts as a member of every role, with every option. `inherited_roles` follows grants
alone: what a superuser may do is not a matter of inheritance.
"""

from __future__ import annotations

from gpudb.catalog.model import Catalog
from gpudb.catalog.role_memberships import index_grants, list_inherited_roles, list_roles_of
from gpudb.catalog.roles import Membership


def is_superuser(catalog: Catalog, role: str) -> bool:
    """Whether a role exists and is a superuser."""
    found = catalog.roles.get(role)
    return found is not None and found.superuser


def inherited_roles(catalog: Catalog, role: str) -> frozenset[str]:
    """Returns the roles whose privileges `role` has without SET ROLE, itself included: grants with INHERIT.

    The owner of the database inherits pg_database_owner. Repeated calls for a catalog cost a look-up.
    """
    return list_inherited_roles(catalog, role)


def has_privileges_of(catalog: Catalog, role: str, other: str) -> bool:
    """Whether `role` has the privileges of `other` without SET ROLE."""
    return role == other or is_superuser(catalog, role) or other in inherited_roles(catalog, role)


def is_member(catalog: Catalog, role: str, other: str) -> bool:
    """Whether `role` is a member of `other`, directly or not, whatever the options of the grants."""
    return role == other or is_superuser(catalog, role) or has_grant_of(catalog, role, other)


def has_grant_of(catalog: Catalog, role: str, other: str) -> bool:
    """Whether grants make `role` a member of `other`; a superuser has no grants of its own."""
    return other in list_roles_of(catalog, role, _any)


def can_set_role(catalog: Catalog, role: str, other: str) -> bool:
    """Whether `role` may SET ROLE to `other`: grants with SET."""
    return role == other or is_superuser(catalog, role) or other in list_roles_of(catalog, role, _sets)


def is_admin(catalog: Catalog, role: str, other: str) -> bool:
    """Whether `role` has ADMIN OPTION on `other`, by itself or as a member. No role has it on itself."""
    if is_superuser(catalog, role):
        return True
    return role != other and _find_admin(catalog, list_roles_of(catalog, role, _any), other) is not None


def find_best_admin(catalog: Catalog, role: str, other: str) -> str | None:
    """Returns the nearest role with ADMIN OPTION on `other` whose privileges `role` inherits; None without one."""
    if role == other:
        return None
    return _find_admin(catalog, list_roles_of(catalog, role, _inherits), other)


def _find_admin(catalog: Catalog, roles: list[str], other: str) -> str | None:
    grants = index_grants(catalog)
    for name in roles:
        if any(grant.role == other and grant.admin for grant in grants.get(name, ())):
            return name
    return None


def _any(_: Membership) -> bool:
    return True


def _inherits(grant: Membership) -> bool:
    return grant.inherit


def _sets(grant: Membership) -> bool:
    return grant.set
