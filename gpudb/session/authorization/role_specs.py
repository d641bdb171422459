"""Roles as statements name them: by name, or as CURRENT_ROLE, CURRENT_USER, SESSION_USER or PUBLIC."""

from __future__ import annotations

from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.model import Catalog
from gpudb.catalog.roles import Role
from gpudb.errors import SqlError, UndefinedObject
from gpudb.session.context import SessionState

RESERVED_PREFIX = "pg_"


def resolve_role(session: SessionState, catalog: Catalog, spec: Any) -> Role:
    """Returns the role that a RoleSpec of the parse tree names; 42704 if there is none."""
    match spec.roletype:
        case pg.ROLESPEC_CSTRING:
            return find_role(catalog, spec.rolename)
        case pg.ROLESPEC_SESSION_USER:
            return find_role(catalog, session.identity.session_user)
        case pg.ROLESPEC_PUBLIC:
            raise UndefinedObject('role "public" does not exist')
        case _:
            return find_role(catalog, session.user)


def find_role(catalog: Catalog, name: str) -> Role:
    """Returns the role of a name; 42704."""
    role = catalog.roles.get(name)
    if role is None:
        raise UndefinedObject(f'role "{name}" does not exist')
    return role


def check_not_reserved(spec: Any) -> None:
    """42939 if a RoleSpec names a predefined role, which no statement alters."""
    if spec.roletype == pg.ROLESPEC_CSTRING and is_reserved(spec.rolename):
        raise reserved_error(spec.rolename, "Cannot alter reserved roles.")


def is_reserved(name: str) -> bool:
    """Whether only PostgreSQL itself has roles of that name."""
    return name.startswith(RESERVED_PREFIX)


def reserved_error(name: str, detail: str = 'Role names starting with "pg_" are reserved.') -> SqlError:
    """Returns 42939 for a reserved name."""
    return SqlError.of("reserved_name", f'role name "{name}" is reserved', detail=detail)
