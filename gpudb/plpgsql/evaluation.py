"""Evaluation of expressions in a running body, and assignment of their values to variables."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from types import FrameType
from typing import Any

from gpudb.errors import GpudbError, SqlError
from gpudb.plpgsql.context import register_frame
from gpudb.plpgsql.host import Host, Outcome
from gpudb.plpgsql.plans import Converter, Plan, Sql, make_converter, null_value_error
from gpudb.plpgsql.records import Record, iter_rows, new_record, null_record, show_value
from gpudb.plpgsql.references import unassigned_record
from gpudb.plpgsql.scope import Variable
from gpudb.types import BOOL, SqlType
from gpudb.values.array import count_dimensions

Row = tuple[tuple[tuple[str, SqlType], ...], tuple[object, ...]]
"""The columns of a row, and its values."""


class OwnedList(list[Any]):
    """The value of an array variable that nothing else refers to, so that it may be changed in place."""


class Evaluator:
    """Evaluates expressions of one call of a body, and converts their values."""

    def __init__(self, host: Host, *, keeps_rows: bool = False) -> None:
        self.host = host
        self.rows: list[tuple[object, ...]] = []
        self.row_count = 0
        self.errors: list[GpudbError] = []
        self.keeps_rows = keeps_rows
        self.cancel = host.cancel
        self._converters: dict[tuple[int, int], tuple[Converter | None, SqlType, SqlType]] = {}

    # ---- expressions

    def row(self, sql: Sql, values: Sequence[object]) -> Row:
        """Evaluates an expression: its columns and values, one unless it is a row."""
        plan = sql.find_plan(self.host, values)
        if plan.python is not None:
            return plan.columns, (plan.python(*values),)
        if plan.bound is None or plan.bound.query is None:
            raise SqlError.of("syntax_error", "expression is not a query")
        found = self._first(sql, plan, values)
        if not plan.is_row and len(plan.columns) != 1:
            shown = f"query returned {len(plan.columns)} columns"
            raise SqlError.of("syntax_error", shown)
        return plan.columns, found if found is not None else (None,) * len(plan.columns)

    def _first(self, sql: Sql, plan: Plan, values: Sequence[object]) -> tuple[object, ...] | None:
        """The only row of an expression's query; 21000 for more."""
        found = None
        for number, row in enumerate(self._iter(sql, plan, values)):
            if number:
                raise SqlError.of("cardinality_violation", "query returned more than one row")
            found = row
        return found

    def value(self, sql: Sql, values: Sequence[object], item: SqlType) -> object:
        """Evaluates an expression as a value of a type."""
        plan = sql.find_plan(self.host, values)
        if plan.python is not None:
            return self.convert(plan.python(*values), plan.columns[0][1], item)
        columns, row = self.row(sql, values)
        is_literal = columns[0][1].name == "text" and item.category != "S"
        shown = None if plan.used or is_literal or item.domain is not None else sql.context
        if plan.is_row:
            if item.fields:
                return self.make_record(columns, row, item)
            value: object = new_record(columns, row)
            return self.convert(value, SqlType("record", fields=columns), item)
        result = self.convert(row[0], columns[0][1], item)
        del shown
        return result

    def condition(self, sql: Sql, values: Sequence[object]) -> bool:
        """Evaluates a condition; False for NULL."""
        return self.value(sql, values, BOOL) is True

    def text(self, sql: Sql, values: Sequence[object]) -> str | None:
        """Evaluates an expression as text, by its type's output."""
        plan = sql.find_plan(self.host, values)
        columns, row = self.row(sql, values)
        if plan.is_row:
            record = new_record(columns, row)
            return show_value(record.type, record, self.host.timezone)
        return show_value(columns[0][1], row[0], self.host.timezone)

    def record(self, sql: Sql, values: Sequence[object], variable: Variable) -> object:
        """Evaluates an expression as the value of a record variable."""
        plan = sql.find_plan(self.host, values)
        columns, row = self.row(sql, values)
        if plan.is_row:
            return self.make_record(columns, row, variable.type)
        if row[0] is None:
            return null_record(variable.type) if variable.type is not None else None
        if isinstance(row[0], Record):
            return row[0].copy()
        raise SqlError.of("datatype_mismatch", "cannot assign non-composite value to a record variable")

    def any_row(self, sql: Sql, values: Sequence[object]) -> tuple[SqlType, object]:
        """Evaluates an expression: its type and value."""
        plan = sql.find_plan(self.host, values)
        columns, row = self.row(sql, values)
        if plan.is_row:
            record = new_record(columns, row)
            return record.type, record
        return columns[0][1], row[0]

    def single_record(self, row: Row) -> Record:
        """Returns the only value of a row as the field `value` of a record."""
        (_, item), *_ = row[0]
        return new_record((("value", item.plain),), row[1][:1])

    def null_record(self, item: SqlType) -> Record:
        """Returns a row of NULLs of a composite type."""
        return null_record(item)

    def iterate_array(self, sql: Sql, values: Sequence[object], depth: int) -> Iterator[Row]:
        """FOREACH: yields the items of an array, or with `depth` its slices of so many dimensions; 22004, 42804."""
        item, array = self.any_row(sql, values)
        element = item.element
        if array is None:
            raise SqlError.of("null_value_not_allowed", "FOREACH expression must not be null")
        if element is None or not isinstance(array, list):
            message = f"FOREACH expression must yield an array, not type {item}"
            raise SqlError.of("datatype_mismatch", message)
        dimensions = count_dimensions(array)
        if depth > dimensions:
            message = f"slice dimension ({depth}) is out of the valid range 0..{dimensions}"
            raise SqlError.of("array_subscript_error", message)
        columns = (("foreach", item if depth else element),)
        parts: list[Any] = [array]
        for _ in range(dimensions - depth):
            parts = [each for part in parts for each in part]
        for each in parts:
            yield columns, (each,)

    # ---- assignment

    def convert(self, value: object, source: SqlType, target: SqlType) -> object:
        """Converts a value as an assignment does."""
        if source is target:
            return value
        key = id(source), id(target)
        known = self._converters.get(key)
        if known is None:
            made = None if source == target else make_converter(self.host, source, target)
            known = self._converters[key] = made, source, target
        return value if known[0] is None else known[0].convert(self.host, value)

    def store(self, row: Row | None, place: int, item: SqlType) -> object:
        """Returns a value of a row, or NULL without a row, converted to a variable's type."""
        if row is None or place >= len(row[1]):
            return self.convert(None, item, item)
        return self.convert(row[1][place], row[0][place][1], item)

    def make_record(
        self, columns: Sequence[tuple[str, SqlType]], row: Sequence[object], item: SqlType | None
    ) -> Record:
        """Returns a row as a record, of a composite type if that is given."""
        if item is None:
            return new_record(columns, row)
        result = null_record(item)
        for place, target in enumerate(result.types[: len(row)]):
            result.values[place] = self.convert(row[place], columns[place][1], target)
        return result

    def into_record(self, row: Row | None, variable: Variable, columns: tuple[tuple[str, SqlType], ...]) -> Record:
        """Returns what INTO gives a record: a row, or NULLs without one."""
        if row is None:
            row = columns, (None,) * len(columns)
        return self.make_record(row[0], row[1], variable.type)

    def set_field(
        self, record: object, variable: Variable, path: Sequence[str], value: object, item: SqlType | None
    ) -> object:
        """Returns a record in which a field has another value, of the type `item` if it is not NULL; 55000, 42703."""
        if not isinstance(record, Record):
            raise unassigned_record(variable)
        record = record.copy()
        if path[0] not in record.names:
            raise SqlError.of("undefined_column", f'record "{variable.name}" has no field "{path[0]}"')
        place = record.names.index(path[0])
        if len(path) > 1:
            raise SqlError.of("feature_not_supported", "assignments to fields of fields of records are not supported")
        record.values[place] = self.convert(value, item or record.types[place], record.types[place])
        return record

    def set_item(self, array: object, places: Sequence[object], value: object) -> list[object]:
        """Returns an array in which an item, at subscripts from 1 on, has another value; the array grows if needed."""
        if any(place is None for place in places):
            raise SqlError.of("null_value_not_allowed", "array subscript in assignment must not be null")
        # A variable that was assigned an item owns its list: other uses of the variable copy it
        result: list[Any] = array if type(array) is OwnedList else OwnedList(array if isinstance(array, list) else ())
        place = places[0]
        assert isinstance(place, int)
        if place < 1:
            raise SqlError.of("feature_not_supported", "arrays whose lower bound is not 1 are not supported")
        if len(places) > 1:
            if place > len(result):
                raise SqlError.of("array_subscript_error", "array subscript out of range")
            result[place - 1] = self.set_item(result[place - 1], places[1:], value)
            return result
        result += [None] * (place - len(result))
        result[place - 1] = value
        return result

    def not_null(self, value: object, name: str) -> object:
        """Returns a value; 22004 for NULL."""
        if value is None:
            raise null_value_error(name)
        return value

    # ---- running

    def _parameters(self, plan: Plan, values: Sequence[object]) -> list[object]:
        result = []
        for at, place in plan.used:
            value = values[at]
            if place >= 0:
                value = value.values[place] if isinstance(value, Record) else None
            result.append(value)
        return result

    def _run(self, sql: Sql, plan: Plan, values: Sequence[object]) -> Outcome:
        shown = sql.context if plan.shown else None
        assert plan.bound is not None
        parameters = () if plan.bound.query is None else self._parameters(plan, values)
        try:
            outcome = self.host.run(plan.bound, parameters, lambda: sql.references(values, as_constants=True))
        except GpudbError as error:
            if error.position:
                shown = None  # PostgreSQL then shows the query and the position instead
            raise
        del shown
        return outcome

    def _iter(self, sql: Sql, plan: Plan, values: Sequence[object]) -> Iterator[tuple[object, ...]]:
        outcome = self._run(sql, plan, values)
        yield from self._read(outcome, sql.context if plan.shown else None)

    def _read(self, outcome: Outcome, shown: str | None) -> Generator[tuple[object, ...], None, None]:
        """Yields the rows of an outcome; `shown` is what CONTEXT says of errors."""
        try:
            yield from iter_rows(outcome.columns or (), outcome.batches, self.host.timezone)
        finally:
            del shown
            outcome.close()


def describe_statement(frame: FrameType) -> str | None:
    """Returns the line of CONTEXT of a frame that runs SQL: its variable `shown`."""
    shown = frame.f_locals.get("shown")
    return shown if isinstance(shown, str) else None


for each in (Evaluator.value, Evaluator._run, Evaluator._read):
    register_frame(each.__code__, describe_statement)
