"""Scopes: the relations in FROM and the columns that an expression can refer to, at each query level."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from gpudb.errors import SqlError
from gpudb.sql.bind.name_errors import Entry, missing_column, missing_table, unreachable_error
from gpudb.sql.bound import Cte, Expr, OutputColumn
from gpudb.types import SqlType

Columns = tuple[tuple[str, Expr], ...]


@dataclass(frozen=True, slots=True)
class NamespaceItem:
    """A relation in FROM under its alias. A join's USING column may be an expression over two relations.

    `hidden` columns can be named but are not part of `*`. `row_type` is the named type of the relation's rows, if
    there is one. Rows of a `nullable` relation may be NULLs that an outer join adds. The name of a `scalar` relation, a
    function of one value, stands for that value. A
    table has its `oid`.
    """

    alias: str
    columns: Columns
    schema: str | None = None
    hidden: Columns = ()
    row_type: SqlType | None = None
    nullable: bool = False
    scalar: bool = False
    oid: int | None = None


@dataclass(frozen=True, slots=True)
class Hypothetical:
    """A bound hypothetical-set aggregate over the row `args`; `rebind` binds it over another row."""

    expr: Expr
    args: tuple[Expr, ...]
    rebind: Callable[[Sequence[Expr]], Expr]


@dataclass(slots=True)
class Repetition:
    """The columns of COLUMNS in an item of a select list, by name, and the one that is bound now."""

    columns: Columns = ()
    pattern: str | None = None
    place: int = 0


@dataclass(slots=True)
class Scope:
    """The names in reach at one query level. `columns` are the unqualified ones, in the order of `*`.

    - `entries`: all relations of the FROM clause so far, in reach or not.
    - `lateral_aliases`: aliases that LATERAL would bring into reach of a subquery.
    - `unreachable_error`: aliases that the current join puts out of LATERAL's reach, or the target that is `changed`.
    - `outer_aggregates`: aggregates of this level that are written in its subqueries.
    - `hypotheticals`: hypothetical-set aggregates of this level.
    - `set_calls`: the number of set-returning calls so far; the last one is at `set_location`.
    - `outputs`: the columns of the select list, where QUALIFY can refer to them.
    - `repetition`: what COLUMNS stands for in the item of the select list that is bound now.
    """

    parent: Scope | None = None
    items: list[NamespaceItem] = field(default_factory=list)
    columns: list[tuple[str, Expr]] = field(default_factory=list)
    ctes: dict[str, tuple[Cte | CteStub, int]] = field(default_factory=dict)
    rels: set[int] = field(default_factory=set)
    clause: str = ""
    aggregates: bool = False
    windows: dict[str, object] = field(default_factory=dict)
    in_aggregate: bool = False
    in_window: bool = False
    outer_aggregates: list[Expr] = field(default_factory=list)
    hypotheticals: list[Hypothetical] = field(default_factory=list)
    set_calls: int = 0
    set_location: int = -1
    entries: list[Entry] = field(default_factory=list)
    lateral_aliases: frozenset[str] = frozenset()
    unreachable: frozenset[str] = frozenset()
    changed: bool = False
    outputs: Columns = ()
    repetition: Repetition | None = None

    def add(self, items: Sequence[NamespaceItem], columns: Columns) -> None:
        """Adds the relations and columns of a FROM item; 42712 for a duplicate alias."""
        taken = {item.alias: item.schema for item in self.items}
        for item in items:
            # Only tables of two schemas, both without an alias, may have the same name
            if item.alias and item.alias in taken and taken[item.alias] in (None, item.schema or taken[item.alias]):
                message = f'table name "{item.alias}" specified more than once'
                raise SqlError.of("duplicate_alias", message)
            taken[item.alias] = item.schema
        self.items.extend(items)
        self.columns.extend(columns)

    def find_column(self, name: str) -> Expr | None:
        """Returns an unqualified column of this level; 42702 if several match."""
        found = [expr for each, expr in self.columns if each == name]
        if not found:
            found = [expr for item in self.items for each, expr in item.hidden if each == name]
        if not found:
            found = list({id(expr): expr for each, expr in self.outputs if each == name}.values())
        if len(found) > 1:
            raise SqlError.of("ambiguous_column", f'column reference "{name}" is ambiguous')
        if self.unreachable and found:
            for item in self.items:
                if item.alias in self.unreachable and (name, found[0]) in item.columns:
                    raise unreachable_error(item.alias, changed=self.changed)
        return found[0] if found else None

    def find_item(self, alias: str, schema: str | None = None) -> NamespaceItem | None:
        """Returns the relation of an alias at this level; 42P09 if several match."""
        found = [item for item in self.items if item.alias == alias and (schema is None or item.schema == schema)]
        if len(found) > 1 and alias:
            raise SqlError.of("ambiguous_alias", f'table reference "{alias}" is ambiguous')
        if found and alias in self.unreachable:
            raise unreachable_error(alias, changed=self.changed)
        return found[0] if found else None

    def resolve_column(self, name: str) -> Expr:
        """Returns an unqualified column of this or an outer level; 42703 with similar names as hint."""
        level: Scope | None = self
        while level is not None:
            if (found := level.find_column(name)) is not None:
                return found
            level = level.parent
        raise missing_column(self, name)

    def resolve_relation(self, alias: str, schema: str | None = None) -> NamespaceItem | None:
        """Returns the relation of an alias at this or an outer level."""
        level: Scope | None = self
        while level is not None:
            if (found := level.find_item(alias, schema)) is not None:
                return found
            level = level.parent
        return None

    def resolve_qualified(self, alias: str, name: str, schema: str | None = None) -> Expr:
        """Returns alias.name of this or an outer level; 42P01 for an unknown alias, 42703 for an unknown column."""
        item = self.resolve_relation(alias, schema)
        if item is None:
            raise missing_table(self, alias)
        found = [expr for each, expr in item.columns if each == name]
        if not found:
            found = [expr for each, expr in item.hidden if each == name]
        if not found:
            raise missing_column(self, name, alias)
        if len(found) > 1:
            raise SqlError.of("ambiguous_column", f'column reference "{name}" is ambiguous')
        return found[0]

    def resolve_cte(self, name: str) -> tuple[Cte | CteStub, int] | None:
        """Returns the WITH query of a name at this or an outer level, and its number."""
        level: Scope | None = self
        while level is not None:
            if name in level.ctes:
                return level.ctes[name]
            level = level.parent
        return None


STORED_CLAUSES = frozenset({"DEFAULT expressions", "column generation expressions"})
"""Clauses of expressions that the catalog stores with a table, except CHECK."""
POLICIES = "policy expressions"
LASTING_CLAUSES = STORED_CLAUSES | {POLICIES, "CHECK", "index expressions", "index predicates"}
"""Clauses of all expressions that the catalog stores."""


PARAMETERS = "EXECUTE parameters"
"""The clause of the values of EXECUTE."""

_CLAUSE_NAMES = {
    "JOIN": "JOIN conditions",
    "FROM": "functions in FROM",
    "CHECK": "check constraints",
    "MERGE WHEN": "MERGE WHEN conditions",
}


def get_clause_name(clause: str) -> str:
    """Returns the name of a clause in messages."""
    return _CLAUSE_NAMES.get(clause, clause)


@dataclass(frozen=True, slots=True)
class CteStub:
    """A WITH query that cannot be read as a query.

    It is a recursive one within its own recursive term, of which the `columns` are known and `hidden` ones are not
    part of `*`; or a change of data without RETURNING.
    """

    columns: tuple[OutputColumn, ...]
    hidden: tuple[OutputColumn, ...] = ()
    returning: bool = True
