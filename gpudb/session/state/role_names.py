"""Names of roles that a session keeps: with the OID, since another session may rename or drop the role."""

from __future__ import annotations

from gpudb.catalog.model import Catalog
from gpudb.catalog.roles import Role


class RoleName(str):
    """A role's name when it was looked up, and its OID."""

    oid: int

    @classmethod
    def of(cls, role: Role) -> RoleName:
        """Returns the name of a role."""
        name = cls(role.name)
        name.oid = role.oid
        return name


def find_current_name(catalog: Catalog, known: str) -> str:
    """Returns the name that a role has in `catalog`; for a dropped role a text that names no role.

    A role of the same name that was created later is another role.
    """
    role = catalog.roles.get(known)
    oid = known.oid if isinstance(known, RoleName) else None
    if oid is None or (role is not None and role.oid == oid):
        return known
    return find_role_name(catalog, oid)


def find_role_name(catalog: Catalog, oid: int) -> str:
    """Returns the name of the role with an OID, or PostgreSQL's text for an unknown one."""
    return next((role.name for role in catalog.roles.values() if role.oid == oid), f"unknown (OID={oid})")
