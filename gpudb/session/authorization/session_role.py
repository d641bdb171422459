"""SET ROLE and SET SESSION AUTHORIZATION: who a session acts as.

A session has three roles: the one that logged in (`authenticated`), which never changes; the session user, which
SET SESSION AUTHORIZATION changes; and the current role (`SessionState.user`), which SET ROLE changes and authorization
reads. Both changes are settings, so a rollback and the end of SET LOCAL undo them.
"""

from __future__ import annotations

from collections.abc import Mapping

from gpudb.catalog.model import Catalog
from gpudb.catalog.roles import Role
from gpudb.errors import SqlError
from gpudb.session.authorization.membership import can_set_role, is_superuser
from gpudb.session.context import SessionState
from gpudb.session.identity import NO_ROLE
from gpudb.session.results import Notice
from gpudb.session.state.role_names import RoleName

ROLE_SETTINGS = frozenset({"role", "session_authorization"})


def change_role_setting(
    session: SessionState, catalog: Catalog, name: str, value: str | None, *, local: bool = False
) -> None:
    """Changes `role` or `session_authorization` to a role's name; None resets it. 22023, 42501."""
    if session.identity.definer is not None:
        message = f'cannot set parameter "{name}" within security-definer function'
        raise SqlError.of("insufficient_privilege", message)
    if name == "role":
        set_role(session, catalog, value, local=local)
    else:
        set_session_authorization(session, catalog, value, local=local)


def set_role(session: SessionState, catalog: Catalog, name: str | None, *, local: bool = False) -> None:
    """SET ROLE: makes a role the current one; `none` returns to the session user, None to the role at the start."""
    if name is None:
        name = session.settings.default("role")
    if name == NO_ROLE:
        values = {"role": NO_ROLE, "is_superuser": _on_or_off(catalog, session.identity.session_user)}
    else:
        role = _find_role(catalog, name)
        if not can_set_role(catalog, session.identity.session_user, role.name):
            raise SqlError.of("insufficient_privilege", f'permission denied to set role "{name}"')
        values = {"role": RoleName.of(role), "is_superuser": _on_or_off(catalog, role.name)}
    session.settings.assign(values, local=local)


def begin_settings(session: SessionState, catalog: Catalog, role: Role, given: Mapping[str, str]) -> None:
    """Sets what RESET returns to at the start of a session: the client's settings over those of ALTER ROLE … SET.

    The client's have to be valid; others that are not are left out with a warning, as in PostgreSQL.
    """
    settings = session.settings
    for name, value in {**role.settings, **given}.items():
        try:
            if name.lower() == "role":
                set_role(session, catalog, value)
                settings.force("role", settings["role"])
            else:
                settings.set_initial(name, value)
        except SqlError as error:
            if name in given:
                raise
            session.notices.append(Notice(error.message, severity="WARNING", sqlstate=error.sqlstate))
    settings.changes()


def set_session_authorization(
    session: SessionState, catalog: Catalog, name: str | None, *, local: bool = False
) -> None:
    """SET SESSION AUTHORIZATION: changes session user and current role; None returns to the role that logged in."""
    values: Mapping[str, str]
    authenticated = session.identity.authenticated
    if name is None:
        values = {"session_authorization": authenticated, "is_superuser": _on_or_off(catalog, authenticated)}
    else:
        role = _find_role(catalog, name)
        if role.oid != authenticated.oid and not _is_superuser(catalog, authenticated):
            raise SqlError.of("insufficient_privilege", f'permission denied to set session authorization "{name}"')
        values = {"session_authorization": RoleName.of(role), "is_superuser": "on" if role.superuser else "off"}
    session.settings.assign({**values, "role": NO_ROLE}, local=local)


def _find_role(catalog: Catalog, name: str) -> Role:
    role = catalog.roles.get(name)
    if role is None:
        # Not undefined_object, since PostgreSQL takes it for a wrong value of a setting.
        raise SqlError.of("invalid_parameter_value", f'role "{name}" does not exist')
    return role


def _is_superuser(catalog: Catalog, known: RoleName) -> bool:
    return any(role.oid == known.oid and role.superuser for role in catalog.roles.values())


def _on_or_off(catalog: Catalog, name: str) -> str:
    return "on" if is_superuser(catalog, name) else "off"
