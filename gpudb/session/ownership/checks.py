"""Who may run which definition: a check for each kind of statement that creates, changes or drops an object.

The checks run before the statement, for roles that are not superusers. What a statement names and does not exist passes
them: the statement reports it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.relations import View
from gpudb.catalog.secured_objects import describe_kind
from gpudb.catalog.tables import Table
from gpudb.errors import SqlError
from gpudb.session.authorization.membership import is_superuser
from gpudb.session.authorization.privileges import (
    check_owner,
    get_current_role,
    list_object_privileges,
    make_denied_error,
)
from gpudb.session.context import Context
from gpudb.session.ddl.parse_nodes import definition_field, object_kind
from gpudb.session.objects.names import resolve_range
from gpudb.session.ownership.objects import (
    column_types,
    find_creation_schema,
    may_create,
    may_create_schemas,
    may_give_to,
    may_read,
    may_use_schema_of,
    may_use_types,
    own_index,
    own_named_relation,
    own_relation,
    own_routine,
    own_schema,
    own_type,
)
from gpudb.session.routines.alter_drop import KINDS
from gpudb.sql.bind.query.from_clause import list_view_accesses
from gpudb.sql.parse.model_statements import CreateModel
from gpudb.sql.parse.parser import inner, kind, position, strings

Check = Callable[[Context, Any], None]

_RELATIONS = {"TABLE", "VIEW", "MATVIEW", "SEQUENCE", "FOREIGN_TABLE"}
# PostgreSQL's lock modes that SELECT, and INSERT, are enough for
_ACCESS_SHARE, _ROW_EXCLUSIVE = 1, 3


def authorize_definition(context: Context) -> None:
    """42501 if the current role may not run a statement that defines something."""
    if is_superuser(context.transaction.catalog, get_current_role(context)):
        return
    CHECKS[context.statement.kind](context, context.statement.node)


# ---- creation


def _create_relation(context: Context, target: Any) -> str | None:
    schema = find_creation_schema(context, target.schemaname, temporary=target.relpersistence == "t")
    may_create(context, schema)
    return schema


def _create_table(context: Context, node: Any) -> None:
    try:
        _create_relation(context, node.relation)
    except SqlError as error:
        raise error.at(position(context.statement.text, node.relation.location)) from None
    may_use_types(context, column_types(node.table_elts))
    for each in node.table_elts:
        if kind(each) == "table_like_clause":
            may_read(context, inner(each).relation)


def _import_foreign_schema(context: Context, node: Any) -> None:
    may_create(context, find_creation_schema(context, node.local_schema))


def _create_table_as(context: Context, node: Any) -> None:
    _create_relation(context, node.into.rel)


def _create_sequence(context: Context, node: Any) -> None:
    _create_relation(context, node.sequence)


def _create_view(context: Context, node: Any) -> None:
    schema = _create_relation(context, node.view)
    old = context.transaction.catalog.relation(schema or "", node.view.relname)
    if old is not None and node.replace:
        check_owner(context.transaction.catalog, get_current_role(context), old)


def _create_named(context: Context, names: tuple[str, ...]) -> None:
    may_create(context, find_creation_schema(context, names[-2] if len(names) > 1 else ""))


def _create_composite(context: Context, node: Any) -> None:
    _create_relation(context, node.typevar)
    may_use_types(context, column_types(node.coldeflist))


def _create_domain(context: Context, node: Any) -> None:
    _create_named(context, strings(node.domainname))
    may_use_types(context, [node.type_name])


def _create_routine(context: Context, node: Any) -> None:
    _create_named(context, strings(node.funcname))
    may_use_types(context, [inner(each).arg_type for each in node.parameters])
    if node.HasField("return_type"):
        may_use_types(context, [node.return_type])
    if any(each.defname == "leakproof" and inner(each.arg).boolval for each in map(inner, node.options)):
        raise SqlError.of("insufficient_privilege", "only superuser can define a leakproof function")


def _create_model(context: Context, node: Any) -> None:
    statement = context.statement.model_statement
    if isinstance(statement, CreateModel):
        _create_named(context, statement.name)


def _create_schema(context: Context, node: Any) -> None:
    may_create_schemas(context)
    if node.HasField("authrole") and node.authrole.roletype == pg.ROLESPEC_CSTRING:
        may_give_to(context, node.authrole.rolename, None)


def _create_index(context: Context, node: Any) -> None:
    found = own_relation(context, node.relation)
    if found is not None:
        may_create(context, found.schema)


# ---- change


def _alter_table(context: Context, node: Any) -> None:
    if node.objtype == pg.OBJECT_TYPE:
        own_type(context, tuple(filter(None, (node.relation.schemaname, node.relation.relname))))
        columns = [definition_field(each) for each in map(inner, node.cmds) if each.HasField("def")]
        may_use_types(context, [inner(each).type_name for each in columns])
        return
    found = own_relation(context, node.relation)
    for step in map(inner, node.cmds):
        action = pg.AlterTableType.Name(step.subtype)
        if action == "AT_ChangeOwner" and found is not None and step.newowner.rolename != found.owner:
            may_give_to(context, step.newowner.rolename, found.schema)
        if action in ("AT_AddColumn", "AT_AlterColumnType"):
            may_use_types(context, [inner(definition_field(step)).type_name])


def _alter_routine(context: Context, node: Any) -> None:
    own_routine(context, node.func, object_kind(node.objtype))


def _alter_type(context: Context, names: tuple[str, ...]) -> None:
    own_type(context, names)


def _rename(context: Context, node: Any) -> None:
    what = object_kind(node.rename_type)
    if what == "SCHEMA":
        own_schema(context, node.subname)
        if node.subname in context.transaction.catalog.schemas:
            may_create_schemas(context)
    elif what in KINDS:
        may_create(context, own_routine(context, inner(node.object), what))
    elif what == "ATTRIBUTE":
        own_type(context, tuple(filter(None, (node.relation.schemaname, node.relation.relname))))
    elif what in {"TYPE", "DOMAIN", "DOMCONSTRAINT"}:
        _rename_type(context, strings(inner(node.object).items))
    elif what == "INDEX":
        own_index(context, tuple(filter(None, (node.relation.schemaname, node.relation.relname))))
    elif what in {*_RELATIONS, "COLUMN", "TABCONSTRAINT", "TRIGGER"}:
        found = own_relation(context, node.relation)
        if found is not None and what in _RELATIONS:
            may_create(context, found.schema)


def _rename_type(context: Context, names: tuple[str, ...]) -> None:
    found = own_type(context, names)
    if found is not None:
        may_create(context, found.schema)


def _set_schema(context: Context, node: Any) -> None:
    what = object_kind(node.object_type)
    if what in KINDS:
        own_routine(context, inner(node.object), what)
    elif what in {"TYPE", "DOMAIN"}:
        own_type(context, strings(inner(node.object).items))
    elif what in _RELATIONS:
        own_relation(context, node.relation)
    may_create(context, find_creation_schema(context, node.newschema))


def _change_owner(context: Context, node: Any) -> None:
    what, owner = object_kind(node.object_type), node.newowner.rolename
    schema: str | None = None
    if what == "SCHEMA":
        own_schema(context, inner(node.object).sval)
        if inner(node.object).sval in context.transaction.catalog.schemas:
            may_give_to(context, owner, None)
            may_create_schemas(context)
        return
    if what in KINDS:
        schema = own_routine(context, inner(node.object), what)
    elif what in {"TYPE", "DOMAIN"}:
        found = own_type(context, strings(inner(node.object).items))
        schema = None if found is None else found.schema
    if schema is not None:
        may_give_to(context, owner, schema)


def _comment(context: Context, node: Any) -> None:
    what = object_kind(node.objtype)
    if what == "SCHEMA":
        own_schema(context, inner(node.object).sval)
    elif what in KINDS:
        own_routine(context, inner(node.object), what)
    elif what in {"TYPE", "DOMAIN"}:
        own_type(context, strings(inner(node.object).names))
    elif what == "INDEX":
        own_index(context, strings(inner(node.object).items))
    elif what in {"COLUMN", "TABCONSTRAINT", "TRIGGER"}:
        own_named_relation(context, strings(inner(node.object).items)[:-1], "relation")
    elif what in _RELATIONS:
        own_named_relation(context, strings(inner(node.object).items))


def _refresh(context: Context, node: Any) -> None:
    own_relation(context, node.relation)


def _alter_sequence(context: Context, node: Any) -> None:
    own_relation(context, node.sequence)


# ---- removal and maintenance


def _drop(context: Context, node: Any) -> None:
    what = object_kind(node.remove_type)
    for each in map(inner, node.objects):
        if what == "SCHEMA":
            own_schema(context, each.sval)
        elif what in KINDS:
            own_routine(context, each, what, schema_owner=True)
        elif what in {"TYPE", "DOMAIN"}:
            own_type(context, strings(each.names), schema_owner=True)
        elif what == "TRIGGER":
            own_named_relation(context, strings(each.items)[:-1], "relation")
        elif what == "INDEX":
            own_index(context, strings(each.items), schema_owner=True)
        elif what in _RELATIONS:
            own_named_relation(context, strings(each.items), schema_owner=True)


def _lock(context: Context, node: Any) -> None:
    """UPDATE, DELETE or TRUNCATE permits any mode, SELECT and INSERT only weak ones."""
    if not context.session.transactions.explicit:
        return  # the statement is refused anyway
    enough = set("wdD")
    enough |= set("r") if node.mode <= _ACCESS_SHARE else set()
    enough |= set("a") if node.mode <= _ROW_EXCLUSIVE else set()
    for each in map(inner, node.relations):
        _require_any(context, each, enough)
        found = resolve_range(context, each)
        if isinstance(found, View):
            _check_locked_view(context, found, enough)


def _check_locked_view(context: Context, view: View, enough: set[str]) -> None:
    """42501 if a view's owner, or for a security invoker view the current role, may not lock what the view reads."""
    catalog, current = context.transaction.catalog, get_current_role(context)
    for access in list_view_accesses(context.binder(), view):
        found = access.relation
        if not isinstance(found, str) and not list_object_privileges(catalog, access.role or current, found) & enough:
            raise make_denied_error(describe_kind(found), found.name)


def _truncate(context: Context, node: Any) -> None:
    for each in map(inner, node.relations):
        _require_any(context, each, {"D"})


def _require_any(context: Context, node: Any, privileges: set[str]) -> None:
    may_use_schema_of(context, node)
    found = resolve_range(context, node)
    if isinstance(found, Table | View):
        held = list_object_privileges(context.transaction.catalog, get_current_role(context), found)
        if not held & privileges:
            raise make_denied_error(describe_kind(found), found.name)


CHECKS: Mapping[str, Check] = {
    "AlterDomainStmt": lambda context, node: _alter_type(context, strings(node.type_name)),
    "AlterEnumStmt": lambda context, node: _alter_type(context, strings(node.type_name)),
    "AlterFunctionStmt": _alter_routine,
    "AlterObjectSchemaStmt": _set_schema,
    "AlterOwnerStmt": _change_owner,
    "AlterSeqStmt": _alter_sequence,
    "AlterTableStmt": _alter_table,
    "CommentStmt": _comment,
    "CompositeTypeStmt": _create_composite,
    "CreateDomainStmt": _create_domain,
    "CreateEnumStmt": lambda context, node: _create_named(context, strings(node.type_name)),
    "CreateForeignTableStmt": lambda context, node: _create_table(context, node.base_stmt),
    "CreateFunctionStmt": _create_routine,
    "CreateSchemaStmt": _create_schema,
    "CreateSeqStmt": _create_sequence,
    "CreateStmt": _create_table,
    "CreateTableAsStmt": _create_table_as,
    "DefineStmt": lambda context, node: _create_named(context, strings(node.defnames)),
    "DropStmt": _drop,
    "ImportForeignSchemaStmt": _import_foreign_schema,
    "IndexStmt": _create_index,
    "LockStmt": _lock,
    "ModelStmt": _create_model,
    "RefreshMatViewStmt": _refresh,
    "RenameStmt": _rename,
    "TruncateStmt": _truncate,
    "ViewStmt": _create_view,
}
"""The checks by the parse tree's name for a kind of statement."""
