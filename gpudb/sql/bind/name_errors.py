"""Errors for names out of reach, with PostgreSQL's suggestions (parse_relation.c).

A suggested column's name is at most three letters and half its length away, the distance of a wrong alias included.
Two equally near columns are both suggested; of three none is. A column whose name differs in capital letters alone is
suggested at any distance, which PostgreSQL does not: files bring such names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from gpudb.errors import SqlError, UndefinedColumn, UndefinedTable

MAX_DISTANCE = 3


@dataclass(frozen=True, slots=True)
class Entry:
    """A relation of a FROM clause, in reach or not: its alias, its columns, and its own name."""

    alias: str
    columns: tuple[str, ...]
    relation: str | None = None


class QueryLevel(Protocol):
    """The part of a query level's scope that name errors read."""

    @property
    def parent(self) -> QueryLevel | None:
        """The query level around this one."""

    @property
    def entries(self) -> Sequence[Entry]:
        """All relations of the FROM clause so far."""

    @property
    def lateral_aliases(self) -> frozenset[str]:
        """Aliases that LATERAL would bring into reach."""

    def resolve_relation(self, alias: str, schema: str | None = None) -> object | None:
        """Returns the relation of an alias that is in reach."""


def missing_column(scope: QueryLevel, name: str, alias: str | None = None) -> SqlError:
    """Returns 42703 for a column that is not in reach."""
    shown = f'column "{name}"' if alias is None else f"column {alias}.{name}"
    message = f"{shown} does not exist"
    exact = [entry for entry in _iter_entries(scope) if name in entry.columns and alias in (None, entry.alias)]
    if len(exact) > 1:
        detail = (
            f'There are columns named "{name}", but they are in tables that cannot be referenced'
            " from this part of the query."
        )
        hint = "Try using a table-qualified name." if alias is None else None
        return UndefinedColumn(message, detail=detail, hint=hint)
    if exact:
        detail = (
            f'There is a column named "{name}" in table "{exact[0].alias}", but it cannot be referenced'
            " from this part of the query."
        )
        return UndefinedColumn(message, detail=detail, hint=_reach_hint(scope, exact[0], alias))
    near = " or the column ".join(f'"{owner}.{column}"' for owner, column in _find_nearest(scope, name, alias))
    if near:
        return UndefinedColumn(message, hint=f"Perhaps you meant to reference the column {near}.")
    return UndefinedColumn(message, hint=_capitals_hint(scope, name, alias))


def _capitals_hint(scope: QueryLevel, name: str, alias: str | None) -> str | None:
    """Returns the hint to quote the name of a column that differs in capital letters alone."""
    for entry in _iter_entries(scope):
        for column in entry.columns if alias in (None, entry.alias) else ():
            if column.lower() == name:
                return (
                    f'Perhaps you meant to reference the column "{entry.alias}.{column}": write "{column}" in double'
                    " quotes, since other names are read in lower case."
                )
    return None


def _reach_hint(scope: QueryLevel, entry: Entry, alias: str | None) -> str | None:
    """Returns the hint how to reach the column of a relation that is out of reach."""
    if entry.alias in _collect_lateral_aliases(scope):
        return "To reference that column, you must mark this subquery with LATERAL."
    if alias is None and scope.resolve_relation(entry.alias) is not None:
        return "To reference that column, you must use a table-qualified name."
    return None


def missing_table(scope: QueryLevel, name: str) -> SqlError:
    """Returns 42P01 for an alias that no relation in reach has."""
    found = next((entry for entry in _iter_entries(scope) if name in (entry.alias, entry.relation)), None)
    if found is None:
        return UndefinedTable(f'missing FROM-clause entry for table "{name}"')
    message = f'invalid reference to FROM-clause entry for table "{name}"'
    if found.alias != name and scope.resolve_relation(found.alias) is not None:
        return UndefinedTable(message, hint=f'Perhaps you meant to reference the table alias "{found.alias}".')
    detail = f'There is an entry for table "{found.alias}", but it cannot be referenced from this part of the query.'
    lateral = "To reference that table, you must mark this subquery with LATERAL."
    return UndefinedTable(
        message, detail=detail, hint=lateral if found.alias in _collect_lateral_aliases(scope) else None
    )


def unreachable_error(alias: str, *, changed: bool) -> SqlError:
    """Returns 42P10 for a reference to the changed table, or a LATERAL reference that its join does not allow."""
    if changed:
        hint = f'There is an entry for table "{alias}", but it cannot be referenced from this part of the query.'
        message = f'invalid reference to FROM-clause entry for table "{alias}"'
        return SqlError.of("invalid_column_reference", message, hint=hint)
    detail = "The combining JOIN type must be INNER or LEFT for a LATERAL reference."
    message = f'invalid reference to FROM-clause entry for table "{alias}"'
    return SqlError.of("invalid_column_reference", message, detail=detail)


def _iter_entries(scope: QueryLevel) -> Iterator[Entry]:
    level: QueryLevel | None = scope
    while level is not None:
        yield from level.entries
        level = level.parent


def _collect_lateral_aliases(scope: QueryLevel) -> frozenset[str]:
    """Returns the aliases that LATERAL would bring into reach."""
    found: set[str] = set()
    level: QueryLevel | None = scope
    while level is not None:
        found.update(level.lateral_aliases)
        level = level.parent
    return frozenset(found)


def _find_nearest(scope: QueryLevel, name: str, alias: str | None) -> list[tuple[str, str]]:
    best, found = MAX_DISTANCE + 1, list[tuple[str, str]]()
    for entry in _iter_entries(scope):
        penalty = 0 if alias is None else _levenshtein(alias, entry.alias)
        for column in entry.columns:
            if penalty > best:
                break
            distance = _levenshtein(column, name)
            if distance > len(name.encode()) // 2:
                continue
            distance += penalty
            if distance < best:
                best, found = distance, [(entry.alias, column)]
            elif distance == best and len(found) == 2:
                # Too many suggestions: further columns at this distance are ignored
                best, found = distance - 1, []
            elif distance == best and distance <= MAX_DISTANCE:
                found.append((entry.alias, column))
    return found


def _levenshtein(left: str, right: str) -> int:
    """Returns the Levenshtein distance of two names."""
    previous = list(range(len(right) + 1))
    for row, a in enumerate(left, 1):
        current = [row]
        for column, b in enumerate(right, 1):
            current.append(min(previous[column] + 1, current[-1] + 1, previous[column - 1] + (a != b)))
        previous = current
    return previous[-1]
