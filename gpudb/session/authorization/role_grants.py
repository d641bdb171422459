"""GRANT and REVOKE of roles as changes of the catalog, by PostgreSQL's rules for grantors and dependent grants.

Each grant has a grantor, who has ADMIN OPTION on the role by other grants, down to the bootstrap superuser, who needs
none. So grants form no circle, and revoking one with CASCADE revokes those that depend on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Any

from gpudb.catalog.model import BOOTSTRAP_ROLE_OID, Catalog
from gpudb.catalog.predefined_roles import DATABASE_OWNER
from gpudb.catalog.roles import Membership, Role
from gpudb.catalog.user_types import quote_names
from gpudb.errors import GpudbError, SqlError
from gpudb.session.authorization.membership import (
    find_best_admin,
    has_grant_of,
    has_privileges_of,
    is_superuser,
)
from gpudb.session.authorization.role_checks import check_may_grant, denied


@dataclass(frozen=True, slots=True)
class GrantOptions:
    """The options of a grant, None for those that the statement does not name."""

    admin: bool | None = None
    inherit: bool | None = None
    set: bool | None = None

    @property
    def named(self) -> dict[str, Any]:
        """The options that the statement names."""
        options = {"admin": self.admin, "inherit": self.inherit, "set": self.set}
        return {name: value for name, value in options.items() if value is not None}


@dataclass(slots=True)
class GrantChange:
    """A change of grants in progress: the catalog so far, and messages for the client as (severity, text)."""

    catalog: Catalog
    messages: list[tuple[str, str]] = field(default_factory=list)


def check_role_takes_members(catalog: Catalog, actor: str, role: Role, *, grants: bool) -> None:
    """Raises 42501 unless `actor` may grant or revoke a role, XX000 for pg_database_owner."""
    if grants and role.name == DATABASE_OWNER:
        raise GpudbError(f'role "{role.name}" cannot have explicit members')
    check_may_grant(catalog, actor, role, grants=grants)


def grant_role(
    change: GrantChange,
    actor: str,
    role: Role,
    members: Sequence[Role],
    options: GrantOptions,
    grantor: str | None = None,
) -> None:
    """Grants a role to members; 0LP01 for a circle, 42501 for a grantor who may not. `actor` may grant the role."""
    grantor = _choose_grantor(change.catalog, actor, role, grantor, grants=True)
    for member in members:
        if member.name == DATABASE_OWNER:
            raise GpudbError(f'role "{member.name}" cannot be a member of any role')
        if member.name == role.name or has_grant_of(change.catalog, role.name, member.name):
            message = f'role "{role.name}" is a member of role "{member.name}"'
            raise SqlError.of("invalid_grant_operation", message)
    if options.admin:
        _check_admin_not_returned(change.catalog, role, members, grantor)
    for member in members:
        key = quote_names(role.name, member.name, grantor)
        known = change.catalog.memberships.get(key)
        if known is not None:
            grant = replace(known, **options.named)
            if grant == known:
                message = (
                    f'role "{member.name}" has already been granted membership in role "{role.name}"'
                    f' by role "{grantor}"'
                )
                change.messages.append(("NOTICE", message))
                continue
        else:
            oid, change.catalog = change.catalog.allocate_oid()
            inherit = member.inherit if options.inherit is None else options.inherit
            grants_set = True if options.set is None else options.set
            grant = Membership(oid, role.name, member.name, grantor, bool(options.admin), inherit, grants_set)
        change.catalog = change.catalog.put(grant)


def revoke_role(
    change: GrantChange,
    actor: str,
    role: Role,
    members: Sequence[Role],
    options: GrantOptions,
    grantor: str | None = None,
    *,
    cascade: bool = False,
) -> None:
    """Revokes a role from members, or only the options that `options` names; 2BP01 if other grants depend on it."""
    grantor = _choose_grantor(change.catalog, actor, role, grantor, grants=False)
    plan = _RevokePlan(change.catalog, role)
    for member in members:
        if not plan.revoke(member.name, grantor, options, cascade=cascade):
            message = f'role "{member.name}" has not been granted membership in role "{role.name}" by role "{grantor}"'
            change.messages.append(("WARNING", message))
    change.catalog = plan.apply(change.catalog)


def _choose_grantor(catalog: Catalog, actor: str, role: Role, named: str | None, *, grants: bool) -> str:
    """Returns the role that counts as the grantor: the named one, if `actor` may act for it."""
    bootstrap = get_bootstrap_role(catalog)
    if named is None:
        if is_superuser(catalog, actor):
            return bootstrap
        found = find_best_admin(catalog, actor, role.name)
        if found is None:
            raise GpudbError("no possible grantors")
        return found
    if not has_privileges_of(catalog, actor, named):
        if not grants:
            raise denied(
                f'revoke privileges granted by role "{named}"',
                f'Only roles with privileges of role "{named}" may revoke privileges granted by this role.',
            )
        raise denied(
            f'grant privileges as role "{named}"',
            f'Only roles with privileges of role "{named}" may grant privileges as this role.',
        )
    if grants and named != bootstrap and find_best_admin(catalog, named, role.name) != named:
        detail = f'The grantor must have the ADMIN option on role "{role.name}".'
        raise denied(f'grant privileges as role "{named}"', detail)
    return named


def get_bootstrap_role(catalog: Catalog) -> str:
    """Returns the name of the bootstrap superuser, whose grants depend on no other."""
    return next(role.name for role in catalog.roles.values() if role.oid == BOOTSTRAP_ROLE_OID)


def _check_admin_not_returned(catalog: Catalog, role: Role, members: Sequence[Role], grantor: str) -> None:
    """0LP01 if the grantor has ADMIN OPTION only through the members that are to get it."""
    bootstrap = get_bootstrap_role(catalog)
    if grantor == bootstrap:
        return
    plan = _RevokePlan(catalog, role)
    for member in members:
        if member.name == bootstrap:
            raise _returned_error()
        plan.revoke_all_of(member.name)
    if not plan.keeps_admin(grantor):
        raise _returned_error()


def _returned_error() -> SqlError:
    return SqlError.of("invalid_grant_operation", "ADMIN option cannot be granted back to your own grantor")


class _Action(Enum):
    KEEP = auto()
    DELETE = auto()
    REMOVE_ADMIN = auto()
    REMOVE_INHERIT = auto()
    REMOVE_SET = auto()


_REMOVED: Mapping[_Action, dict[str, Any]] = {
    _Action.REMOVE_ADMIN: {"admin": False},
    _Action.REMOVE_INHERIT: {"inherit": False},
    _Action.REMOVE_SET: {"set": False},
}


class _RevokePlan:
    """What happens to each grant of a role when some of them are revoked."""

    def __init__(self, catalog: Catalog, role: Role) -> None:
        self._grants = [each for each in catalog.memberships.values() if each.role == role.name]
        self._actions = {grant.key: _Action.KEEP for grant in self._grants}

    def revoke(self, member: str, grantor: str, options: GrantOptions, *, cascade: bool) -> bool:
        """Revokes a grant, or one of its options; False if there is no such grant."""
        grant = next((each for each in self._grants if (each.member, each.grantor) == (member, grantor)), None)
        if grant is None:
            return False
        if options.inherit is not None:
            self._actions[grant.key] = _Action.REMOVE_INHERIT
        elif options.set is not None:
            self._actions[grant.key] = _Action.REMOVE_SET
        else:
            self._revoke_with_dependents(grant, admin_only=options.admin is not None, cascade=cascade)
        return True

    def revoke_all_of(self, member: str) -> None:
        """Revokes every grant to a member, and what depends on them."""
        for grant in self._grants:
            if grant.member == member:
                self._revoke_with_dependents(grant, admin_only=False, cascade=True)

    def keeps_admin(self, member: str) -> bool:
        """Whether a member still has ADMIN OPTION."""
        return any(
            grant.member == member and grant.admin and self._actions[grant.key] is _Action.KEEP
            for grant in self._grants
        )

    def apply(self, catalog: Catalog) -> Catalog:
        """Returns the catalog after the plan."""
        for grant in self._grants:
            action = self._actions[grant.key]
            if action is _Action.DELETE:
                catalog = catalog.drop(grant)
            elif action is not _Action.KEEP:
                catalog = catalog.put(replace(grant, **_REMOVED[action]))
        return catalog

    def _revoke_with_dependents(self, grant: Membership, *, admin_only: bool, cascade: bool) -> None:
        planned = self._actions[grant.key]
        if planned is _Action.DELETE or (planned is _Action.REMOVE_ADMIN and admin_only):
            return
        if not admin_only:
            self._actions[grant.key] = _Action.DELETE
        elif grant.admin:
            self._actions[grant.key] = _Action.REMOVE_ADMIN
        if not grant.admin or self.keeps_admin(grant.member):
            return
        for other in self._grants:
            if other.grantor == grant.member and self._actions[other.key] is not _Action.DELETE:
                if not cascade:
                    hint = "Use CASCADE to revoke them too."
                    raise SqlError.of("dependent_objects_still_exist", "dependent privileges exist", hint=hint)
                self._revoke_with_dependents(other, admin_only=False, cascade=True)
