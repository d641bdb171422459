"""Statements of SQL in a running body: static and dynamic ones, CALL, and cursors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gpudb.errors import FeatureNotSupported, GpudbError, SqlError
from gpudb.plpgsql.context import register_frame
from gpudb.plpgsql.evaluation import Evaluator, Row, describe_statement
from gpudb.plpgsql.host import Bound, Outcome
from gpudb.plpgsql.plans import Plan, Sql
from gpudb.plpgsql.records import iter_rows, show_value
from gpudb.sql.bind.base import Arguments
from gpudb.sql.bound import Constant
from gpudb.types import TEXT, SqlType

CHANGES = frozenset({"InsertStmt", "UpdateStmt", "DeleteStmt", "MergeStmt"})
_NO_CURSOR = "cursors of bodies over queries that lock or change rows are not supported"


class StatementRunner(Evaluator):
    """Runs statements of SQL for one call of a body."""

    # ---- statements

    def perform(self, sql: Sql, values: Sequence[object]) -> bool:
        """Runs a query and discards its rows; whether there are any."""
        plan = sql.find_plan(self.host, values)
        if plan.python is not None:
            shown = sql.context
            plan.python(*values)
            del shown
            self.row_count = 1
            return True
        self.row_count = sum(1 for _ in self._iter(sql, plan, values))
        return self.row_count > 0

    def execute(self, sql: Sql, values: Sequence[object]) -> bool | None:
        """Runs a statement without INTO; whether it changed rows, None for one that is not about rows. 42601."""
        plan = sql.find_plan(self.host, values)
        if plan.bound is None or plan.bound.kind == "SelectStmt":
            hint = "If you want to discard the results of a SELECT, use PERFORM instead."
            raise SqlError.of("syntax_error", "query has no destination for result data", hint=hint)
        outcome = self._run(sql, plan, values)
        outcome.close()
        if outcome.columns is not None and plan.bound.kind in CHANGES:
            hint = "If you want to discard the results of a SELECT, use PERFORM instead."
            raise SqlError.of("syntax_error", "query has no destination for result data", hint=hint)
        self.row_count = outcome.count
        return outcome.count > 0 if plan.bound.kind in CHANGES else None

    def fetch(
        self, sql: Sql, values: Sequence[object], *, strict: bool, prints: bool = False
    ) -> tuple[Row | None, Any]:
        """Runs a statement with INTO: its first row, None if there is none, and its columns; P0002, P0003.

        With `prints` these errors have the values of variables.
        """
        plan = sql.find_plan(self.host, values)
        if plan.python is not None:
            self.row_count = 1
            return (plan.columns, (plan.python(*values),)), plan.columns
        outcome = self._run(sql, plan, values)
        change = plan.bound is not None and plan.bound.kind in CHANGES
        detail = _show_parameters(self._name_parameters(sql, plan, values)) if prints else None
        return self._take_first(outcome, sql.context, strict=strict, change=change, detail=detail)

    def _name_parameters(self, sql: Sql, plan: Plan, values: Sequence[object]) -> list[tuple[str, str | None]]:
        """Returns the variables that a query reads, and their values as text."""
        places = sorted({at for at, place in plan.used if place < 0}, key=lambda at: sql.variables[at].number)
        named = [(sql.variables[at], values[at]) for at in places]
        return [(each.name, show_value(each.type or TEXT, value, self.host.timezone)) for each, value in named]

    def _take_first(
        self,
        outcome: Outcome,
        context: str,
        *,
        strict: bool,
        change: bool,
        is_dynamic: bool = False,
        detail: str | None = None,
    ) -> tuple[Row | None, Any]:
        if outcome.columns is None:
            outcome.close()
            raise SqlError.of("syntax_error", "INTO used with a command that cannot return data")
        rows = self._read(outcome, context)
        found = next(rows, None)
        if found is not None and (strict or change) and next(rows, None) is not None:
            hint = None if is_dynamic else "Make sure the query returns a single row, or use LIMIT 1."
            raise SqlError.of("too_many_rows", "query returned more than one row", hint=hint, detail=detail)
        rows.close()
        if found is None and strict:
            raise SqlError.of("no_data_found", "query returned no rows", detail=detail)
        self.row_count = 0 if found is None else 1
        return (None if found is None else (outcome.columns, found)), outcome.columns

    def iterate(self, sql: Sql, values: Sequence[object]) -> Iterator[Row]:
        """Runs a query and yields its rows."""
        plan = sql.find_plan(self.host, values)
        if plan.bound is None:
            return
        yield from self._iter_outcome(self._run(sql, plan, values), sql.context)

    def _iter_outcome(self, outcome: Outcome, context: str) -> Iterator[Row]:
        if outcome.columns is None:
            outcome.close()
            raise SqlError.of("invalid_cursor_definition", "cannot open query that returns no rows as cursor")
        rows = self._read(outcome, context)
        for row in list(rows) if self.keeps_rows else rows:
            yield outcome.columns, row

    # ---- dynamic statements

    def _prepare(self, text: str | None, using: Sequence[Row]) -> tuple[Outcome, Bound, str]:
        """Runs a dynamic statement with the values of USING; its outcome, what was bound, and its line of CONTEXT.

        Of several statements in the text all run, and the last one's outcome is returned.
        """
        if text is None:
            message = "query string argument of EXECUTE is null"
            raise SqlError.of("null_value_not_allowed", message)
        shown = f'SQL statement "{text}"'
        bound: Bound | None = None
        values = []
        for columns, row in using:
            item = columns[0][1] if len(columns) == 1 else SqlType("record", fields=columns)
            values.append(Constant(row[0] if len(columns) == 1 else tuple(row), item.plain))
        arguments = Arguments("", (), tuple(values))
        try:
            *earlier, last = self.host.split(text) or [text]
            for each in earlier:
                bound = self.host.bind(each, arguments, dynamic=True)
                outcome = self.host.run(bound, (), lambda: arguments)
                if bound.query is not None:
                    self._discard(outcome, shown)
                outcome.close()
                bound = None
            bound = self.host.bind(last if earlier else text, arguments, dynamic=True)
            outcome = self.host.run(bound, (), lambda: arguments)
        except GpudbError as error:
            if error.position or bound is None:
                shown = ""
            raise
        context, shown = shown, ""
        return outcome, bound, context

    def execute_text(self, text: str | None, using: Sequence[Row]) -> None:
        """EXECUTE without INTO; a text without a statement does nothing."""
        if text is not None and not self.host.split(text):
            self.row_count = 0
            return
        outcome, bound, context = self._prepare(text, using)
        if bound.query is not None:
            self.row_count = self._discard(outcome, context)
        else:
            outcome.close()
            self.row_count = outcome.count

    def _discard(self, outcome: Outcome, context: str) -> int:
        """Reads all rows of a query; returns their number."""
        return sum(1 for _ in self._read(outcome, context))

    def fetch_text(
        self, text: str | None, using: Sequence[Row], *, strict: bool, prints: bool = False
    ) -> tuple[Row | None, Any]:
        """EXECUTE … INTO: the first row and its columns (see `fetch`)."""
        outcome, _, context = self._prepare(text, using)
        zone = self.host.timezone
        shown = [(f"${n}", show_value(columns[0][1], row[0], zone)) for n, (columns, row) in enumerate(using, 1)]
        detail = _show_parameters(shown) if prints else None
        return self._take_first(outcome, context, strict=strict, change=False, is_dynamic=True, detail=detail)

    def iterate_text(self, text: str | None, using: Sequence[Row]) -> Iterator[Row]:
        """FOR … IN EXECUTE: yields rows."""
        outcome, _, context = self._prepare(text, using)
        yield from self._iter_outcome(outcome, context)

    def call(self, sql: Sql, values: Sequence[object], *, is_guarded: bool) -> tuple[Row | None, Any]:
        """CALL and DO: the row of output parameters, and its columns.

        `is_guarded` is whether a block with handlers is around it, which a COMMIT would end.
        """
        arguments = sql.references(values, as_constants=True)
        bound = self.host.bind(sql.text, arguments)
        shown: str | None = sql.context
        try:
            outcome = self.host.run(bound, (), lambda: arguments, may_end_transaction=not is_guarded)
        except GpudbError as error:
            if error.position:
                shown = None
            raise
        del shown
        if outcome.columns is None:
            outcome.close()
            return None, ()
        return self._take_first(outcome, sql.context, strict=False, change=False)

    def check_no_outputs(self, columns: Sequence[object]) -> None:
        """0A000 for the output parameters of a procedure that was not known when the body was compiled."""
        if columns:
            message = "output parameters of a procedure that is found only at the call are not supported"
            raise SqlError.of("feature_not_supported", message)

    # ---- cursors

    def open_cursor(self, name: object, sql: Sql, values: Sequence[object], scroll: bool | None) -> str:
        """OPEN: the name of the cursor."""
        plan = sql.find_plan(self.host, values)
        if plan.bound is None or plan.bound.query is None:
            if plan.bound is not None and plan.bound.kind == "SelectStmt":
                raise FeatureNotSupported(_NO_CURSOR)
            raise SqlError.of("invalid_cursor_definition", "cannot open INSERT query as cursor")
        return self.host.open_cursor(_cursor_name(name), plan.bound, self._parameters(plan, values), scroll)

    def open_text(self, name: object, text: str | None, using: Sequence[Row], scroll: bool | None) -> str:
        """OPEN … FOR EXECUTE: the name of the cursor."""
        if text is None:
            raise SqlError.of("null_value_not_allowed", "query string argument of EXECUTE is null")
        values = tuple(Constant(row[0], columns[0][1].plain) for columns, row in using)
        bound = self.host.bind(text, Arguments("", (), values), dynamic=True)
        if bound.query is None:
            if bound.kind == "SelectStmt":
                raise FeatureNotSupported(_NO_CURSOR)
            raise SqlError.of("invalid_cursor_definition", "cannot open query that returns no rows as cursor")
        return self.host.open_cursor(_cursor_name(name), bound, (), scroll)

    def fetch_cursor(
        self, variable: str, name: object, direction: str, count: int | None
    ) -> tuple[Row | None, tuple[tuple[str, SqlType], ...]]:
        """FETCH: the row that it finds, and its columns; 34000."""
        columns, rows = self._move(variable, name, direction, 1 if count is None else count)
        self.row_count = 1 if rows else 0
        return ((columns, rows[-1]) if rows else None), columns

    def move_cursor(self, variable: str, name: object, direction: str, count: int | None) -> bool:
        """MOVE; whether it found a row."""
        _, rows = self._move(variable, name, direction, 1 if count is None else count)
        self.row_count = len(rows)
        return bool(rows)

    def _move(
        self, variable: str, name: object, direction: str, count: int
    ) -> tuple[tuple[tuple[str, SqlType], ...], list[tuple[object, ...]]]:
        if name is None:
            raise SqlError.of("null_value_not_allowed", f'cursor variable "{variable}" is null')
        cursor = self.host.find_cursor(str(name))
        batches = cursor.fetch(direction, count)
        return cursor.columns, list(iter_rows(cursor.columns, batches, self.host.timezone))

    def iterate_cursor(self, name: str) -> Iterator[Row]:
        """FOR over a cursor: yields its rows and closes it."""
        cursor = self.host.find_cursor(name)
        try:
            before = cursor.position
            while batches := cursor.fetch("forward", 256):
                rows = list(iter_rows(cursor.columns, batches, self.host.timezone))
                after = cursor.position
                for place, row in enumerate(rows, before + 1):
                    cursor.position = place
                    yield cursor.columns, row
                before = cursor.position = after
                if not rows:
                    break
        finally:
            cursor.close()

    def close_cursor(self, variable: str, name: object) -> None:
        """CLOSE; 34000."""
        if name is None:
            raise SqlError.of("null_value_not_allowed", f'cursor variable "{variable}" is null')
        self.host.close_cursor(str(name))


def _show_parameters(parameters: Sequence[tuple[str, str | None]]) -> str | None:
    shown = [name + " = " + ("NULL" if text is None else f"'{_double(text)}'") for name, text in parameters]
    return f"parameters: {', '.join(shown)}" if shown else None


def _double(text: str) -> str:
    return text.replace("'", "''")


def _cursor_name(name: object) -> str | None:
    return None if name is None else str(name)


for each in (StatementRunner.perform, StatementRunner._prepare, StatementRunner.call):
    register_frame(each.__code__, describe_statement)
