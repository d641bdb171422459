"""DROP of schemas, tables and views with what depends on them."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import replace
from types import ModuleType
from typing import TYPE_CHECKING, Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.model import Catalog, Relation, Routine, Sequence, Table, stored_query
from gpudb.errors import FeatureNotSupported, SqlError, UndefinedTable
from gpudb.session.context import Context, command, handles
from gpudb.session.foreign_keys import release
from gpudb.session.indexes import drop_index, find_index
from gpudb.session.names import check_no_system, schema_path
from gpudb.session.results import Result
from gpudb.session.sequences import owned_sequences
from gpudb.sql.bind.from_clause import SYSTEM_SCHEMAS
from gpudb.sql.parse import inner, parse, strings

if TYPE_CHECKING:
    from gpudb.session.session import Session


@handles("DropStmt")
def drop(context: Context) -> Result:
    """DROP TABLE, VIEW, INDEX, SCHEMA, TYPE or DOMAIN [IF EXISTS] … [CASCADE]."""
    node: Any = context.statement.node
    what = pg.ObjectType.Name(node.remove_type).removeprefix("OBJECT_")
    context.session.check_writable(f"DROP {what}")
    cascade = node.behavior == pg.DROP_CASCADE
    if what in {"TYPE", "DOMAIN"}:
        dropped: Result = type_changes().drop_types(context, node, what)
        return dropped
    if what in {"FUNCTION", "PROCEDURE", "ROUTINE", "AGGREGATE"}:
        from gpudb.session.routine_changes import drop_routines

        return drop_routines(context, node, what)
    what = what.replace("MATVIEW", "MATERIALIZED VIEW")
    if what not in {"TABLE", "VIEW", "INDEX", "SCHEMA", "SEQUENCE", "MATERIALIZED VIEW"}:
        raise FeatureNotSupported(f"DROP {what} is not supported")
    doomed: list[Relation] = []
    for each in node.objects:
        if what == "SCHEMA":
            _drop_schema(context, inner(each).sval, node.missing_ok, cascade)
        elif what == "INDEX":
            drop_index(context, strings(inner(each).items), missing_ok=node.missing_ok, cascade=cascade)
        else:
            found = _to_drop(context, strings(inner(each).items), what, node.missing_ok)
            doomed += [] if found is None else [found]
    if doomed:
        drop_with_dependents(context, doomed, cascade)
    return command(f"DROP {what}")


def type_changes() -> ModuleType:
    """The statements about types, which look here for what depends on a relation."""
    from gpudb.session import type_changes

    return type_changes


def _to_drop(context: Context, names: tuple[str, ...], what: str, missing_ok: bool) -> Relation | None:
    """The relation that DROP names; None for one that need not be there and is not."""
    catalog = context.transaction.catalog
    path = schema_path(context, names[-2] if len(names) > 1 else "")
    if len(names) > 1 and names[-2] not in (*catalog.schemas, "pg_temp"):
        check_no_system(context, names[-2], names[-1])
        if missing_ok:
            context.notice(f'schema "{names[-2]}" does not exist, skipping')
            return None
        raise SqlError.of("invalid_schema_name", f'schema "{names[-2]}" does not exist')
    found = catalog.find(names[-1], path)
    noun = what.lower()
    if found is None:
        if find_index(context, names) is not None:
            hint = "Use DROP INDEX to remove an index."
            raise SqlError.of("wrong_object_type", f'"{names[-1]}" is not a {noun}', hint=hint)
        check_no_system(context, "".join(names[-2:-1]), names[-1])
        if missing_ok:
            context.notice(f'{noun} "{names[-1]}" does not exist, skipping')
            return None
        raise UndefinedTable(f'{noun} "{".".join(names)}" does not exist')
    if _noun(found).upper() != what:
        hint = f"Use DROP {_noun(found).upper()} to remove a {_noun(found)}."
        raise SqlError.of("wrong_object_type", f'"{names[-1]}" is not a {noun}', hint=hint)
    if isinstance(found, Sequence) and found.identity and found.owned_by is not None:
        table = catalog.by_oid(found.owned_by[0])
        column = f"column {found.owned_by[1]} of table {table.name if table is not None else ''}"
        message = f"cannot drop sequence {found.name} because {column} requires it"
        raise SqlError.of("dependent_objects_still_exist", message, hint=f"You can drop {column} instead.")
    return found


_NOUNS = {"r": "table", "v": "view", "S": "sequence", "m": "materialized view"}


def _noun(relation: Relation) -> str:
    return _NOUNS[relation.kind]


def drop_with_dependents(context: Context, doomed: list[Relation], cascade: bool) -> None:
    """Drops relations, the sequences that go with them and, with CASCADE, what is made of them; 2BP01 without."""
    release(context, doomed, cascade=cascade)
    catalog = context.transaction.catalog
    gone = {relation.oid: relation for relation in doomed}
    queue = list(doomed)
    undefaulted: list[tuple[int, str]] = []
    while queue:
        relation = queue.pop()
        if isinstance(relation, Table):
            owned = [each for each in owned_sequences(context, relation.oid) if each.oid not in gone]
            gone.update((each.oid, each) for each in owned)
            queue += owned
        if isinstance(relation, Sequence):
            for table, column in _drawing(catalog, relation, gone.keys()):
                what = f"default value for column {column} of table {table.name}"
                if not cascade:
                    raise _still_needed(relation, f"{what} depends on sequence {relation.name}")
                context.notice(f"drop cascades to {what}")
                undefaulted.append((table.oid, column))
            continue
        for routine in _routines_over(catalog, relation):
            what = f"{'procedure' if routine.kind == 'p' else 'function'} {routine.identity}"
            if not cascade:
                on = (
                    f"type {relation.name}" if routine.rows_of == relation.oid else f"{_noun(relation)} {relation.name}"
                )
                raise _still_needed(relation, f"{what} depends on {on}")
            context.notice(f"drop cascades to {what}")
            catalog = catalog.without_routine(routine.key)
        for view in dependents(context, relation):
            if view.oid in gone:
                continue
            if not cascade:
                what = f"{_noun(view)} {view.name}"
                raise _still_needed(relation, f"{what} depends on {_noun(relation)} {relation.name}")
            context.notice(f"drop cascades to {_noun(view)} {view.name}")
            gone[view.oid] = view
            queue.append(view)
    for relation in gone.values():
        catalog = catalog.without_relation(relation.schema, relation.name)
    for oid, name in undefaulted:
        user = catalog.by_oid(oid)
        if isinstance(user, Table):
            columns = tuple(replace(c, default=None) if c.name == name else c for c in user.columns)
            catalog = catalog.with_relation(replace(user, columns=columns))
    context.transaction.set_catalog(catalog)


def _routines_over(catalog: Catalog, relation: Relation) -> list[Routine]:
    """The routines that return a relation's rows, or that were parsed with its name in them."""
    found = []
    for each in catalog.routines.values():
        names: set[tuple[str, str]] = set()
        for statement in parse(each.body) if each.standard else ():
            names |= relation_names(statement.node)
        if each.rows_of == relation.oid or (relation.schema, relation.name) in names:
            found.append(each)
    return found


def _still_needed(relation: Relation, detail: str) -> SqlError:
    message = f"cannot drop {_noun(relation)} {relation.name} because other objects depend on it"
    hint = "Use DROP ... CASCADE to drop the dependent objects too."
    return SqlError.of("dependent_objects_still_exist", message, detail=detail, hint=hint)


def _drawing(catalog: Catalog, sequence: Sequence, gone: Container[int]) -> Iterator[tuple[Table, str]]:
    """The columns whose defaults draw from a sequence, of tables that stay."""
    reference = f"'{sequence.oid}'::regclass"
    for table in catalog.tables():
        for column in table.columns:
            if table.oid not in gone and column.default is not None and reference in column.default:
                yield table, column.name


def dependents(context: Context, relation: Relation) -> list[Relation]:
    """The views, materialized ones too, whose queries name a relation."""
    found: list[Relation] = []
    for view in context.transaction.catalog.relations.values():
        query = stored_query(view)
        if query is not None and view.oid != relation.oid:
            names = relation_names(parse(query)[0].node)
            if (relation.schema, relation.name) in names:
                found.append(view)
    return found


def relation_names(node: Any) -> set[tuple[str, str]]:
    """Every qualified relation name in a parse tree."""
    if node.DESCRIPTOR.name == "RangeVar":
        return {(node.schemaname, node.relname)}
    names: set[tuple[str, str]] = set()
    for field, value in node.ListFields():
        if field.message_type is not None:
            for each in value if not hasattr(value, "DESCRIPTOR") else (value,):
                names |= relation_names(each)
    return names


def _goes_along(relation: Relation) -> bool:
    """Whether a relation goes with another one: a column's sequence does."""
    return isinstance(relation, Sequence) and relation.owned_by is not None


def _drop_schema(context: Context, name: str, missing_ok: bool, cascade: bool) -> None:
    catalog = context.transaction.catalog
    if name in SYSTEM_SCHEMAS:
        message = f"cannot drop schema {name} because it is required by the database system"
        raise SqlError.of("dependent_objects_still_exist", message)
    if name not in catalog.schemas:
        if missing_ok:
            context.notice(f'schema "{name}" does not exist, skipping')
            return
        raise SqlError.of("invalid_schema_name", f'schema "{name}" does not exist')
    inside = [
        relation for relation in catalog.relations.values() if relation.schema == name and not _goes_along(relation)
    ]
    types = [each for each in catalog.types.values() if each.schema == name]
    spoken = [*(f"type {each.user}" for each in types), *(f"{_noun(r)} {name}.{r.name}" for r in inside)]
    routines = [each for each in catalog.routines.values() if each.schema == name]
    spoken += [f"{'procedure' if each.kind == 'p' else 'function'} {name}.{each.identity}" for each in routines]
    if spoken and not cascade:
        message = f"cannot drop schema {name} because other objects depend on it"
        detail = "\n".join(f"{each} depends on schema {name}" for each in spoken)
        hint = "Use DROP ... CASCADE to drop the dependent objects too."
        raise SqlError.of("dependent_objects_still_exist", message, detail=detail, hint=hint)
    for each in spoken:
        context.notice(f"drop cascades to {each}")
    drop_with_dependents(context, inside, cascade)
    type_changes().drop_with_users(context, types, cascade)
    for routine in routines:
        context.transaction.set_catalog(context.transaction.catalog.without_routine(routine.key))
    context.transaction.set_catalog(context.transaction.catalog.without_schema(name))


def drop_temporary_in(context: Context) -> None:
    """DISCARD TEMP: drops the session's temporary relations."""
    schema = context.session.temporary_schema
    inside = [r for r in context.transaction.catalog.relations.values() if r.schema == schema]
    if inside:
        drop_with_dependents(context, inside, True)


def drop_temporary(session: Session) -> None:
    """At a session's end its temporary relations go, with their schema."""
    schema = session.temporary_schema
    if schema not in session.database.store.catalog().schemas:
        return
    with session.database.store.begin() as transaction:
        catalog = transaction.catalog
        for relation in [r for r in catalog.relations.values() if r.schema == schema]:
            catalog = catalog.without_relation(schema, relation.name)
        transaction.set_catalog(catalog.without_schema(schema))
        transaction.commit()
