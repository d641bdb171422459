"""Assignments to part of a column: SET a[2] = …, a[2:3] = …, c.field = …, and the same in INSERT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from gpudb.catalog.tables import Column as TableColumn
from gpudb.errors import DatatypeMismatch, FeatureNotSupported, SqlError, UndefinedColumn
from gpudb.functions import resolve
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.expressions import jsonb_subscripts
from gpudb.sql.bind.expressions.expressions import bind_expression
from gpudb.sql.bind.scope import Scope
from gpudb.sql.bind.types.coercion import coerce, coerce_to_column
from gpudb.sql.bind.types.rows import is_row
from gpudb.sql.bound import ArrayAssignment, Constant, Default, Expr, Field, JsonbAssignment, Row, Subscript
from gpudb.sql.parse.parser import inner, kind, present
from gpudb.types import INT4, SqlType
from gpudb.types.facts import GEOMETRIC_PARTS


def assign_part(
    binder: Binder, scope: Scope, column: TableColumn, target: Any, whole: Expr | None, value: Expr
) -> Expr:
    """Returns a column in which `value` replaces the part that a ResTarget names.

    `whole` is the column's value so far. 42804 for a part that its type lacks, or a value of the wrong type; 42703 for
    an unknown field.
    """
    whole = Constant(None, column.type) if whole is None else whole
    try:
        return _Assignment(binder, scope, column, list(target.indirection), whole, column.type, value).bind()
    except SqlError as error:
        raise binder.locate(error, target.location) from None


@dataclass(frozen=True, slots=True)
class _Assignment:
    """`value` replaces the part of `whole`, a value of `type` in `column`, to which the remaining `steps` lead."""

    binder: Binder
    scope: Scope
    column: TableColumn
    steps: Sequence[Any]
    whole: Expr
    type: SqlType
    value: Expr

    def bind(self) -> Expr:
        """Returns `whole` with the new part."""
        if self.type.domain is not None:
            raise FeatureNotSupported("assigning to part of a value of a domain is not supported")
        if kind(self.steps[0]) == "a_star":
            raise FeatureNotSupported('row expansion via "*" is not supported here')
        if kind(self.steps[0]) == "a_indices":
            return self._bind_items()
        return self._bind_field()

    def _bind_field(self) -> Expr:
        name = inner(self.steps[0]).sval
        if not is_row(self.type):
            message = f'cannot assign to field "{name}" of column "{self.column.name}"'
            raise DatatypeMismatch(f"{message} because its type {self.type} is not a composite type")
        place = next((index for index, (each, _) in enumerate(self.type.fields) if each == name), None)
        if place is None:
            message = f'cannot assign to field "{name}" of column "{self.column.name}"'
            raise UndefinedColumn(f"{message} because there is no such column in data type {self.type}")
        if isinstance(self.value, Default):
            raise FeatureNotSupported("cannot set a subfield to DEFAULT")
        parts = [Field(self.whole, each, item, index) for index, (each, item) in enumerate(self.type.fields)]
        item = self.type.fields[place][1]
        rest = self.steps[1:]
        if rest:
            fresh = replace(self, steps=rest, whole=parts[place], type=item).bind()
        else:
            fresh = _convert(
                self.binder, self.value, item, f'subfield "{name}" is of type {item} but expression is of type'
            )
        return Row(tuple(fresh if index == place else part for index, part in enumerate(parts)), self.type, whole=True)

    def _bind_items(self) -> Expr:
        count = next((n for n, step in enumerate(self.steps) if kind(step) != "a_indices"), len(self.steps))
        indices, rest = [inner(step) for step in self.steps[:count]], self.steps[count:]
        element = resolve.get_element_type(self.type)
        if self.type.name == "jsonb" and not rest and not isinstance(self.value, Default):
            path, numbered = jsonb_subscripts.bind_path(self.binder, self.scope, indices)
            needed = f'subscripted assignment to "{self.column.name}" requires type jsonb but expression is of type'
            return JsonbAssignment(
                self.whole, path, numbered, _convert(self.binder, self.value, self.type, needed), self.type
            )
        if self.type.name in GEOMETRIC_PARTS:
            raise FeatureNotSupported(f"assigning to parts of type {self.type} is not supported")
        if element is None:
            raise DatatypeMismatch(f"cannot subscript type {self.type} because it does not support subscripting")
        if isinstance(self.value, Default):
            raise FeatureNotSupported("cannot set an array element to DEFAULT")
        sliced = any(each.is_slice for each in indices)
        if sliced and len(indices) > 1:
            raise FeatureNotSupported("assigning to slices of an array's inner dimensions is not supported")
        if len(indices) != max(self.type.dims, 1) and not sliced:
            raise SqlError.of("array_subscript_error", "wrong number of array subscripts")
        if sliced and self.type.dims > 1:
            raise FeatureNotSupported("assigning to slices of arrays of several dimensions is not supported")
        low = _bind_index(self.binder, self.scope, indices[0].lidx) if sliced else None
        high = tuple(_bind_index(self.binder, self.scope, each.uidx) for each in indices)
        if rest:
            place = high[0]
            assert place is not None
            part = Subscript(self.whole, None, place, False, element)
            fresh = replace(self, steps=rest, whole=part, type=element).bind()
        else:
            item = self.type if sliced else element
            needed = (
                f'subscripted assignment to "{self.column.name}" requires type {item.plain} but expression is of type'
            )
            fresh = _convert(self.binder, self.value, item, needed)
        return ArrayAssignment(self.whole, low, high, sliced, fresh, self.type)


def _bind_index(binder: Binder, scope: Scope, node: Any) -> Expr | None:
    if not present(node):
        return None
    index = bind_expression(binder, scope, node)
    if not resolve.can_coerce(index.type.plain, INT4, "a"):
        raise DatatypeMismatch("array subscript must have type integer")
    return coerce(binder, index, INT4, "a")


def _convert(binder: Binder, value: Expr, item: SqlType, refusal: str) -> Expr:
    if not resolve.can_coerce(value.type.plain, item.plain, "a"):
        hint = "You will need to rewrite or cast the expression."
        raise DatatypeMismatch(f"{refusal} {value.type.plain}", hint=hint)
    return coerce_to_column(binder, value, "", item)
