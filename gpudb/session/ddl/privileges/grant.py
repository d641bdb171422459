"""GRANT and REVOKE of privileges on objects: their objects, roles and privileges."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.relations import Sequence
from gpudb.catalog.routines import Routine
from gpudb.catalog.secured_objects import SecuredObject
from gpudb.catalog.user_types import TypeDefinition
from gpudb.errors import FeatureNotSupported, SqlError, UndefinedObject, UndefinedTable
from gpudb.functions.library import functions_by_name
from gpudb.session.authorization.privileges import get_current_role
from gpudb.session.authorization.role_specs import resolve_role
from gpudb.session.context import Context
from gpudb.session.ddl.databases.databases import find_database
from gpudb.session.ddl.foreign_data.foreign_objects import find_foreign_object
from gpudb.session.ddl.indexes.indexes import find_index
from gpudb.session.ddl.parse_nodes import object_kind
from gpudb.session.ddl.privileges.grant_changes import PrivilegeChange, change_privileges
from gpudb.session.objects.large_objects import find_large_object
from gpudb.session.objects.names import range_text, resolve_range
from gpudb.session.results import Result
from gpudb.session.routines.alter_drop import KINDS, find_routine, require_routine
from gpudb.session.routines.create_routine import parameter_type
from gpudb.session.routines.language_privileges import find_grantable_language
from gpudb.sql.bind.query.sources import SYSTEM_SCHEMAS
from gpudb.sql.parse.parser import inner, strings
from gpudb.types import type_exists
from gpudb.values.acl import APPLICABLE, NAMES, PUBLIC, find_privilege

# The privileges that the statement accepts for a kind of object, and how messages call the kind
_ACCEPTED = {
    "TABLE": ("arwdDxtU", "relation"),
    "SEQUENCE": (APPLICABLE["sequence"], "sequence"),
    "SCHEMA": (APPLICABLE["schema"], "schema"),
    "DATABASE": (APPLICABLE["database"], "database"),
    "TYPE": (APPLICABLE["type"], "type"),
    "DOMAIN": (APPLICABLE["type"], "domain"),
    "FUNCTION": (APPLICABLE["function"], "function"),
    "PROCEDURE": (APPLICABLE["function"], "procedure"),
    "ROUTINE": (APPLICABLE["function"], "routine"),
    "FDW": (APPLICABLE["foreign-data wrapper"], "foreign-data wrapper"),
    "FOREIGN_SERVER": (APPLICABLE["foreign server"], "foreign server"),
    "LANGUAGE": (APPLICABLE["language"], "language"),
    "LARGEOBJECT": (APPLICABLE["large object"], "large object"),
}


def grant(context: Context) -> Result:
    """GRANT or REVOKE privileges ON objects. 42704, 42501, 0LP01, 2BP01; warnings 01007 and 01006."""
    node: Any = context.statement.node
    tag = "GRANT" if node.is_grant else "REVOKE"
    context.check_writable(tag)
    what = object_kind(node.objtype)
    if what not in _ACCEPTED:
        raise FeatureNotSupported(f"{tag} on {what} is not supported")
    if node.HasField("grantor") and resolve_grantee(context, node.grantor) != get_current_role(context):
        raise FeatureNotSupported("grantor must be current user")
    objects = _find_objects(context, node, what)
    change = read_change(context, node, what)
    for found in objects:
        change_privileges(context, found, change)
    return Result(tag)


def read_change(context: Context, node: Any, what: str) -> PrivilegeChange:
    """The grantees and privileges of a GrantStmt message on objects of a kind; 42704, 42601, 0LP01."""
    grantees = tuple(resolve_grantee(context, inner(each)) for each in node.grantees)
    accepted, noun = _ACCEPTED[what]
    privileges = ""
    columns: list[tuple[str | None, tuple[str, ...]]] = []
    for each in map(inner, node.privileges):
        letter = None
        if each.priv_name:
            letter = find_privilege(each.priv_name)
            if letter is None:
                raise SqlError.of("syntax_error", f'unrecognized privilege type "{each.priv_name}"')
        if len(each.cols):
            if what != "TABLE":
                raise _invalid("column privileges are only valid for relations")
            columns.append((letter, strings(each.cols)))
            continue
        if letter is None or letter not in accepted:
            raise _invalid(f"invalid privilege type {NAMES[letter or 'r']} for {noun}")
        privileges += letter
    if node.is_grant and node.grant_option and PUBLIC in grantees:
        raise _invalid("grant options can only be granted to roles")
    return PrivilegeChange(
        grants=node.is_grant,
        what=what,
        grantees=grantees,
        privileges=privileges if len(node.privileges) else None,
        columns=tuple(columns),
        option=node.grant_option,
        cascade=node.behavior == pg.DROP_CASCADE,
    )


def _invalid(message: str) -> SqlError:
    return SqlError.of("invalid_grant_operation", message)


def resolve_grantee(context: Context, node: Any) -> str:
    """The role of a RoleSpec message, or PUBLIC; 42704."""
    if node.roletype == pg.ROLESPEC_PUBLIC:
        return PUBLIC
    return resolve_role(context.session, context.transaction.catalog, node).name


# ---- objects


def _find_objects(context: Context, node: Any, what: str) -> list[SecuredObject]:
    """The objects of a GrantStmt message; the error of a missing one."""
    if node.targtype == pg.ACL_TARGET_ALL_IN_SCHEMA:
        return [found for each in node.objects for found in _list_in_schema(context, inner(each).sval, what)]
    return [_find_object(context, inner(each), what) for each in node.objects]


def _list_in_schema(context: Context, schema: str, what: str) -> Iterable[SecuredObject]:
    catalog = context.transaction.catalog
    _require_schema(context, schema)
    if what in KINDS:
        return [each for each in catalog.routines.values() if each.schema == schema and each.kind in KINDS[what]]
    relations = [each for each in catalog.relations.values() if each.schema == schema]
    return [each for each in relations if isinstance(each, Sequence) is (what == "SEQUENCE")]


def _require_schema(context: Context, name: str) -> SecuredObject:
    found = context.transaction.catalog.schemas.get(name)
    if found is not None:
        return found
    if name in SYSTEM_SCHEMAS:
        raise FeatureNotSupported(f"privileges on schema {name} cannot be changed")
    raise SqlError.of("invalid_schema_name", f'schema "{name}" does not exist')


def _find_object(context: Context, node: Any, what: str) -> SecuredObject:
    match what:
        case "TABLE" | "SEQUENCE":
            return _find_relation(context, node)
        case "SCHEMA":
            return _require_schema(context, node.sval)
        case "DATABASE":
            return find_database(context.transaction.catalog, node.sval)
        case "FDW" | "FOREIGN_SERVER":
            return find_foreign_object(context.transaction.catalog, node.sval, what)
        case "LANGUAGE":
            return find_grantable_language(context.transaction.catalog, node.sval)
        case "LARGEOBJECT":
            return find_large_object(context.transaction.catalog, node)
        case "TYPE" | "DOMAIN":
            return _find_type(context, strings(node.items), what)
    return _find_routine(context, node, what)


def _find_relation(context: Context, node: Any) -> SecuredObject:
    if node.schemaname:
        context.session.check_schema(node.schemaname)
    found = resolve_range(context, node)
    if found is not None:
        return found
    names = tuple(filter(None, (node.schemaname, node.relname)))
    if find_index(context, names) is not None:
        raise SqlError.of("wrong_object_type", f'"{node.relname}" is an index')
    if context.session.database.cpu.system_columns(node.schemaname or "pg_catalog", node.relname) is not None:
        raise FeatureNotSupported(f"privileges on system catalog {node.relname} cannot be changed")
    raise UndefinedTable(f'relation "{range_text(node)}" does not exist')


def _find_type(context: Context, names: tuple[str, ...], what: str) -> TypeDefinition:
    catalog = context.transaction.catalog
    if len(names) > 1:
        context.session.check_schema(names[-2])
    found = catalog.find_type(names[-1], names[-2:-1] or context.session.search_path())
    if found is None:
        shown = ".".join(names)
        _check_not_array(context, names)
        if type_exists(names[-1]):
            raise FeatureNotSupported(f"privileges on built-in type {shown} cannot be changed")
        raise UndefinedObject(f'type "{shown}" does not exist')
    if what == "DOMAIN" and found.user.kind != "d":
        raise SqlError.of("wrong_object_type", f'"{names[-1]}" is not a domain')
    return found


def _check_not_array(context: Context, names: tuple[str, ...]) -> None:
    """0LP01 for the name of an array type."""
    element = names[-1].removeprefix("_")
    path = names[-2:-1] or context.session.search_path()
    if element != names[-1] and (
        type_exists(names[-1]) or context.transaction.catalog.find_type(element, path) is not None
    ):
        hint = "Set the privileges of the element type instead."
        raise SqlError.of("invalid_grant_operation", "cannot set privileges of array types", hint=hint)


def _find_routine(context: Context, node: Any, what: str) -> Routine:
    if len(node.objname) > 1:
        context.session.check_schema(strings(node.objname)[-2])
    if find_routine(context, node, what) is None and _is_system_routine(context, node):
        raise FeatureNotSupported(f"privileges on system function {strings(node.objname)[-1]} cannot be changed")
    return context.transaction.catalog.routines[require_routine(context, node, what).key]


def _is_system_routine(context: Context, node: Any) -> bool:
    """Whether an ObjectWithArgs message names a routine of PostgreSQL itself."""
    names = strings(node.objname)
    if len(names) > 1 and names[-2] != "pg_catalog":
        return False
    types = [parameter_type(context, inner(each)).name for each in node.objargs]
    known = functions_by_name().get(names[-1], ())
    return any(node.args_unspecified or [item.name for item in each.args] == types for each in known)
