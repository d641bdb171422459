"""DROP of relations, indexes, schemas, types and routines, with their dependents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.model_functions import drop_function
from gpudb.catalog.relations import Relation, Sequence
from gpudb.catalog.tables import Table
from gpudb.errors import FeatureNotSupported, SqlError, UndefinedTable
from gpudb.session.context import Context
from gpudb.session.cursors.open_cursors import check_not_scanned
from gpudb.session.ddl.databases.extensions import drop_extensions
from gpudb.session.ddl.foreign_data.foreign_objects import drop_foreign_objects
from gpudb.session.ddl.indexes.indexes import drop_index, find_index
from gpudb.session.ddl.parse_nodes import object_kind
from gpudb.session.ddl.policies import drop_policies
from gpudb.session.ddl.triggers import drop_triggers
from gpudb.session.ddl.types.alter_drop_types import drop_types, drop_with_users
from gpudb.session.objects.dependents import (
    Dependent,
    describe_relation,
    qualified_name,
    refuse_or_report,
    relation_kind,
)
from gpudb.session.objects.names import check_not_system, schema_path
from gpudb.session.objects.removal import drop_with_dependents
from gpudb.session.results import Result
from gpudb.session.routines.alter_drop import drop_routines, find_trigger_users, remove_triggers
from gpudb.sql.bind.query.sources import SYSTEM_SCHEMAS
from gpudb.sql.parse.parser import inner, strings

if TYPE_CHECKING:
    pass


def drop(context: Context) -> Result:
    """DROP TABLE, VIEW, INDEX, SCHEMA, EXTENSION, TYPE or DOMAIN [IF EXISTS] … [CASCADE]."""
    node: Any = context.statement.node
    what = object_kind(node.remove_type)
    context.check_writable(f"DROP {what}")
    cascade = node.behavior == pg.DROP_CASCADE
    if what in {"TYPE", "DOMAIN"}:
        return drop_types(context, node, what)
    if what in {"FUNCTION", "PROCEDURE", "ROUTINE", "AGGREGATE"}:
        return drop_routines(context, node, what)
    if what == "TRIGGER":
        return drop_triggers(context, node)
    if what == "POLICY":
        return drop_policies(context, node)
    if what == "EXTENSION":
        return drop_extensions(context, node)
    what = what.replace("MATVIEW", "MATERIALIZED VIEW").replace("FOREIGN_TABLE", "FOREIGN TABLE")
    if what in {"FOREIGN_SERVER", "FDW"}:
        return drop_foreign_objects(context, node, {"FDW": "FOREIGN DATA WRAPPER"}.get(what, "SERVER"))
    if what not in {"TABLE", "VIEW", "INDEX", "SCHEMA", "SEQUENCE", "MATERIALIZED VIEW", "FOREIGN TABLE"}:
        raise FeatureNotSupported(f"DROP {what.replace('_', ' ')} is not supported")
    relations: list[Relation] = []
    for each in node.objects:
        if what == "SCHEMA":
            drop_schema(context, inner(each).sval, missing_ok=node.missing_ok, cascade=cascade)
        elif what == "INDEX":
            drop_index(context, strings(inner(each).items), missing_ok=node.missing_ok, cascade=cascade)
        else:
            found = _find_relation(context, strings(inner(each).items), what, node.missing_ok)
            relations += [] if found is None else [found]
    for each in relations:
        if isinstance(each, Table):
            check_not_scanned(context.session, each, "DROP TABLE")
    if relations:
        drop_with_dependents(context, relations, cascade)
    return Result(f"DROP {what}")


def _find_relation(context: Context, names: tuple[str, ...], what: str, missing_ok: bool) -> Relation | None:
    """The relation of a DROP; None if it does not exist and IF EXISTS is given."""
    catalog = context.transaction.catalog
    path = schema_path(context, names[-2] if len(names) > 1 else "")
    if len(names) > 1 and names[-2] not in (*catalog.schemas, "pg_temp"):
        check_not_system(context, names[-2], names[-1])
        if missing_ok:
            context.notice(f'schema "{names[-2]}" does not exist, skipping')
            return None
        raise SqlError.of("invalid_schema_name", f'schema "{names[-2]}" does not exist')
    found = catalog.find(names[-1], path)
    spoken = what.lower()
    if found is None:
        if find_index(context, names) is not None:
            hint = "Use DROP INDEX to remove an index."
            raise SqlError.of("wrong_object_type", f'"{names[-1]}" is not a {spoken}', hint=hint)
        check_not_system(context, "".join(names[-2:-1]), names[-1])
        if missing_ok:
            context.notice(f'{spoken} "{names[-1]}" does not exist, skipping')
            return None
        raise UndefinedTable(f'{spoken} "{names[-1]}" does not exist')
    if relation_kind(found).upper() != what:
        hint = f"Use DROP {relation_kind(found).upper()} to remove a {relation_kind(found)}."
        raise SqlError.of("wrong_object_type", f'"{names[-1]}" is not a {spoken}', hint=hint)
    if isinstance(found, Sequence) and found.identity and found.owned_by is not None:
        table = catalog.find_relation_by_oid(found.owned_by[0])
        column = f"column {found.owned_by[1]} of {describe_relation(context, table) if table is not None else ''}"
        message = f"cannot drop sequence {qualified_name(context, found)} because {column} requires it"
        raise SqlError.of("dependent_objects_still_exist", message, hint=f"You can drop {column} instead.")
    return found


def _is_owned_sequence(relation: Relation) -> bool:
    """Whether a relation is dropped with another one: the sequence of a column is."""
    return isinstance(relation, Sequence) and relation.owned_by is not None


def drop_schema(context: Context, name: str, *, missing_ok: bool, cascade: bool) -> None:
    """Drops a schema and, with CASCADE, what is in it; 3F000, 2BP01."""
    catalog = context.transaction.catalog
    if name in SYSTEM_SCHEMAS:
        message = f"cannot drop schema {name} because it is required by the database system"
        raise SqlError.of("dependent_objects_still_exist", message)
    if name not in catalog.schemas:
        if missing_ok:
            context.notice(f'schema "{name}" does not exist, skipping')
            return
        raise SqlError.of("invalid_schema_name", f'schema "{name}" does not exist')
    relations = [
        relation
        for relation in catalog.relations.values()
        if relation.schema == name and not _is_owned_sequence(relation)
    ]
    types = [each for each in catalog.types.values() if each.schema == name]
    routines = [each for each in catalog.routines.values() if each.schema == name]
    members = [(each.oid, f"type {each.user}") for each in types]
    members += [(each.oid, f"{relation_kind(each)} {name}.{each.name}") for each in relations]
    members += [(each.oid, f"function {name}.{each.identity}") for each in routines]
    triggers = [
        (function.oid, Dependent(f"trigger {each.name} on {describe_relation(context, relation)}", shown))
        for function in routines
        for shown in [f"function {name}.{function.identity}"]
        for relation, each in find_trigger_users(catalog, function)
        if relation.schema != name
    ]
    extensions = [each for each in catalog.extensions.values() if each.schema == catalog.schemas[name].oid]
    members += [(each.oid, f"extension {each.name}") for each in extensions]
    found: list[Dependent] = []
    for oid, member in sorted(members):
        found.append(Dependent(member, f"schema {name}"))
        found += [each for function, each in triggers if function == oid]
    refuse_or_report(context, f"schema {name}", found, cascade=cascade)
    drop_with_dependents(context, relations, cascade)
    drop_with_users(context, types, cascade)
    for routine in routines:
        remove_triggers(context, routine)
        context.transaction.set_catalog(drop_function(context.transaction.catalog, routine))
    catalog = context.transaction.catalog
    for extension in extensions:
        catalog = catalog.drop(extension)
    for default in [each for each in catalog.default_acls.values() if each.schema == name]:
        catalog = catalog.drop(default)
    context.transaction.set_catalog(catalog.drop(catalog.schemas[name]))
