"""Exclusions: unique indexes on expressions or some of the rows; new rows are compared with each other and the table's.

Their expressions are PostgreSQL's, which an engine computes: it finds the pairs of rows that they forbid.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from gpudb.catalog.identifiers import quote_name
from gpudb.catalog.model import Catalog
from gpudb.catalog.postgres.deparse_operations import deparse_expression
from gpudb.catalog.tables import DataFile, Exclusion, IndexKey, Table
from gpudb.errors import InternalError, ShownValues, SqlError


class Pair(NamedTuple):
    """The keys of two rows that an exclusion forbids together, as messages show them."""

    new: Sequence[str]
    other: Sequence[str]


class PairFinder(Protocol):
    """What finds pairs of rows that an exclusion forbids: an engine."""

    def find_pair(
        self,
        catalog: Catalog,
        table: Table,
        exclusion: Exclusion,
        new: Sequence[DataFile],
        existing: Sequence[DataFile],
    ) -> Pair | None:
        """Returns a pair of a row of `new` files and one of these or `existing`; None if there is none."""


IsDeferred = Callable[[Exclusion], bool]
"""Says whether an exclusion is checked at the end of the transaction."""


def never(exclusion: Exclusion) -> bool:
    """Returns false: at its end a transaction has nothing deferred."""
    return False


def check_exclusions(
    finder: PairFinder | None,
    catalog: Catalog,
    table: Table,
    new: Sequence[DataFile],
    existing: Sequence[DataFile],
    *,
    is_deferred: IsDeferred = never,
    building: Exclusion | None = None,
) -> None:
    """Raises 23505 or 23P01 if a row of `new` files and one of these or `existing` violate an exclusion of a table.

    Those that are deferred are left out. With `building` alone that one is checked, which is being created.
    """
    for exclusion in table.exclusions if building is None else (building,):
        if not new:
            return
        if building is None and is_deferred(exclusion):
            continue
        if finder is None:
            raise InternalError("no engine computes the keys of an index")
        pair = finder.find_pair(catalog, table, exclusion, new, existing)
        if pair is not None:
            raise _make_error(table, exclusion, pair, building=building is not None)


def _make_error(table: Table, exclusion: Exclusion, pair: Pair, *, building: bool) -> SqlError:
    keys = ", ".join(map(_deparse_key, exclusion.keys))
    new, other = (", ".join(each) for each in pair)
    without: str | None
    if exclusion.is_unique:
        condition = "unique_violation"
        message = f'duplicate key value violates unique constraint "{exclusion.name}"'
        ending = f"=({new}) already exists."
        without = None
        if building:
            message = f'could not create unique index "{exclusion.name}"'
            ending, without = f"=({new}) is duplicated.", "Duplicate keys exist."
    else:
        condition = "exclusion_violation"
        message = f'conflicting key value violates exclusion constraint "{exclusion.name}"'
        ending = f"=({new}) conflicts with existing key ({keys})=({other})."
        without = "Key conflicts with existing key."
        if building:
            message = f'could not create exclusion constraint "{exclusion.name}"'
            ending, without = f"=({new}) conflicts with key ({keys})=({other}).", "Key conflicts exist."
    return SqlError.of(
        condition,
        message,
        detail=f"Key ({keys}){ending}",
        objects={"schema": table.schema, "table": table.name, "constraint": exclusion.name},
        shown=ShownValues(dict.fromkeys(exclusion.columns, new), without=without),
    )


def _deparse_key(key: IndexKey) -> str:
    return deparse_expression(key.expression) if key.expression else quote_name(key.column)
