"""References to roles in a merged catalog: none is left to a role that another transaction dropped or renamed."""

from __future__ import annotations

from collections.abc import Iterator

from gpudb.catalog.model import Catalog


def has_conflicting_grants(base: Catalog, own: Catalog, current: Catalog) -> bool:
    """Whether both transactions granted or revoked roles: together the grants may form a circle."""
    if own.memberships is base.memberships or current.memberships is base.memberships:
        return False
    return own.memberships != base.memberships and current.memberships != base.memberships


def find_lost_role(base: Catalog, merged: Catalog) -> str | None:
    """Returns a role of `base` that `merged` lacks, although something in it still refers to the role."""
    lost = base.roles.keys() - merged.roles.keys()
    return next((name for name in _iter_references(merged) if name in lost), None) if lost else None


def _iter_references(catalog: Catalog) -> Iterator[str]:
    for objects in (catalog.relations, catalog.schemas, catalog.types, catalog.routines):
        for each in objects.values():
            yield each.owner
    for grant in catalog.memberships.values():
        yield from (grant.role, grant.member, grant.grantor)
