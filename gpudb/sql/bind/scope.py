"""The names that an expression can see: relations in FROM, their columns, and the queries further out."""

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

    `hidden` columns are there for whoever names them, and no part of `*`. `row_type` is the type of its rows where
    that has a name; an outer join may make up rows of a `nullable` one. The name of a
    `scalar` one, a function of one value, stands for that value.
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
    """A rank as it was made of `args`, the row that it is of; `of` makes the same one of another row."""

    made: Expr
    args: tuple[Expr, ...]
    of: Callable[[Sequence[Expr]], Expr]


@dataclass(slots=True)
class Scope:
    """What one query level sees. `columns` are the unqualified ones, in the order that `*` gives them.

    `entries` are all relations that its FROM has brought so far, seen or not; `beside` the aliases that LATERAL would
    let a subquery see; `barred` those that LATERAL may not reach over the join at hand, or because they are
    to be `changed`. `lent` are
    aggregates of this query that stand in subqueries of it, `hypotheticals` its ranks of rows that are not there;
    `sets` counts calls that give sets, the last one at
    `set_location`. `outputs` are the select list's columns, where QUALIFY sees those too.
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
        """Takes in what a FROM item offers; 42712 for an alias given twice."""
        taken = {item.alias: item.schema for item in self.items}
        for item in items:
            # Only tables of two schemas may have one name, neither of them under an alias
            if item.alias and item.alias in taken and taken[item.alias] in (None, item.schema or taken[item.alias]):
                message = f'table name "{item.alias}" specified more than once'
                raise SqlError.of("duplicate_alias", message)
            taken[item.alias] = item.schema
        self.items.extend(items)
        self.columns.extend(columns)

    def column(self, name: str) -> Expr | None:
        """An unqualified column at this level alone; 42702 if several match."""
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
        """The relation of that alias at this level alone; 42P09 if several have it."""
        found = [item for item in self.items if item.alias == alias and (schema is None or item.schema == schema)]
        if len(found) > 1 and alias:
            raise SqlError.of("ambiguous_alias", f'table reference "{alias}" is ambiguous')
        if found and alias in self.barred:
            raise barred(alias, changed=self.changed)
        return found[0] if found else None

    def lookup(self, name: str) -> Expr:
        """An unqualified column here or further out; 42703 with near names as hint."""
        level: Scope | None = self
        while level is not None:
            if (found := level.column(name)) is not None:
                return found
            level = level.parent
        raise missing_column(self, name)

    def relation(self, alias: str, schema: str | None = None) -> Item | None:
        """The relation of that alias here or further out."""
        level: Scope | None = self
        while level is not None:
            if (found := level.item(alias, schema)) is not None:
                return found
            level = level.parent
        return None

    def qualified(self, alias: str, name: str, schema: str | None = None) -> Expr:
        """alias.name, here or further out; 42P01 for an unknown alias, 42703 for an unknown column."""
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
        """The WITH query of that name here or further out, and its number."""
        level: Scope | None = self
        while level is not None:
            if name in level.ctes:
                return level.ctes[name]
            level = level.parent
        return None


KEPT = frozenset({"DEFAULT expressions", "column generation expressions"})
"""Clauses of expressions that a table keeps, beside CHECK."""


_SPOKEN = {
    "JOIN": "JOIN conditions",
    "FROM": "functions in FROM",
    "CHECK": "check constraints",
    "MERGE WHEN": "MERGE WHEN conditions",
}


def spoken(clause: str) -> str:
    """A clause as messages call it."""
    return {
        "JOIN": "JOIN conditions",
        "FROM": "functions in FROM",
        "CHECK": "check constraints",
        "MERGE WHEN": "MERGE WHEN conditions",
    }.get(clause, clause)


@dataclass(frozen=True, slots=True)
class CteStub:
    """A WITH query that is no query to read: a recursive one while its own recursive term is being bound, of which
    the columns are known (`hidden` ones are no part of `*`), or a change of data without RETURNING."""

    columns: tuple[OutputColumn, ...]
    hidden: tuple[OutputColumn, ...] = ()
    returning: bool = True
