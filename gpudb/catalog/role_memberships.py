"""The graph of role memberships: which roles a role is a member of, directly or through other roles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from gpudb.catalog.model import BOOTSTRAP_ROLE_OID, Catalog, Database
from gpudb.catalog.predefined_roles import DATABASE_OWNER
from gpudb.catalog.roles import Membership, Role

Grants = Mapping[str, tuple[Membership, ...]]


@dataclass(slots=True)
class _Graph:
    """The grants of one catalog by member, the database's owner, and the inherited roles that were asked for."""

    roles: Mapping[str, Role]
    memberships: Mapping[str, Membership]
    database: Database | None
    by_member: Grants
    owner: str | None
    inherited: dict[str, frozenset[str]] = field(default_factory=dict)


def list_roles_of(catalog: Catalog, member: str, follows: Callable[[Membership], bool]) -> list[str]:
    """Returns `member` and the roles that it reaches over the grants that `follows` accepts, the nearest first."""
    graph = _get_graph(catalog)
    seen = {member}
    queue = [member]
    for name in queue:
        reached = [grant.role for grant in graph.by_member.get(name, ()) if follows(grant)]
        if name == graph.owner:
            reached.append(DATABASE_OWNER)
        for role in reached:
            if role not in seen:
                seen.add(role)
                queue.append(role)
    return queue


def list_inherited_roles(catalog: Catalog, member: str) -> frozenset[str]:
    """Returns `member` and the roles that it reaches over grants with INHERIT; repeated calls look the answer up."""
    inherited = _get_graph(catalog).inherited
    found = inherited.get(member)
    if found is None:
        found = inherited[member] = frozenset(list_roles_of(catalog, member, lambda grant: grant.inherit))
    return found


def index_grants(catalog: Catalog) -> Grants:
    """Returns the grants of roles by member."""
    return _get_graph(catalog).by_member


def get_database_owner(catalog: Catalog, database: Database | None) -> str | None:
    """Returns the name of a database's owner: the bootstrap superuser where it names no role, unless it is missing."""
    if database is not None and database.owner in catalog.roles:
        return database.owner
    return next((role.name for role in catalog.roles.values() if role.oid == BOOTSTRAP_ROLE_OID), None)


def _get_graph(catalog: Catalog) -> _Graph:
    global _latest
    graph = _latest
    if (
        graph is None
        or graph.memberships is not catalog.memberships
        or graph.roles is not catalog.roles
        or graph.database is not catalog.databases.get(catalog.database)
    ):
        _latest = graph = _build(catalog)
    return graph


def _build(catalog: Catalog) -> _Graph:
    by_member: dict[str, list[Membership]] = {}
    for grant in catalog.memberships.values():
        by_member.setdefault(grant.member, []).append(grant)
    database = catalog.databases.get(catalog.database)
    grants_of = {name: tuple(grants) for name, grants in by_member.items()}
    owner = get_database_owner(catalog, database)
    return _Graph(catalog.roles, catalog.memberships, database, grants_of, owner)


# Of the last catalog that was asked for: statements ask for the same one many times.
_latest: _Graph | None = None
