"""Languages whose bodies take and return Python values: what the calls of all of them have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import pyarrow as pa

from gpudb.catalog.routines import Routine
from gpudb.session.context import Context
from gpudb.session.execution.routines.literals import get_literal_value, make_table
from gpudb.sql.bound import Expr
from gpudb.types import SqlType

Rows = list[tuple[object, ...]]


class ValueCalls:
    """Calls by values, for a language that has `run`."""

    @abstractmethod
    def run(
        self, context: Context, routine: Routine, values: Sequence[object], *, is_atomic: bool
    ) -> Rows | tuple[object, ...] | None:
        """Runs a body with the values of its inputs: its rows, the values of its result, or None for nothing."""

    def call(
        self, context: Context, routine: Routine, types: Sequence[SqlType], args: Sequence[Expr], *, is_atomic: bool
    ) -> pa.Table | None:
        """Calls a routine with literals (see `languages.Language`)."""
        values = [get_literal_value(context, arg) for arg in args]
        found = self.run(context, routine, values, is_atomic=is_atomic)
        if routine.result.name == "void" and routine.kind == "f":
            return make_table(types, [("",)])  # it has returned something: not NULL
        if not types:
            return None
        return make_table(types, found if isinstance(found, list) else [] if found is None else [found])

    def call_value(self, context: Context, routine: Routine, values: Sequence[object]) -> object:
        """Calls a function that returns one value."""
        found = self.run(context, routine, values, is_atomic=True)
        return found[0] if isinstance(found, tuple) else "" if routine.result.name == "void" else None

    def run_block(self, context: Context, routine: Routine, *, is_atomic: bool) -> None:
        """Runs the block of DO."""
        self.run(context, routine, (), is_atomic=is_atomic)

    def takes_columns(self, routine: Routine) -> bool:
        """Whether calls are handed whole columns: not unless a language says so."""
        return False
