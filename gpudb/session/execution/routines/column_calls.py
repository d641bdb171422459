"""Languages whose bodies take and return whole columns: what the calls of all of them have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import pyarrow as pa

from gpudb.catalog.routines import Routine
from gpudb.plpgsql.records import column_values
from gpudb.session.context import Context
from gpudb.session.execution.routines.literals import get_literal_value, make_table
from gpudb.sql.bound import Expr
from gpudb.types import SqlType


class ColumnCalls:
    """Calls of functions that return one value, for a language that has `call_columns`."""

    @abstractmethod
    def call_columns(self, context: Context, routine: Routine, arguments: Sequence[pa.Array], count: int) -> pa.Array:
        """Calls a function for the rows of columns (see `languages.Language`)."""

    def call(
        self, context: Context, routine: Routine, types: Sequence[SqlType], args: Sequence[Expr], *, is_atomic: bool
    ) -> pa.Table | None:
        """Calls a function with literals."""
        found = self._call_row(context, routine, [get_literal_value(context, arg) for arg in args])
        return pa.table([found], names=["k1"])

    def call_value(self, context: Context, routine: Routine, values: Sequence[object]) -> object:
        """Calls a function with values."""
        found = self._call_row(context, routine, values)
        return column_values(routine.result, found, context.session.settings["timezone"])[0]

    def _call_row(self, context: Context, routine: Routine, values: Sequence[object]) -> pa.Array:
        given = make_table([each.type for each in routine.inputs], [values])
        return self.call_columns(context, routine, [each.combine_chunks() for each in given.columns], 1)

    def takes_columns(self, routine: Routine) -> bool:
        """Whether calls are handed whole columns: always."""
        return True
