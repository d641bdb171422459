"""DROP TYPE and DROP DOMAIN with their dependents; RENAME, SET SCHEMA, OWNER TO and COMMENT of types."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.parse_trees import walk_messages
from gpudb.catalog.relations import Sequence, View
from gpudb.catalog.routines import Routine
from gpudb.catalog.secured_objects import replace_owner
from gpudb.catalog.tables import Table
from gpudb.catalog.triggers import Trigger
from gpudb.catalog.type_replacement import contains_type, replace_type_definition
from gpudb.catalog.user_types import TypeDefinition
from gpudb.errors import FeatureNotSupported, SqlError, UndefinedObject
from gpudb.session.context import Context
from gpudb.session.ddl.constraints.alter_constraints import without_columns
from gpudb.session.ddl.triggers import triggers_of_column
from gpudb.session.ddl.types.types import check_type_name_free, find_type
from gpudb.session.objects.dependents import describe_relation, views_of_column
from gpudb.session.objects.names import permanent_schema, truncate_identifier
from gpudb.session.objects.policies import PolicyUse, list_policies, policies_of_column, remove_policies
from gpudb.session.objects.relations import put_relation
from gpudb.session.objects.removal import drop_with_dependents
from gpudb.session.objects.renamed_objects import rename_type_in_texts
from gpudb.session.results import Result
from gpudb.session.routines.alter_drop import drop_routine
from gpudb.sql.parse.parser import inner, parse, strings
from gpudb.types import type_exists


def drop_types(context: Context, node: Any, what: str) -> Result:
    """DROP TYPE | DOMAIN [IF EXISTS] name, … [CASCADE]."""
    types: list[TypeDefinition] = []
    for each in node.objects:
        names = strings(inner(each).names)
        catalog = context.transaction.catalog
        if len(names) > 1 and names[-2] not in catalog.schemas and names[-2] != "pg_catalog" and node.missing_ok:
            context.notice(f'schema "{names[-2]}" does not exist, skipping')
            continue
        found = catalog.find_type(names[-1], names[-2:-1] or context.session.search_path())
        if found is None:
            _report_missing(context, names, node.missing_ok)
        elif what == "DOMAIN" and found.user.kind != "d":
            raise SqlError.of("wrong_object_type", f'"{names[-1]}" is not a domain')
        else:
            types.append(found)
    drop_with_users(context, types, node.behavior == pg.DROP_CASCADE)
    return Result(f"DROP {what}")


def _report_missing(context: Context, names: tuple[str, ...], missing_ok: bool) -> None:
    shown = ".".join(names)
    relation = context.transaction.catalog.find(names[-1], names[-2:-1] or context.session.search_path())
    if relation is not None:
        kind = "table" if isinstance(relation, Table) else "view"
        message = f"cannot drop type {shown} because {kind} {shown} requires it"
        raise SqlError.of("dependent_objects_still_exist", message, hint=f"You can drop {kind} {shown} instead.")
    if type_exists(names[-1]):
        message = f"cannot drop type {shown} because it is required by the database system"
        raise SqlError.of("dependent_objects_still_exist", message)
    if not missing_ok:
        raise UndefinedObject(f'type "{shown}" does not exist')
    context.notice(f'type "{shown}" does not exist, skipping')


def drop_with_users(context: Context, types: list[TypeDefinition], cascade: bool) -> None:
    """Drops types and, with CASCADE, the columns, views, types and triggers that use them; 2BP01 without."""
    removed = {each.oid for each in types}
    queue = list(types)
    while queue:
        definition = queue.pop(0)
        found = _find_users(context, definition, removed)
        triggers, policies = _find_triggers(context, definition), _find_policies(context, definition)
        names = [each for each, _ in found] + [
            f"trigger {each.name} on {describe_relation(context, relation)}" for relation, each, _ in triggers
        ]
        names += [use.name(context) for use in policies]
        if names and not cascade:
            message = f"cannot drop type {definition.user} because other objects depend on it"
            reasons = [f"type {definition.user}"] * len(found) + [reason for _, _, reason in triggers]
            reasons += [f"type {definition.user}"] * len(policies)
            detail = "\n".join(f"{each} depends on {reason}" for each, reason in zip(names, reasons, strict=True))
            hint = "Use DROP ... CASCADE to drop the dependent objects too."
            raise SqlError.of("dependent_objects_still_exist", message, detail=detail, hint=hint)
        if len(names) > 1:
            detail = "\n".join(f"drop cascades to {each}" for each in names)
            context.notice(f"drop cascades to {len(names)} other objects", detail=detail)
        elif names:
            context.notice(f"drop cascades to {names[0]}")
        remove_policies(context, policies)
        for relation, trigger, _ in triggers:
            holder = context.transaction.catalog.find_relation_by_oid(relation.oid)
            assert isinstance(holder, Table | View)
            put_relation(context, replace(holder, triggers=tuple(each for each in holder.triggers if each != trigger)))
        for _, user in found:
            if isinstance(user, TypeDefinition) and user.user.kind == "c":
                _drop_fields(context, user, definition)
            elif isinstance(user, TypeDefinition):
                removed.add(user.oid)
                queue.append(user)
            elif isinstance(user, Routine):
                if user.key in context.transaction.catalog.routines:
                    drop_routine(context, user, cascade=True)
            elif isinstance(user, View):
                if context.transaction.catalog.find_relation_by_oid(user.oid) is not None:
                    drop_with_dependents(context, [user], True)
            else:
                _drop_columns(context, user, definition)
        context.transaction.set_catalog(context.transaction.catalog.drop(definition))


User = Table | View | TypeDefinition | Routine


def _find_users(context: Context, definition: TypeDefinition, removed: set[int]) -> list[tuple[str, User]]:
    """The objects that use a type, each as messages name it."""
    catalog = context.transaction.catalog
    found: list[tuple[str, User]] = []
    for other in catalog.types.values():
        if other.oid in removed:
            continue
        over = other.type.domain is not None and contains_type(replace(other.type, domain=None), definition.user)
        if over or other.parent == definition.oid:
            found.append((f"type {other.user}", other))
        for name, item in other.type.fields if other.type.user is not None else ():
            if contains_type(item, definition.user):
                found.append((f"column {name} of composite type {other.user}", other))
    for routine in catalog.routines.values():
        state = (routine.aggregate.state,) if routine.aggregate is not None else ()
        if any(
            contains_type(item, definition.user)
            for item in (routine.result, *(a.type for a in routine.arguments), *state)
        ):
            found.append((f"{'function' if routine.kind == 'a' else routine.noun} {routine.identity}", routine))
    for relation in sorted(catalog.relations.values(), key=lambda each: each.oid):
        if isinstance(relation, View):
            names = _type_names(relation.query)
            if any(contains_type(c.type, definition.user) for c in relation.columns) or definition.name in names:
                found.append((describe_relation(context, relation), relation))
            continue
        if isinstance(relation, Sequence):
            continue
        for column in relation.columns:
            if contains_type(column.type, definition.user):
                found.append((f"column {column.name} of {describe_relation(context, relation)}", relation))
    return found


def _find_triggers(context: Context, definition: TypeDefinition) -> list[tuple[Table | View, Trigger, str]]:
    """The triggers that name a type in WHEN, or a column of that type, and what each depends on."""
    found: list[tuple[Table | View, Trigger, str]] = []
    for relation in context.transaction.catalog.relations.values():
        if isinstance(relation, Sequence):
            continue
        for each in relation.triggers:
            if each.condition is not None and definition.name in _type_names(f"SELECT {each.condition}"):
                found.append((relation, each, f"type {definition.user}"))
                continue
            if isinstance(relation, View):  # its triggers name no columns
                continue
            for column in relation.columns:
                if contains_type(column.type, definition.user) and each in triggers_of_column(relation, column.name):
                    owner = f"column {column.name} of {describe_relation(context, relation)}"
                    found.append((relation, each, owner if column.name in each.columns else f"type {definition.user}"))
                    break
    return found


def _find_policies(context: Context, definition: TypeDefinition) -> list[PolicyUse]:
    """The policies that name a type, or a column of that type, in order of creation."""
    catalog = context.transaction.catalog
    columns = [
        (table, column.name)
        for table in catalog.tables()
        for column in table.columns
        if contains_type(column.type, definition.user)
    ]
    reading = {use.policy.oid for table, name in columns for use in policies_of_column(context, table, name)}
    return [
        use
        for use in list_policies(catalog)
        if use.policy.oid in reading
        or any(definition.name in _type_names(f"SELECT {text}") for text in use.policy.texts)
    ]


def _type_names(query: str) -> set[str]:
    """The last part of every type name in a query."""
    types = (each for each in walk_messages(parse(query)[0].node) if each.DESCRIPTOR.name == "TypeName")
    return {strings(each.names)[-1] for each in types if len(each.names)}


def _drop_fields(context: Context, composite: TypeDefinition, definition: TypeDefinition) -> None:
    catalog = context.transaction.catalog
    remaining = tuple((name, item) for name, item in composite.type.fields if not contains_type(item, definition.user))
    used = any(
        contains_type(c.type, composite.user) for relation in catalog.relations.values() for c in relation.columns
    )
    if used or not remaining:
        raise FeatureNotSupported(f"dropping fields of composite type {composite.user} is not supported")
    changed = replace(composite, type=replace(composite.type, fields=remaining))
    context.transaction.set_catalog(replace_type_definition(catalog, changed))


def _drop_columns(context: Context, table: Table, definition: TypeDefinition) -> None:
    current = context.transaction.table(table.oid)
    dropped = {column.name for column in current.columns if contains_type(column.type, definition.user)}
    if not dropped:
        return
    remaining = tuple(column for column in current.columns if column.name not in dropped)
    if not remaining:
        raise FeatureNotSupported("a table without columns is not supported")
    views = {view.oid: view for name in dropped for view in views_of_column(context, current, name)}
    if views:
        drop_with_dependents(context, list(views.values()), True)
    changed = replace(without_columns(current, dropped), columns=remaining)
    put_relation(context, changed)


def rename_type(context: Context, node: Any, what: str) -> Result:
    """ALTER TYPE | DOMAIN … RENAME TO."""
    definition = find_type(context, strings(inner(node.object).items))
    new = truncate_identifier(node.newname)
    check_type_name_free(context.transaction.catalog, definition.schema, new)
    return _store_renamed(context, definition, rename_definition(definition, definition.schema, new), what)


def move_type(context: Context, node: Any, what: str) -> Result:
    """ALTER TYPE | DOMAIN … SET SCHEMA."""
    definition = find_type(context, strings(inner(node.object).items))
    schema = permanent_schema(context, node.newschema, "types")
    if schema != definition.schema:
        check_type_name_free(context.transaction.catalog, schema, definition.name)
    return _store_renamed(context, definition, rename_definition(definition, schema, definition.name), what)


def comment_on_type(context: Context, node: Any) -> Result:
    """COMMENT ON TYPE | DOMAIN."""
    definition = find_type(context, strings(inner(node.object).names))
    context.transaction.set_catalog(context.transaction.catalog.put(replace(definition, comment=node.comment or None)))
    return Result("COMMENT")


def set_type_owner(context: Context, names: tuple[str, ...], owner: str, what: str) -> Result:
    """ALTER TYPE | DOMAIN … OWNER TO."""
    definition = find_type(context, names)
    if owner not in context.transaction.catalog.roles:
        raise UndefinedObject(f'role "{owner}" does not exist')
    context.transaction.set_catalog(replace_owner(context.transaction.catalog, definition, owner))
    return Result(f"ALTER {what}")


def rename_definition(definition: TypeDefinition, schema: str, name: str) -> TypeDefinition:
    """A type with another schema and name."""
    user = replace(definition.user, schema=schema, name=name)
    changed = (
        replace(definition.type, domain=user)
        if definition.type.domain is not None
        else replace(definition.type, user=user)
    )
    return replace(definition, schema=schema, name=name, type=changed)


def _store_renamed(context: Context, old: TypeDefinition, new: TypeDefinition, what: str) -> Result:
    context.transaction.set_catalog(rename_type_in_texts(context.transaction.catalog, old, new))
    changed = context.transaction.catalog.types[old.key]
    return _store(context, replace(new, default=changed.default, checks=changed.checks), what)


def _store(context: Context, definition: TypeDefinition, what: str) -> Result:
    context.transaction.set_catalog(replace_type_definition(context.transaction.catalog, definition))
    return Result(f"ALTER {what}")
