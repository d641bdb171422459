"""SEARCH and CYCLE of a recursive WITH query: columns with the search order, and with a mark of cycles.

Their values are rows: the path so far as an array of rows, or the depth followed by the columns. The first term starts
them; the second extends those of the row that it reads (PostgreSQL's rewriteSearchCycle.c).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.expressions.calls import call_function
from gpudb.sql.bind.expressions.expressions import bind_expression
from gpudb.sql.bind.expressions.operators import apply_operator, conjunction
from gpudb.sql.bind.expressions.records import build_row, get_field
from gpudb.sql.bind.scope import Scope
from gpudb.sql.bind.types.coercion import unify_branches
from gpudb.sql.bound import (
    Array,
    Call,
    Case,
    Column,
    Constant,
    CteScan,
    Derived,
    Expr,
    From,
    Join,
    OutputColumn,
    Query,
    Select,
    SetOperation,
)
from gpudb.sql.parse.parser import strings
from gpudb.types import INT8


@dataclass(frozen=True, slots=True)
class SearchCycle:
    """The clauses of query `name`: the positions of the columns that they read, and the names of those added."""

    binder: Binder
    name: str
    order: tuple[int, ...]
    breadth: bool
    sequence: str
    cycle: tuple[int, ...]
    mark: str
    path: str
    value: Expr | None = None
    default: Expr | None = None

    def start(self, first: Query) -> Select:
        """Returns the first term with the added columns."""
        if isinstance(first, SetOperation):
            message = "with a SEARCH or CYCLE clause, the left side of the UNION must be a SELECT"
            raise FeatureNotSupported(message, position=0)
        rel, columns = self._columns(first)
        extra: list[Expr] = []
        if self.sequence:
            here = _build_row(columns, self.order)
            extra.append(build_row((Constant(0, INT8), *here.items)) if self.breadth else _as_array(here))
        if self.default is not None:
            extra += [self.default, _as_array(_build_row(columns, self.cycle))]
        return self._with(first, rel, columns, extra)

    def read_previous(self, second: Query, number: int, first_term: Query, width: int) -> Select:
        """Returns the second term with the added columns of the row that it reads, but no row that closed a cycle."""
        if not isinstance(second, Select):
            message = "with a SEARCH or CYCLE clause, the right side of the UNION must be a SELECT"
            raise SqlError.of("syntax_error", message, position=0)
        scans = [each for each in _list_relations(second.source) if isinstance(each, CteScan) and each.cte == number]
        if not scans:
            message = (
                f'with a SEARCH or CYCLE clause, the recursive reference to WITH query "{self.name}" must be at the top'
                " level of its right-hand SELECT"
            )
            raise FeatureNotSupported(message, position=0)
        if second.grouped or second.distinct or len(scans) != 1:
            raise FeatureNotSupported("SEARCH and CYCLE over this recursive term are not supported")
        previous = tuple(
            Column(scans[0].rel, index, c.type, c.name) for index, c in enumerate(first_term.columns[width:], width)
        )
        where = [second.where] if second.where is not None else []
        if self.value is not None:
            where.append(apply_operator(self.binder, "<>", previous[bool(self.sequence)], self.value))
        columns = (*second.columns, *first_term.columns[width:])
        condition = conjunction(where) if where else None
        return replace(second, columns=columns, targets=(*second.targets, *previous), where=condition)

    def extend(self, second: Query, width: int) -> Select:
        """Returns the second term with the added columns extended by one step."""
        rel, all_columns = self._columns(second)
        columns, previous = all_columns[:width], list(all_columns[width:])
        extra: list[Expr] = []
        if self.sequence:
            here, before = _build_row(columns, self.order), previous.pop(0)
            if self.breadth:
                deeper = apply_operator(self.binder, "+", get_field(before, 0), Constant(1, INT8))
                extra.append(build_row((deeper, *here.items)))
            else:
                extra.append(self._appended(before, here))
        if self.value is not None and self.default is not None:
            here, path = _build_row(columns, self.cycle), previous[1]
            met = call_function(self.binder, "arraycontains", (path, _as_array(here)))
            extra.append(Case(((met, self.value),), self.default, self.default.type))
            extra.append(self._appended(path, here))
        return self._with(second, rel, columns, extra)

    def _appended(self, path: Expr, here: Expr) -> Expr:
        result = call_function(self.binder, "array_append", (path, here))
        assert isinstance(result, Call)
        return Call(result.function, (path, here), path.type)

    def _columns(self, query: Query) -> tuple[int, tuple[Column, ...]]:
        rel = self.binder.new_rel()
        return rel, tuple(Column(rel, index, c.type, c.name) for index, c in enumerate(query.columns))

    def _with(self, query: Query, rel: int, columns: Sequence[Column], extra: Sequence[Expr]) -> Select:
        names = [name for name in (self.sequence, self.mark, self.path) if name]
        added = tuple(OutputColumn(name, expr.type) for name, expr in zip(names, extra, strict=True))
        return Select((*query.columns[: len(columns)], *added), (*columns, *extra), Derived(rel, query))


def bind_search_cycle(binder: Binder, scope: Scope, node: Any, columns: Sequence[OutputColumn]) -> SearchCycle | None:
    """Binds the SEARCH and CYCLE clauses of a CommonTableExpr message over the columns of its first term."""
    if not node.HasField("search_clause") and not node.HasField("cycle_clause"):
        return None
    names = [column.name for column in columns]
    search, cycle = node.search_clause, node.cycle_clause
    order = _find_positions(binder, names, strings(search.search_col_list), "search", search.location)
    looked = _find_positions(binder, names, strings(cycle.cycle_col_list), "cycle", cycle.location)
    _check_added(binder, names, search, cycle)
    result = SearchCycle(
        binder,
        node.ctename,
        order,
        search.search_breadth_first,
        search.search_seq_column,
        looked,
        cycle.cycle_mark_column,
        cycle.cycle_path_column,
    )
    if not looked:
        return result
    marks = [bind_expression(binder, scope, each) for each in (cycle.cycle_mark_value, cycle.cycle_mark_default)]
    (value, default), _ = unify_branches(binder, marks, "CYCLE")
    return replace(result, value=value, default=default)


def _check_added(binder: Binder, names: Sequence[str], search: Any, cycle: Any) -> None:
    """Raises 42601 if the name of an added column is already in use."""
    sequence, mark, path = search.search_seq_column, cycle.cycle_mark_column, cycle.cycle_path_column
    kinds = {"search sequence column name": sequence, "cycle mark column name": mark, "cycle path column name": path}
    for what, name in kinds.items():
        if name and name in names:
            message = f'{what} "{name}" already used in WITH query column list'
            raise binder.locate(SqlError.of("syntax_error", message), _clause(what, search, cycle).location)
    one, two, three = kinds
    for what, other in ((two, three), (one, two), (one, three)):
        if kinds[what] and kinds[what] == kinds[other]:
            message = f"{what} and {other} are the same"
            raise binder.locate(SqlError.of("syntax_error", message), _clause(what, search, cycle).location)


def _clause(what: str, search: Any, cycle: Any) -> Any:
    return search if what.startswith("search") else cycle


def _find_positions(
    binder: Binder, names: Sequence[str], column_list: Sequence[str], clause: str, location: int
) -> tuple[int, ...]:
    for index, name in enumerate(column_list):
        if name not in names:
            message = f'{clause} column "{name}" not in WITH query column list'
            raise binder.locate(SqlError.of("syntax_error", message), location)
        if name in column_list[:index]:
            message = f'{clause} column "{name}" specified more than once'
            raise binder.locate(SqlError.of("duplicate_column", message), location)
    return tuple(names.index(name) for name in column_list)


def _list_relations(source: From | None) -> list[From]:
    """Returns the joined relations of a FROM."""
    if isinstance(source, Join):
        return _list_relations(source.left) + _list_relations(source.right)
    return [] if source is None else [source]


def _build_row(columns: Sequence[Column], places: Sequence[int]) -> Any:
    return build_row([columns[place] for place in places])


def _as_array(here: Expr) -> Array:
    return Array((here,), here.type.array)
