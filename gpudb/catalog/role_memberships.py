"""The graph of role memberships: which roles a role is a member of, directly or through other roles."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gpudb.catalog.model import BOOTSTRAP_ROLE_OID, Catalog, Membership
from gpudb.catalog.predefined_roles import DATABASE_OWNER

Grants = Mapping[str, tuple[Membership, ...]]


def list_roles_of(catalog: Catalog, member: str, follows: Callable[[Membership], bool]) -> list[str]:
    """Returns `member` and the roles that it reaches over the grants that `follows` accepts, the nearest first."""
    grants = index_grants(catalog)
    owner = get_database_owner(catalog)
    found = {member: None}
    queue = [member]
    for name in queue:
        reached = [grant.role for grant in grants.get(name, ()) if follows(grant)]
        if name == owner:
            reached.append(DATABASE_OWNER)
        for role in reached:
            if role not in found:
                found[role] = None
                queue.append(role)
    return queue


def index_grants(catalog: Catalog) -> Grants:
    """Returns the grants of roles by member."""
    global _indexed
    memberships, grants = _indexed
    if memberships is not catalog.memberships:
        by_member: dict[str, tuple[Membership, ...]] = {}
        for grant in catalog.memberships.values():
            by_member[grant.member] = (*by_member.get(grant.member, ()), grant)
        _indexed = catalog.memberships, by_member
        grants = by_member
    return grants


# The index of the last catalog that was asked for, since statements ask for the same one many times.
_indexed: tuple[Mapping[str, Membership] | None, Grants] = (None, {})


def get_database_owner(catalog: Catalog) -> str | None:
    """Returns the name of the database's owner: the bootstrap superuser, unless it is missing."""
    return next((role.name for role in catalog.roles.values() if role.oid == BOOTSTRAP_ROLE_OID), None)
