"""ALTER DEFAULT PRIVILEGES, and the access control lists that new objects get by it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from gpudb.catalog.grants import grant
from gpudb.catalog.model import Catalog
from gpudb.catalog.roles import DefaultAcl
from gpudb.catalog.secured_objects import (
    SecuredObject,
    get_kind,
    get_owner,
    list_secured_objects,
    replace_acl,
)
from gpudb.errors import SqlError
from gpudb.session.authorization.membership import has_privileges_of
from gpudb.session.authorization.privileges import get_current_role
from gpudb.session.authorization.role_specs import resolve_role
from gpudb.session.context import Context
from gpudb.session.ddl.parse_nodes import object_kind
from gpudb.session.ddl.privileges.grant import read_change
from gpudb.session.ddl.privileges.grant_changes import PrivilegeChange
from gpudb.session.results import Result
from gpudb.sql.parse.parser import inner
from gpudb.values.acl import APPLICABLE, Acl, make_default_acl

_CODES = {"TABLE": "r", "SEQUENCE": "S", "FUNCTION": "f", "ROUTINE": "f", "TYPE": "T", "SCHEMA": "n"}
_KINDS = {"r": "table", "S": "sequence", "f": "function", "T": "type", "n": "schema"}
_CODE_OF_KIND = {kind: code for code, kind in _KINDS.items()}


def alter_default_privileges(context: Context) -> Result:
    """ALTER DEFAULT PRIVILEGES [FOR ROLE …] [IN SCHEMA …] GRANT or REVOKE …; 42704, 3F000, 42501, 0LP01."""
    node: Any = context.statement.node
    context.check_writable("ALTER DEFAULT PRIVILEGES")
    options = {inner(each).defname: inner(inner(each).arg).items for each in node.options}
    catalog = context.transaction.catalog
    roles = [resolve_role(context.session, catalog, inner(each)).name for each in options.get("roles", ())]
    what = object_kind(node.action.objtype)
    if any(len(inner(each).cols) for each in node.action.privileges):
        raise SqlError.of("invalid_grant_operation", "default privileges cannot be set for columns")
    change = read_change(context, node.action, what)
    if what == "TABLE" and "U" in (change.privileges or ""):
        raise SqlError.of("invalid_grant_operation", "invalid privilege type USAGE for relation")
    schemas = [inner(each).sval for each in options.get("schemas", ())]
    for role in roles or [get_current_role(context)]:
        if not has_privileges_of(catalog, get_current_role(context), role):
            raise SqlError.of("insufficient_privilege", "permission denied to change default privileges")
        if not schemas:
            _change_default(context, role, "", _CODES[what], change)
        for schema in schemas:
            if what == "SCHEMA":
                message = "cannot use IN SCHEMA clause when using GRANT/REVOKE ON SCHEMAS"
                raise SqlError.of("invalid_grant_operation", message)
            if schema not in catalog.schemas:
                raise SqlError.of("invalid_schema_name", f'schema "{schema}" does not exist')
            _change_default(context, role, schema, _CODES[what], change)
    return Result("ALTER DEFAULT PRIVILEGES")


def _change_default(context: Context, role: str, schema: str, code: str, change: PrivilegeChange) -> None:
    catalog = context.transaction.catalog
    wanted = DefaultAcl(0, role, code, schema)
    known = catalog.default_acls.get(wanted.key)
    if known is None:
        oid, catalog = catalog.allocate_oid()
        known = replace(wanted, oid=oid, acl=_start(wanted))
    privileges = APPLICABLE[_KINDS[code]] if change.privileges is None else change.privileges
    context.transaction.set_catalog(with_default(catalog, known, change.apply(known.acl, privileges, role, role)))


def _start(default: DefaultAcl) -> Acl:
    """The list to which default privileges are changes."""
    return () if default.schema else make_default_acl(_KINDS[default.kind], default.role)


def with_default(catalog: Catalog, default: DefaultAcl, acl: Acl) -> Catalog:
    """The catalog in which default privileges are another list; they are removed if they change nothing."""
    if set(acl) == set(_start(default)):
        return catalog.drop(default) if default.key in catalog.default_acls else catalog
    return catalog.put(replace(default, acl=acl))


# ---- new objects


def apply_default_privileges(context: Context, before: Catalog) -> None:
    """Gives the objects that were created since `before` the lists that their owners' default privileges demand."""
    catalog = context.transaction.catalog
    if not catalog.default_acls or catalog is before:
        return
    known = {_identify(found) for found in list_secured_objects(before)}
    created = [found for found in list_secured_objects(catalog) if _identify(found) not in known]
    for found in created:
        acl = _find_default(catalog, found)
        if found.acl is None and acl is not None:
            catalog = replace_acl(catalog, found, acl)
    if catalog is not context.transaction.catalog:
        context.transaction.set_catalog(catalog)


def _identify(found: SecuredObject) -> int | str:
    return getattr(found, "oid", found.name)


def _find_default(catalog: Catalog, found: SecuredObject) -> Acl | None:
    """Returns the list of a new object by its owner's default privileges; None for PostgreSQL's own."""
    kind, owner = get_kind(found), get_owner(catalog, found)
    code = _CODE_OF_KIND.get(kind)
    if code is None:
        return None
    start = make_default_acl(kind, owner)
    acl = start
    for default in _list_defaults(catalog, owner, code, getattr(found, "schema", "")):
        acl = default.acl if not default.schema else _merge(acl, default.acl, owner)
    return None if set(acl) == set(start) else acl


def _list_defaults(catalog: Catalog, owner: str, code: str, schema: str) -> Iterator[DefaultAcl]:
    for each in dict.fromkeys(("", schema)):
        default = catalog.default_acls.get(DefaultAcl(0, owner, code, each).key)
        if default is not None:
            yield default


def _merge(acl: Acl, added: Iterable[Any], owner: str) -> Acl:
    for item in added:
        acl = grant(acl, (item.grantee,), item.privileges, item.grantor, owner, option=False)
        if item.options:
            acl = grant(acl, (item.grantee,), item.options, item.grantor, owner, option=True)
    return acl
