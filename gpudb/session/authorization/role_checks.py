"""Who may create, change, drop and grant roles. CREATEROLE rules roles on which one has ADMIN OPTION, never superusers.

Each check raises 42501 with PostgreSQL's detail.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from gpudb.catalog.model import Catalog
from gpudb.catalog.roles import Role
from gpudb.errors import SqlError
from gpudb.session.authorization.membership import is_admin, is_superuser

# Attributes that a role may give to others only if it has them itself, by the field of `Role`.
_OWN_ATTRIBUTES = {"createdb": "CREATEDB", "replication": "REPLICATION", "bypassrls": "BYPASSRLS"}


def check_may_create(catalog: Catalog, actor: str, attributes: Mapping[str, object]) -> None:
    """For CREATE ROLE with `attributes`, the fields of the new role by name."""
    if is_superuser(catalog, actor):
        return
    own = catalog.roles.get(actor)
    if own is None or not own.createrole:
        raise denied("create role", "Only roles with the CREATEROLE attribute may create roles.")
    wanted = {"superuser": "SUPERUSER", **_OWN_ATTRIBUTES}
    for field, word in wanted.items():
        if attributes.get(field) and not getattr(own, field):
            raise denied(
                "create role", f"Only roles with the {word} attribute may create roles with the {word} attribute."
            )


def check_may_alter(catalog: Catalog, actor: str, role: Role, changed: Collection[str]) -> None:
    """For ALTER ROLE that changes the fields `changed` (`verifier` for the password)."""
    if is_superuser(catalog, actor):
        return
    own = catalog.roles.get(actor)
    if role.superuser:
        raise denied(
            "alter role", "Only roles with the SUPERUSER attribute may alter roles with the SUPERUSER attribute."
        )
    if "superuser" in changed:
        raise denied("alter role", "Only roles with the SUPERUSER attribute may change the SUPERUSER attribute.")
    if own is None or not has_createrole_over(catalog, actor, role.name):
        if set(changed) - {"verifier"}:
            raise denied("alter role", _need_createrole(role.name, "alter this role"))
        if "verifier" in changed and role.name != actor:
            detail = (
                "To change another role's password, the current user must have the CREATEROLE attribute and the ADMIN"
                " option on the role."
            )
            raise denied("alter role", detail)
        return
    for field, word in _OWN_ATTRIBUTES.items():
        if field in changed and not getattr(own, field):
            raise denied("alter role", f"Only roles with the {word} attribute may change the {word} attribute.")


def check_may_change_members(catalog: Catalog, actor: str, role: Role) -> None:
    """For ALTER GROUP … ADD or DROP USER."""
    if not is_admin(catalog, actor, role.name):
        raise denied("alter role", f'Only roles with the ADMIN option on role "{role.name}" may add or drop members.')


def check_may_change_settings(catalog: Catalog, actor: str, role: Role) -> None:
    """For ALTER ROLE … SET: a role may change its own settings."""
    if is_superuser(catalog, actor):
        return
    if role.superuser:
        raise denied(
            "alter role", "Only roles with the SUPERUSER attribute may alter roles with the SUPERUSER attribute."
        )
    if role.name != actor and not has_createrole_over(catalog, actor, role.name):
        raise denied("alter role", _need_createrole(role.name, "alter this role"))


def check_may_drop_any(catalog: Catalog, actor: str) -> None:
    """For DROP ROLE, whatever it names."""
    own = catalog.roles.get(actor)
    if own is None or not (own.superuser or own.createrole):
        detail = "Only roles with the CREATEROLE attribute and the ADMIN option on the target roles may drop roles."
        raise denied("drop role", detail)


def check_may_drop(catalog: Catalog, actor: str, role: Role) -> None:
    """For one role of DROP ROLE."""
    if role.superuser and not is_superuser(catalog, actor):
        raise denied(
            "drop role", "Only roles with the SUPERUSER attribute may drop roles with the SUPERUSER attribute."
        )
    if not is_admin(catalog, actor, role.name):
        raise denied("drop role", _need_createrole(role.name, "drop this role"))


def check_may_rename(catalog: Catalog, actor: str, role: Role) -> None:
    """For ALTER ROLE … RENAME."""
    if is_superuser(catalog, actor):
        return
    if role.superuser:
        raise denied(
            "rename role", "Only roles with the SUPERUSER attribute may rename roles with the SUPERUSER attribute."
        )
    if not has_createrole_over(catalog, actor, role.name):
        raise denied("rename role", _need_createrole(role.name, "rename this role"))


def check_may_comment(catalog: Catalog, actor: str, role: Role) -> None:
    """For COMMENT ON ROLE."""
    if is_superuser(catalog, actor):
        return
    own = catalog.roles.get(actor)
    if role.superuser:
        needed = "SUPERUSER attribute"
    elif own is None or not own.createrole:
        needed = "CREATEROLE attribute"
    elif not is_admin(catalog, actor, role.name):
        needed = f'ADMIN option on role "{role.name}"'
    else:
        return
    message, detail = "permission denied", f"The current user must have the {needed}."
    raise SqlError.of("insufficient_privilege", message, detail=detail)


def check_may_grant(catalog: Catalog, actor: str, role: Role, *, grants: bool) -> None:
    """For GRANT (`grants`) and REVOKE of a role."""
    verb = "grant" if grants else "revoke"
    if role.superuser:
        if not is_superuser(catalog, actor):
            raise denied(
                f'{verb} role "{role.name}"',
                f"Only roles with the SUPERUSER attribute may {verb} roles with the SUPERUSER attribute.",
            )
    elif not is_admin(catalog, actor, role.name):
        raise denied(
            f'{verb} role "{role.name}"',
            f'Only roles with the ADMIN option on role "{role.name}" may {verb} this role.',
        )


def has_createrole_over(catalog: Catalog, actor: str, role: str) -> bool:
    """Whether a role has CREATEROLE, and ADMIN OPTION on another role; superusers have both."""
    own = catalog.roles.get(actor)
    return own is not None and (own.superuser or own.createrole) and is_admin(catalog, actor, role)


def denied(action: str, detail: str) -> SqlError:
    """Returns 42501 `permission denied to …`."""
    return SqlError.of("insufficient_privilege", f"permission denied to {action}", detail=detail)


def _need_createrole(role: str, action: str) -> str:
    return f'Only roles with the CREATEROLE attribute and the ADMIN option on role "{role}" may {action}.'
