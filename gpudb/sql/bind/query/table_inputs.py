"""The queries of functions in FROM over queries: their texts bound, and their columns chosen and converted.

A text is bound with the rights and the search path of the call's place, and sees no name of the statement around it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpudb.errors import FeatureNotSupported, SqlError, UndefinedColumn
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.query.table_arguments import Arguments
from gpudb.sql.bind.types.coercion import coerce
from gpudb.sql.bound import Column, Derived, Expr, OutputColumn, Query, Select
from gpudb.sql.parse.parser import changes_data, parse
from gpudb.types import FLOAT8, INT4, TEXT, SqlType
from gpudb.types.facts import NUMBERS


@dataclass(frozen=True, slots=True)
class Input:
    """A query with first the columns that the result takes over, then features as float8, then what else is read."""

    query: Query
    kept: tuple[OutputColumn, ...]
    features: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Text:
    """A text that is bound, as relation `rel`, and its function."""

    binder: Binder
    function: str
    query: Query
    rel: int

    @property
    def columns(self) -> tuple[OutputColumn, ...]:
        """The query's columns."""
        return self.query.columns

    def find(self, name: str) -> int:
        """Returns the place of a column; 42703, 42702."""
        places = [place for place, column in enumerate(self.columns) if column.name == name]
        if not places:
            raise UndefinedColumn(f'column "{name}" does not exist in the query of {self.function}', position=0)
        if len(places) > 1:
            raise SqlError.of("ambiguous_column", f'column reference "{name}" is ambiguous', position=0)
        return places[0]

    def read(self, place: int) -> Column:
        """Returns a column."""
        column = self.columns[place]
        return Column(self.rel, place, column.type, column.name)

    def read_float(self, place: int) -> Expr:
        """Returns a number or a boolean as float8; 42804."""
        expr: Expr = self.read(place)
        if expr.type.name == "bool":
            expr = coerce(self.binder, expr, INT4, "e")
        elif expr.type.name not in NUMBERS:
            message = f'column "{self.columns[place].name}" of the query of {self.function} is of type {expr.type}'
            raise SqlError.of("datatype_mismatch", f"{message}, not a number", position=0)
        return coerce(self.binder, expr, FLOAT8, "e")

    def read_text(self, place: int) -> Expr:
        """Returns a column as text."""
        return coerce(self.binder, self.read(place), TEXT, "e")

    def choose(self, names: Sequence[str] | None, without: Sequence[int] = ()) -> list[int]:
        """Returns the places of named columns, or of all numbers but those `without`; 42703, 42701, 22023."""
        if names is not None:
            found = [self.find(name) for name in names]
            if len(set(found)) < len(found):
                raise SqlError.of("duplicate_column", f"a column is named twice for {self.function}", position=0)
            return found
        found = [n for n, each in enumerate(self.columns) if each.type.name in NUMBERS and n not in without]
        if not found:
            message = f"the query of {self.function} has no columns of numbers to compute with"
            raise SqlError.of("invalid_parameter_value", message, position=0)
        return found

    def make_input(self, kept: Sequence[int], features: Sequence[int], others: Sequence[Expr] = ()) -> Input:
        """Returns the query of columns to take over, of features, and of others."""
        targets: list[Expr] = [self.read(place) for place in kept]
        targets += [self.read_float(place) for place in features]
        targets += others
        outputs = tuple(OutputColumn(f"k{number}", each.type) for number, each in enumerate(targets, 1))
        query = Select(outputs, tuple(targets), Derived(self.rel, self.query))
        columns = tuple(OutputColumn(self.columns[place].name, self.columns[place].type) for place in kept)
        return Input(query, columns, tuple(self.columns[place].name for place in features))


def bind_text(arguments: Arguments, name: str = "query") -> Text:
    """Binds the query, or the table or view, that a parameter names."""
    binder, function = arguments.binder, arguments.function.name
    text = arguments.required(name)
    with binder.bind_apart(text):
        query = binder.bind_query(_parse_query(function, text), None)
    return Text(binder, function, query, binder.new_rel())


def _parse_query(function: str, text: str) -> Any:
    try:
        statements = parse(text)
    except SqlError as error:
        try:
            statements = parse(f"TABLE {text}")
        except SqlError:
            raise error from None
    if len(statements) != 1:
        raise SqlError.of("syntax_error", f"{function} takes one query, or the name of a table or view")
    node: Any = statements[0].node
    if statements[0].kind != "SelectStmt" or node.HasField("into_clause") or changes_data(node):
        raise FeatureNotSupported(f"{function} takes a query, and no other statement")
    return node


def make_columns(names: Sequence[str], item: SqlType) -> list[OutputColumn]:
    """Returns columns of one type."""
    return [OutputColumn(name, item) for name in names]
