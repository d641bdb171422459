"""What calls a function by stored expressions and queries: parts of tables, defaults of views, domains, and views."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from postgast import pg_query_pb2 as pg

from gpudb.catalog.pinned_routines import calls_by_name, calls_routine
from gpudb.catalog.policies import Policy
from gpudb.catalog.relations import Relation, View, get_stored_query
from gpudb.catalog.routines import Routine
from gpudb.catalog.tables import Check, Column, Exclude, Index, Table, Unique
from gpudb.catalog.user_types import TypeDefinition
from gpudb.errors import FeatureNotSupported, GpudbError
from gpudb.session.context import Context
from gpudb.session.objects.dependents import Dependent, describe_relation
from gpudb.session.objects.relations import put_relation
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.dml.checks import parse_expression
from gpudb.sql.bind.expressions.expressions import bind_expression
from gpudb.sql.bind.query.select import bind_query
from gpudb.sql.bind.query.sources import build_source, table_columns
from gpudb.sql.bind.scope import Scope
from gpudb.sql.bind.types.domains import bind_check
from gpudb.sql.bound import NEW_ROWS, FrameScan
from gpudb.sql.expansions import Expansions
from gpudb.sql.parse.parser import parse

Part = Column | Check | Policy | Index | Unique | Exclude
"""What of a table has an expression."""


@dataclass(frozen=True, slots=True)
class ExpressionUser:
    """A part of a table, a view or a domain whose expression calls a function; None is the domain's default."""

    table: Table | View | TypeDefinition
    part: Part | None

    def describe(self, context: Context, on: str) -> Dependent:
        """Names it as messages do."""
        if isinstance(self.table, TypeDefinition):
            name = f"type {self.table.user}"
            return Dependent(f"constraint {self.part.name}" if self.part is not None else name, on)
        assert self.part is not None
        table = describe_relation(context, self.table)
        if isinstance(self.part, Index) or (isinstance(self.part, Unique) and self.part.index):
            return Dependent(f"index {self.part.name}", on)
        if isinstance(self.part, Check | Exclude | Unique):
            return Dependent(f"constraint {self.part.name} on {table}", on)
        if isinstance(self.part, Policy):
            return Dependent(f"policy {self.part.name} on {table}", on)
        kind = "column" if self.part.generated is not None else "default value for column"
        return Dependent(f"{kind} {self.part.name} of {table}", on)


def check_bare_callers(context: Context, routine: Routine) -> None:
    """0A000 if a text of an earlier version calls a function by its name alone, which other functions have, too."""
    relations = context.transaction.catalog.relations.values()
    if find_expression_users(context, routine, bare=True) or any(
        query_calls(context, each, routine, bare=True) for each in relations
    ):
        message = (
            f"renaming {routine.name}() is not supported while stored queries or expressions call functions of its name"
        )
        raise FeatureNotSupported(message, hint="Drop what calls them first.")


def find_expression_users(context: Context, routine: Routine, *, bare: bool = False) -> list[ExpressionUser]:
    """The users of a function: of tables and views in order of their creation, then domains.

    With `bare` those that call it by its name alone.
    """
    catalog = context.transaction.catalog
    found = []
    relations = [each for each in catalog.relations.values() if isinstance(each, Table | View)]
    for relation in sorted(relations, key=lambda each: each.oid):
        owner = relation if isinstance(relation, Table) else None
        parts: list[tuple[Part, str | None]] = [
            (column, column.generated if column.generated is not None else column.default)
            for column in relation.columns
        ]
        if isinstance(relation, Table):
            parts += [(check, check.expression) for check in relation.checks]
            parts += [
                (each, _join_texts(each)) for each in relation.constraints if isinstance(each, Index | Unique | Exclude)
            ]
            parts += [(policy, f"ROW({', '.join(policy.texts)})") for policy in relation.policies]
        found += [
            ExpressionUser(relation, part)
            for part, text in parts
            if text is not None and expression_calls(context, text, routine, owner, bare=bare)
        ]
    for definition in sorted(catalog.types.values(), key=lambda each: each.oid):
        if definition.default is not None and expression_calls(context, definition.default, routine, bare=bare):
            found.append(ExpressionUser(definition, None))
            continue  # as in PostgreSQL, where the domain depends on it with its checks
        found += [
            ExpressionUser(definition, check)
            for check in definition.checks
            if expression_calls(context, check.expression, routine, definition, bare=bare)
        ]
    return found


def expression_calls(
    context: Context, text: str, routine: Routine, owner: Table | TypeDefinition | None = None, *, bare: bool = False
) -> bool:
    """Whether a stored expression over the columns of a table, or a domain's value, calls a function.

    A name without a schema, in texts of earlier versions, means what it is bound to now.
    """
    if not mentions_name(text, routine):
        return False
    tree = parse_expression(text)
    if not bare and calls_routine(tree, routine):
        return True
    if not calls_by_name(tree, routine.name):
        return False

    def bind(binder: Binder) -> None:
        if isinstance(owner, TypeDefinition):
            bind_check(binder, text, replace(owner.type, domain=None))
            return
        scope = Scope(clause="a stored expression")
        if owner is not None:
            rel = binder.new_rel()
            columns = table_columns(owner)
            source = build_source(
                binder, rel, FrameScan(rel, NEW_ROWS, columns), columns, owner.name, None, owner.schema
            )
            scope.add(source.items, source.columns)
            scope.rels.add(rel)
        bind_expression(binder, scope, tree)

    return _binds_to(context, routine, "" if owner is None else owner.schema, bind)


def query_calls(context: Context, view: Relation, routine: Routine, *, bare: bool = False) -> bool:
    """Whether a view's or materialized view's query calls a function; see `expression_calls`."""
    query = get_stored_query(view)
    if query is None or not mentions_name(query, routine):
        return False
    tree = parse(query)[0].node
    if not bare and calls_routine(tree, routine):
        return True
    return calls_by_name(tree, routine.name) and _binds_to(
        context, routine, view.schema, lambda binder: bind_query(binder, tree, None)
    )


def mentions_name(text: str, routine: Routine) -> bool:
    """Whether a stored text contains a function's name; False is certain."""
    return routine.name.replace('"', '""') in text


def _binds_to(context: Context, routine: Routine, schema: str, bind: Callable[[Binder], object]) -> bool:
    """Whether what `bind` binds calls a function by its name alone; also if it cannot be bound."""
    binder = context.binder()
    with binder.bind_stored(schema=schema or None):
        binder.expansions = expansions = Expansions()
        try:
            bind(binder)
        except GpudbError:
            return True
    return any(
        calls_routine(made, routine) and calls_by_name(pg.FuncCall.FromString(written), routine.name)
        for written, made in expansions.calls.items()
    )


def _join_texts(index: Index | Unique | Exclude) -> str | None:
    """The expressions of an index as those of a row; None without any."""
    keys, predicate = (index.keys, index.predicate) if isinstance(index, Exclude) else ((), "")
    if not isinstance(index, Exclude) and index.details is not None:
        keys, predicate = index.details.keys, index.details.predicate
    texts = [text for text in (*(key.expression for key in keys), predicate) if text]
    return f"ROW({', '.join(texts)})" if texts else None


def remove_expressions(context: Context, users: Sequence[ExpressionUser]) -> None:
    """Removes what calls a function; 0A000 for a generated column, which has values."""
    for user in users:
        if isinstance(user.table, TypeDefinition):
            _remove_from_domain(context, user)
            continue
        assert user.part is not None
        if isinstance(user.table, View):
            view = context.transaction.catalog.find_relation_by_oid(user.table.oid)
            assert isinstance(view, View)
            columns = tuple(replace(c, default=None) if c.name == user.part.name else c for c in view.columns)
            put_relation(context, replace(view, columns=columns))
            continue
        table = context.transaction.table(user.table.oid)
        if isinstance(user.part, Check | Index | Unique | Exclude):
            kept = tuple(each for each in table.constraints if each.oid != user.part.oid)
            put_relation(context, replace(table, constraints=kept))
            continue
        if isinstance(user.part, Policy):
            put_relation(context, replace(table, policies=tuple(p for p in table.policies if p.oid != user.part.oid)))
            continue
        if user.part.generated is not None:
            message = "DROP … CASCADE of a function that a generated column calls is not supported"
            raise FeatureNotSupported(message, hint=f'Drop column "{user.part.name}" of table "{table.name}" first.')
        columns = tuple(replace(c, default=None) if c.name == user.part.name else c for c in table.columns)
        put_relation(context, replace(table, columns=columns))


def _remove_from_domain(context: Context, user: ExpressionUser) -> None:
    """Removes a check of a domain; 0A000 for its default, with which the domain itself goes in PostgreSQL."""
    if user.part is None:
        message = "DROP … CASCADE of a function that a domain's default calls is not supported"
        raise FeatureNotSupported(message, hint=f"Drop the default of domain {user.table.name} first.")
    catalog = context.transaction.catalog
    definition = next(each for each in catalog.types.values() if each.oid == user.table.oid)
    checks = tuple(each for each in definition.checks if each.name != user.part.name)
    context.transaction.set_catalog(catalog.put(replace(definition, checks=checks)))
