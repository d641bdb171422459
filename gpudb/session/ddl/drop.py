"""DROP of schemas, tables and views with what depends on them."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import replace
from types import ModuleType
from typing import TYPE_CHECKING, Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.model import Catalog, Relation, Routine, Sequence, Table
from gpudb.catalog.row_types import as_of_now, row_type
from gpudb.catalog.type_replacement import mentions
from gpudb.errors import FeatureNotSupported, SqlError, UndefinedTable
from gpudb.session.context import Context, command, handles
from gpudb.session.cursors.open_cursors import check_unread
from gpudb.session.ddl.indexes import drop_index, find_index
from gpudb.session.dml.references import referencing
from gpudb.session.objects.dependents import DESIRED, Dependent, named, noun, relation_names, settle, spelt, views_over
from gpudb.session.objects.names import check_no_system, schema_path
from gpudb.session.results import Result
from gpudb.sql.bind.query.sources import SYSTEM_SCHEMAS
from gpudb.sql.parse.parser import inner, parse, strings

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
        from gpudb.session.routines.alter_drop import drop_routines

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
    for each in doomed:
        if isinstance(each, Table):
            check_unread(context.session, each, "DROP TABLE")
    if doomed:
        drop_with_dependents(context, doomed, cascade)
    return command(f"DROP {what}")


def type_changes() -> ModuleType:
    """The statements about types, which look here for what depends on a relation."""
    from gpudb.session.ddl import alter_drop_types as type_changes

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
    spoken = what.lower()
    if found is None:
        if find_index(context, names) is not None:
            hint = "Use DROP INDEX to remove an index."
            raise SqlError.of("wrong_object_type", f'"{names[-1]}" is not a {spoken}', hint=hint)
        check_no_system(context, "".join(names[-2:-1]), names[-1])
        if missing_ok:
            context.notice(f'{spoken} "{names[-1]}" does not exist, skipping')
            return None
        raise UndefinedTable(f'{spoken} "{names[-1]}" does not exist')
    if noun(found).upper() != what:
        hint = f"Use DROP {noun(found).upper()} to remove a {noun(found)}."
        raise SqlError.of("wrong_object_type", f'"{names[-1]}" is not a {spoken}', hint=hint)
    if isinstance(found, Sequence) and found.identity and found.owned_by is not None:
        table = catalog.by_oid(found.owned_by[0])
        column = f"column {found.owned_by[1]} of {named(context, table) if table is not None else ''}"
        message = f"cannot drop sequence {spelt(context, found)} because {column} requires it"
        raise SqlError.of("dependent_objects_still_exist", message, hint=f"You can drop {column} instead.")
    return found


def drop_with_dependents(context: Context, doomed: list[Relation], cascade: bool) -> None:
    """Drops relations, the sequences that go with them and, with CASCADE, what is made of them; 2BP01 without."""
    catalog = context.transaction.catalog
    made = _Going(context, {relation.oid: relation for relation in doomed})
    for relation in doomed:
        made.visit(relation)
    what = named(context, doomed[0]) if len(doomed) == 1 else DESIRED
    settle(context, what, made.found, cascade=cascade)
    for owner, foreign in made.keys:
        current = catalog.by_oid(owner)
        assert isinstance(current, Table)
        kept = tuple(each for each in current.constraints if each.oid != foreign)
        catalog = catalog.with_relation(replace(current, constraints=kept))
    for key in made.routines:
        catalog = catalog.without_routine(key)
    for relation in made.gone.values():
        catalog = catalog.without_relation(relation.schema, relation.name)
    for oid, name in made.undefaulted:
        user = catalog.by_oid(oid)
        if isinstance(user, Table):
            columns = tuple(replace(c, default=None) if c.name == name else c for c in user.columns)
            catalog = catalog.with_relation(replace(user, columns=columns))
    context.transaction.set_catalog(catalog)


class _Going:
    """What goes when relations go, depth first: what it is, and as messages tell it."""

    def __init__(self, context: Context, gone: dict[int, Relation]) -> None:
        self._context = context
        self._catalog = context.transaction.catalog
        self.gone = gone
        self.found: list[Dependent] = []
        self.keys: list[tuple[int, int]] = []
        self.routines: list[str] = []
        self.undefaulted: list[tuple[int, str]] = []

    def visit(self, relation: Relation) -> None:
        """Takes along what depends on a relation that goes."""
        on = named(self._context, relation)
        if isinstance(relation, Sequence):
            for table, column in _drawing(self._catalog, relation, self.gone.keys()):
                user = named(self._context, table)
                self.found.append(Dependent(f"default value for column {column} of {user}", on))
                self.undefaulted.append((table.oid, column))
            return
        if isinstance(relation, Table):
            for owned in (each for each in self._catalog.sequences() if _belongs(each, relation)):
                if owned.oid not in self.gone:
                    self.gone[owned.oid] = owned
                    self.visit(owned)
            for owner, foreign in sorted(referencing(self._catalog, relation.oid), key=lambda each: each[1].oid):
                if owner.oid not in self.gone:
                    user = named(self._context, owner)
                    self.found.append(Dependent(f"constraint {foreign.name} on {user}", on))
                    self.keys.append((owner.oid, foreign.oid))
        for routine in _routines_over(self._catalog, relation):
            if routine.key not in self.routines:
                own = f"type {spelt(self._context, relation)}" if _uses_rows(routine, relation) else on
                self.found.append(Dependent(f"{routine.noun} {routine.identity}", own))
                self.routines.append(routine.key)
        for view in views_over(self._catalog, relation):
            if view.oid not in self.gone:
                self.gone[view.oid] = view
                self.found.append(Dependent(named(self._context, view), on))
                self.visit(view)


def _belongs(sequence: Sequence, table: Table) -> bool:
    return sequence.owned_by is not None and sequence.owned_by[0] == table.oid


def _routines_over(catalog: Catalog, relation: Relation) -> list[Routine]:
    """The routines that take or return a relation's rows, or that were parsed with its name in them."""
    found = []
    for each in catalog.routines.values():
        names: set[tuple[str, str]] = set()
        for statement in parse(each.body) if each.standard else ():
            names |= relation_names(statement.node)
        if _uses_rows(each, relation) or (relation.schema, relation.name) in names:
            found.append(as_of_now(catalog, each))
    return found


def _uses_rows(routine: Routine, relation: Relation) -> bool:
    rows = row_type(relation).user
    assert rows is not None
    return routine.rows_of == relation.oid or any(mentions(each.type, rows) for each in routine.arguments)


def _drawing(catalog: Catalog, sequence: Sequence, gone: Container[int]) -> Iterator[tuple[Table, str]]:
    """The columns whose defaults draw from a sequence, of tables that stay."""
    reference = f"'{sequence.oid}'::regclass"
    for table in catalog.tables():
        for column in table.columns:
            if table.oid not in gone and column.default is not None and reference in column.default:
                yield table, column.name


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
    routines = [each for each in catalog.routines.values() if each.schema == name]
    told = [(each.oid, f"type {each.user}") for each in types]
    told += [(each.oid, f"{noun(each)} {name}.{each.name}") for each in inside]
    told += [(each.oid, f"{each.noun} {name}.{each.identity}") for each in routines]
    found = [Dependent(each, f"schema {name}") for _, each in sorted(told)]
    settle(context, f"schema {name}", found, cascade=cascade)
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
