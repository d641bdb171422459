"""References to roles in a merged catalog: none is left to a role that another transaction dropped or renamed."""

from __future__ import annotations

from collections.abc import Iterator

from gpudb.catalog.model import Catalog
from gpudb.catalog.secured_objects import get_owner, list_acls, list_secured_objects


def has_conflicting_grants(base: Catalog, own: Catalog, current: Catalog) -> bool:
    """Whether both transactions granted or revoked roles: together the grants may form a circle."""
    if own.memberships is base.memberships or current.memberships is base.memberships:
        return False
    return own.memberships != base.memberships and current.memberships != base.memberships


def find_lost_role(base: Catalog, merged: Catalog, more: frozenset[str] = frozenset()) -> str | None:
    """Returns a role of `base`, or one `more`, that `merged` lacks, although something in it still refers to it."""
    lost = (base.roles.keys() | more) - merged.roles.keys()
    return next((name for name in _iter_references(merged) if name in lost), None) if lost else None


def _iter_references(catalog: Catalog) -> Iterator[str]:
    for found in list_secured_objects(catalog):
        yield get_owner(catalog, found)
        for item in (item for acl in list_acls(found) for item in acl):
            yield from (item.grantee, item.grantor)
    for default in catalog.default_acls.values():
        yield default.role
        for item in default.acl:
            yield from (item.grantee, item.grantor)
    for grant in catalog.memberships.values():
        yield from (grant.role, grant.member, grant.grantor)
