"""Names of PL/pgSQL variables for the binder: each use becomes a parameter, or a constant."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gpudb.errors import GpudbError, SqlError
from gpudb.plpgsql.records import NullRecord, Record, copy_array
from gpudb.plpgsql.scope import Reference, Scope, Variable, find_reference
from gpudb.sql.bind.base import Arguments
from gpudb.sql.bound import Constant, Expr, Parameter, Row
from gpudb.types import UNKNOWN, SqlType

_NO_COLUMN = {"42703", "42P01", "3F000"}


class NeedsRecord(Exception):
    """A record's fields are not known before the record has a value."""


@dataclass(slots=True)
class References(Arguments):
    """The variables of a scope.

    `records` are the types of records that have values, by the variable's number. With `values` (by that number too)
    variables become constants; else each becomes a parameter, and `used` lists what the parameters stand for: a
    variable and the position of its field, or -1.
    """

    scope: Scope = field(default_factory=Scope)
    conflict: str = "error"
    records: Mapping[int, Record | None] | None = None
    constants: Mapping[int, object] | None = None
    used: list[tuple[Variable, int]] = field(default_factory=list)

    def by_number(self, number: int) -> Expr:
        """Returns parameter `$number` of the function; 42P02."""
        variable = self.scope.find(f"${number}")
        if variable is None:
            raise SqlError.of("undefined_parameter", f"there is no parameter ${number}")
        return self._expr(Reference(variable))

    def by_name(self, name: str) -> Expr | None:
        """None: names are resolved by `choose`."""
        return None

    def choose(self, names: Sequence[str], bind_column: Callable[[], Expr]) -> Expr:
        """Returns the variable or the column that a name denotes; 42702 if it may be both."""
        found = find_reference(self.scope, tuple(names))
        if found is None:
            return bind_column()
        if self.conflict == "use_variable":
            return self._expr(found)
        try:
            column = bind_column()
        except GpudbError as error:
            if error.sqlstate not in _NO_COLUMN:
                raise
            return self._expr(found)
        if self.conflict == "use_column":
            return column
        detail = "It could refer to either a PL/pgSQL variable or a table column."
        raise SqlError.of("ambiguous_column", f'column reference "{".".join(names)}" is ambiguous', detail=detail)

    def whole(self, name: str) -> Expr | None:
        """Returns a record by its name, for `record.*`; None for any other name."""
        found = find_reference(self.scope, (name,))
        return self._expr(found) if found is not None and found.variable.is_record else None

    def _expr(self, found: Reference) -> Expr:
        variable = found.variable
        if not variable.is_record:
            assert variable.type is not None
            return self._value(variable, -1, variable.type)
        if not found.path and variable.type is None and self.records is not None:
            if self.records.get(variable.number) is None:
                return Constant(None, UNKNOWN)
        fields = self._fields(variable)
        if not found.path and self.records is not None:
            if isinstance(self.records.get(variable.number), NullRecord):
                return Constant(None, (variable.type or SqlType("record", fields=fields)).plain)
        if not found.path:
            item = variable.type or SqlType("record", fields=fields)
            parts = tuple(self._value(variable, place, each) for place, (_, each) in enumerate(fields))
            # The parts have no modifiers: a numeric is represented otherwise than as the field
            shape = tuple((name, part.type) for (name, _), part in zip(fields, parts, strict=True))
            return Row(parts, replace(item.plain, fields=shape), whole=True)
        names = [name for name, _ in fields]
        if found.path[0] not in names:
            message = f'record "{variable.name}" has no field "{found.path[0]}"'
            raise SqlError.of("undefined_column", message)
        if len(found.path) > 1:
            raise SqlError.of("feature_not_supported", "fields of fields of records are not supported here")
        place = names.index(found.path[0])
        return self._value(variable, place, fields[place][1])

    def _fields(self, variable: Variable) -> tuple[tuple[str, SqlType], ...]:
        if variable.type is not None:
            return variable.type.fields
        if self.records is None:
            raise NeedsRecord
        record = self.records.get(variable.number)
        if record is None:
            raise unassigned_record(variable)
        return tuple(zip(record.names, record.types, strict=True))

    def _value(self, variable: Variable, place: int, item: SqlType) -> Expr:
        if self.constants is not None:
            value = self.constants.get(variable.number)
            if place >= 0:
                value = value.values[place] if isinstance(value, Record) else None
            return Constant(_plain(value), item.plain)
        if (variable, place) not in self.used:
            self.used.append((variable, place))
        return Parameter(self.used.index((variable, place)) + 1, item.plain)


def _plain(value: object) -> object:
    """Returns a value as the binder's constants hold it."""
    if isinstance(value, list):
        return copy_array(value)
    if isinstance(value, NullRecord):
        return None
    return tuple(map(_plain, value.values)) if isinstance(value, Record) else value


def unassigned_record(variable: Variable) -> SqlError:
    """Returns the error for the fields of a record without a value."""
    message = f'record "{variable.name}" is not assigned yet'
    detail = "The tuple structure of a not-yet-assigned record is indeterminate."
    return SqlError.of("object_not_in_prerequisite_state", message, detail=detail)
