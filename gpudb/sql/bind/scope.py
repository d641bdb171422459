"""Scopes: the relations in FROM and the columns that an expression can refer to, at each query level."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from gpudb.errors import SqlError
from gpudb.sql.bind.name_errors import Entry, barred, missing_column, missing_table
from gpudb.sql.bound import Cte, Expr, OutputColumn
from gpudb.types import SqlType

Columns = tuple[tuple[str, Expr], ...]


@dataclass(frozen=True, slots=True)
class Item:
    """A relation in FROM under its alias. A join's USING column may be an expression over two relations.

    `hidden` columns can be named but are not part of `*`. `row_type` is the named type of the relation's rows, if
    there is one. Rows of a `nullable` relation may be NULLs that an outer join adds. The name of a `scalar` relation, a
    function of one value, stands for that value.
    """

    alias: str
    columns: Columns
    schema: str | None = None
    hidden: Columns = ()
    row_type: SqlType | None = None
    nullable: bool = False
    scalar: bool = False


@dataclass(frozen=True, slots=True)
class Hypothetical:
    """A bound hypothetical-set aggregate over the row `args`; `of` binds the same aggregate over another row."""

    made: Expr
    args: tuple[Expr, ...]
    of: Callable[[Sequence[Expr]], Expr]


@dataclass(slots=True)
class Scope:
    """The names in reach at one query level. `columns` are the unqualified ones, in the order of `*`.

    - `entries`: all relations of the FROM clause so far, in reach or not.
    - `beside`: aliases that LATERAL would bring into reach of a subquery.
    - `barred`: aliases that the current join puts out of LATERAL's reach, or the target that is `changed`.
    - `lent`: aggregates of this level that are written in its subqueries.
    - `hypotheticals`: hypothetical-set aggregates of this level.
    - `sets`: the number of set-returning calls so far; the last one is at `set_location`.
    - `outputs`: the columns of the select list, where QUALIFY can refer to them.
    """

    parent: Scope | None = None
    items: list[Item] = field(default_factory=list)
    columns: list[tuple[str, Expr]] = field(default_factory=list)
    ctes: dict[str, tuple[Cte | CteStub, int]] = field(default_factory=dict)
    rels: set[int] = field(default_factory=set)
    clause: str = ""
    aggregates: bool = False
    windows: dict[str, object] = field(default_factory=dict)
    in_aggregate: bool = False
    in_window: bool = False
    lent: list[Expr] = field(default_factory=list)
    hypotheticals: list[Hypothetical] = field(default_factory=list)
    sets: int = 0
    set_location: int = -1
    entries: list[Entry] = field(default_factory=list)
    beside: frozenset[str] = frozenset()
    barred: frozenset[str] = frozenset()
    changed: bool = False
    outputs: Columns = ()

    def add(self, items: Sequence[Item], columns: Columns) -> None:
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

    def column(self, name: str) -> Expr | None:
        """Returns an unqualified column of this level; 42702 if several match."""
        found = [expr for each, expr in self.columns if each == name]
        if not found:
            found = [expr for item in self.items for each, expr in item.hidden if each == name]
        if not found:
            found = list({id(expr): expr for each, expr in self.outputs if each == name}.values())
        if len(found) > 1:
            raise SqlError.of("ambiguous_column", f'column reference "{name}" is ambiguous')
        if self.barred and found:
            for item in self.items:
                if item.alias in self.barred and (name, found[0]) in item.columns:
                    raise barred(item.alias, changed=self.changed)
        return found[0] if found else None

    def item(self, alias: str, schema: str | None = None) -> Item | None:
        """Returns the relation of an alias at this level; 42P09 if several match."""
        found = [item for item in self.items if item.alias == alias and (schema is None or item.schema == schema)]
        if len(found) > 1 and alias:
            raise SqlError.of("ambiguous_alias", f'table reference "{alias}" is ambiguous')
        if found and alias in self.barred:
            raise barred(alias, changed=self.changed)
        return found[0] if found else None

    def lookup(self, name: str) -> Expr:
        """Returns an unqualified column of this or an outer level; 42703 with similar names as hint."""
        level: Scope | None = self
        while level is not None:
            if (found := level.column(name)) is not None:
                return found
            level = level.parent
        raise missing_column(self, name)

    def relation(self, alias: str, schema: str | None = None) -> Item | None:
        """Returns the relation of an alias at this or an outer level."""
        level: Scope | None = self
        while level is not None:
            if (found := level.item(alias, schema)) is not None:
                return found
            level = level.parent
        return None

    def qualified(self, alias: str, name: str, schema: str | None = None) -> Expr:
        """Returns alias.name of this or an outer level; 42P01 for an unknown alias, 42703 for an unknown column."""
        item = self.relation(alias, schema)
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

    def cte(self, name: str) -> tuple[Cte | CteStub, int] | None:
        """Returns the WITH query of a name at this or an outer level, and its number."""
        level: Scope | None = self
        while level is not None:
            if name in level.ctes:
                return level.ctes[name]
            level = level.parent
        return None


KEPT = frozenset({"DEFAULT expressions", "column generation expressions"})
"""Clauses of expressions that the catalog stores with a table, except CHECK."""


_SPOKEN = {
    "JOIN": "JOIN conditions",
    "FROM": "functions in FROM",
    "CHECK": "check constraints",
    "MERGE WHEN": "MERGE WHEN conditions",
}


def spoken(clause: str) -> str:
    """Returns the name of a clause in messages."""
    return _SPOKEN.get(clause, clause)


@dataclass(frozen=True, slots=True)
class CteStub:
    """A WITH query that cannot be read as a query: a recursive one within its own recursive term, or a change of data
    without RETURNING.

    Of the recursive one the `columns` are known; `hidden` ones are not part of `*`.
    """

    columns: tuple[OutputColumn, ...]
    hidden: tuple[OutputColumn, ...] = ()
    returning: bool = True
