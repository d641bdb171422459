"""The privileges of a role on objects, and the errors without them. Pure functions of the catalog."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager

from gpudb.catalog.model import Catalog, Schema
from gpudb.catalog.relations import Relation, Sequence
from gpudb.catalog.routines import Routine
from gpudb.catalog.secured_objects import (
    SecuredObject,
    describe_kind,
    get_acl,
    get_database,
    get_owner,
)
from gpudb.catalog.user_types import make_type_key
from gpudb.errors import SqlError
from gpudb.session.authorization.membership import inherited_roles, is_superuser
from gpudb.session.context import Context, SessionState
from gpudb.types import SqlType
from gpudb.values.acl import list_privileges

_READ_ALL, _WRITE_ALL = "pg_read_all_data", "pg_write_all_data"
_ALL = frozenset("arwdDxtXUCTcsA")


def get_current_role(context: Context) -> str:
    """Returns the role whose privileges a statement has."""
    return context.session.user


@contextmanager
def act_as(session: SessionState, role: str | None) -> Iterator[None]:
    """Gives a session the privileges of the owner of what it runs; with None it keeps its own."""
    before = session.identity.definer
    session.identity.definer = before if role is None else role
    try:
        yield
    finally:
        session.identity.definer = before


def list_object_privileges(catalog: Catalog, role: str, found: SecuredObject) -> frozenset[str]:
    """Returns the privileges that a role has on an object, by itself or through other roles."""
    if is_superuser(catalog, role):
        return _ALL
    roles = inherited_roles(catalog, role)
    held = list_privileges(get_acl(catalog, found), roles, get_owner(catalog, found))
    return held | _list_predefined(roles, found)


def _list_predefined(roles: Collection[str], found: SecuredObject) -> frozenset[str]:
    """Returns the privileges of the predefined roles over all data."""
    reads, writes = _READ_ALL in roles, _WRITE_ALL in roles
    if isinstance(found, Schema):
        return frozenset("U" if reads or writes else "")
    if not isinstance(found, Relation):
        return frozenset()
    return frozenset(("r" if reads else "") + ("awd" if writes else ""))


def list_column_privileges(catalog: Catalog, role: str, relation: Relation, name: str) -> frozenset[str]:
    """Returns the privileges that a role has on a column, without those on its whole relation."""
    acl = next((each.acl for each in relation.columns if each.name == name), None)
    if not acl:
        return frozenset()
    return list_privileges(acl, inherited_roles(catalog, role), relation.owner)


def has_any_column_privilege(catalog: Catalog, role: str, relation: Relation, privilege: str) -> bool:
    """Whether a role has a privilege on any column of a relation, without those on the whole relation."""
    if isinstance(relation, Sequence):
        return False
    return any(privilege in list_column_privileges(catalog, role, relation, each.name) for each in relation.columns)


def is_owner(catalog: Catalog, role: str, found: SecuredObject) -> bool:
    """Whether a role is a superuser, owns an object, or has the privileges of its owner."""
    return is_superuser(catalog, role) or get_owner(catalog, found) in inherited_roles(catalog, role)


def check_privilege(catalog: Catalog, role: str, found: SecuredObject, privilege: str) -> None:
    """42501 without a privilege on an object."""
    if privilege not in list_object_privileges(catalog, role, found):
        raise make_denied_error(describe_kind(found), found.name)


def check_column_types(catalog: Catalog, role: str, types: Iterable[SqlType]) -> None:
    """42501 if a role may not use the type of a column that a query defines."""
    for each in types:
        user = each.domain or each.user
        known = catalog.types.get(make_type_key(user.schema, user.name)) if user is not None else None
        if known is not None and "U" not in list_object_privileges(catalog, role, known):
            raise make_denied_error("type", str(known.user))


def check_connect(catalog: Catalog, role: str) -> None:
    """42501 for a role that may not connect to the database."""
    database = get_database(catalog)
    if "c" not in list_object_privileges(catalog, role, database):
        message = f'permission denied for database "{database.name}"'
        raise SqlError.of("insufficient_privilege", message, detail="User does not have CONNECT privilege.")


def check_references(catalog: Catalog, role: str, table: Relation, names: Collection[str]) -> None:
    """42501 if a role may not make a foreign key to columns of a table."""
    if "x" in list_object_privileges(catalog, role, table):
        return
    if not all("x" in list_column_privileges(catalog, role, table, name) for name in names):
        raise make_denied_error(describe_kind(table), table.name)


def may_call(catalog: Catalog, role: str, routine: Routine) -> bool:
    """Whether a role has EXECUTE on a routine and USAGE on its schema."""
    schema = catalog.schemas.get(routine.schema)
    reaches = schema is None or "U" in list_object_privileges(catalog, role, schema)
    return reaches and "X" in list_object_privileges(catalog, role, routine)


def check_owner(catalog: Catalog, role: str, found: SecuredObject, noun: str | None = None) -> None:
    """42501 for a role that does not own an object; `noun` is how the message calls it."""
    if not is_owner(catalog, role, found):
        raise make_owner_error(noun or describe_kind(found), found.name)


def make_denied_error(noun: str, name: str) -> SqlError:
    """Returns 42501 for an object on which a privilege is missing."""
    return SqlError.of("insufficient_privilege", f"permission denied for {noun} {name}")


def make_owner_error(noun: str, name: str) -> SqlError:
    """Returns 42501 for an object that another role owns."""
    return SqlError.of("insufficient_privilege", f"must be owner of {noun} {name}")
