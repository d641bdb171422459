"""Changes of access control lists by GRANT and REVOKE, as PostgreSQL's aclupdate and recursive_revoke make them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from gpudb.errors import SqlError
from gpudb.values.acl import PUBLIC, Acl, AclItem, list_privileges, sort_privileges


def choose_grantor(
    acl: Acl, role: str, roles: Collection[str], owner: str, privileges: str
) -> tuple[str, frozenset[str]]:
    """Returns the role in whose name `role` grants or revokes `privileges`, and those that it may grant.

    That is the owner if `role` has its privileges, else the one of `roles`, whose privileges `role` has, that may grant
    the most; `role` itself if none may.
    """
    if owner in roles:
        return owner, frozenset(privileges)
    wanted = frozenset(privileges)
    best, most = role, frozenset[str]()
    for each in (role, *sorted(set(roles) - {role})):
        held = list_privileges(acl, {each}, owner, options=True) & wanted
        if len(held) > len(most):
            best, most = each, held
    return best, most


def grant(acl: Acl, grantees: Collection[str], privileges: str, grantor: str, owner: str, *, option: bool) -> Acl:
    """Returns a list in which `grantees` have more privileges; 0LP01 for an option that would go round in a circle."""
    for grantee in grantees:
        if option:
            _check_circularity(acl, grantee, privileges, grantor, owner)
        acl = _change(acl, grantee, grantor, privileges, privileges if option else "", add=True)
    return acl


def revoke(
    acl: Acl, grantees: Collection[str], privileges: str, grantor: str, owner: str, *, option_only: bool, cascade: bool
) -> Acl:
    """Returns a list in which `grantees` have fewer privileges, or with `option_only` may no longer grant them.

    What they granted to others is revoked too with `cascade`; else 2BP01.
    """
    for grantee in grantees:
        before = _list_options(acl, grantee, owner)
        acl = _change(acl, grantee, grantor, "" if option_only else privileges, privileges, add=False)
        lost = before - _list_options(acl, grantee, owner)
        if lost and grantee != PUBLIC:
            acl = _revoke_dependents(acl, grantee, lost, owner, cascade=cascade)
    return acl


def _list_options(acl: Acl, grantee: str, owner: str) -> frozenset[str]:
    return list_privileges(acl, {grantee}, owner, options=True)


def _change(acl: Acl, grantee: str, grantor: str, privileges: str, options: str, *, add: bool) -> Acl:
    """Adds to the item of a grantee and grantor, or removes from it; an item without privileges is removed."""
    items = list(acl)
    place = next((n for n, each in enumerate(items) if (each.grantee, each.grantor) == (grantee, grantor)), None)
    if place is None:
        if not add:
            return acl
        place = len(items)
        items.append(AclItem(grantee, "", grantor))
    item = items[place]
    if add:
        changed = replace(
            item,
            privileges=sort_privileges(item.privileges + privileges),
            options=sort_privileges(item.options + options),
        )
    else:
        changed = replace(
            item,
            privileges=sort_privileges(set(item.privileges) - set(privileges)),
            options=sort_privileges(set(item.options) - set(options)),
        )
    items[place : place + 1] = [changed] if changed.privileges else []
    return tuple(items)


def _revoke_dependents(acl: Acl, grantor: str, lost: frozenset[str], owner: str, *, cascade: bool) -> Acl:
    """Revokes what a role granted by options that it has lost."""
    for item in acl:
        dependent = sort_privileges(set(item.privileges) & lost) if item.grantor == grantor else ""
        if not dependent:
            continue
        if not cascade:
            hint = "Use CASCADE to revoke them too."
            raise SqlError.of("dependent_objects_still_exist", "dependent privileges exist", hint=hint)
        acl = revoke(acl, (item.grantee,), dependent, grantor, owner, option_only=False, cascade=True)
    return acl


def _check_circularity(acl: Acl, grantee: str, privileges: str, grantor: str, owner: str) -> None:
    """0LP01 if the grantor may grant the privileges only because the grantee let it."""
    if grantor == owner:
        return
    without = acl
    while taken := next((each for each in without if each.grantee == grantee and each.options), None):
        without = revoke(without, (grantee,), taken.options, taken.grantor, owner, option_only=True, cascade=True)
    if not set(privileges) <= list_privileges(without, {grantor}, owner, options=True):
        raise SqlError.of("invalid_grant_operation", "grant options cannot be granted back to your own grantor")
