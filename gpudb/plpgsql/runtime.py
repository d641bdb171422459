"""A running body: what compiled code calls to evaluate SQL, to assign, to raise and to catch errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gpudb.errors import GpudbError, SqlError
from gpudb.plpgsql import conditions
from gpudb.plpgsql.context import add_context, current_context, register_frame
from gpudb.plpgsql.evaluation import Row, describe_statement
from gpudb.plpgsql.plans import Sql
from gpudb.plpgsql.records import Record, new_record
from gpudb.plpgsql.statement_runner import StatementRunner
from gpudb.types import SqlType

_SEVERITIES = {"debug": "DEBUG", "log": "LOG", "info": "INFO", "notice": "NOTICE", "warning": "WARNING"}


class Runtime(StatementRunner):
    """What compiled code calls: beside expressions and SQL, results, messages and errors."""

    # ---- results

    def add_row(self, columns: tuple[tuple[str, SqlType], ...], row: tuple[object, ...]) -> None:
        """Adds a row to a function's result."""
        self.row_columns = columns
        self.rows.append(row)

    def add_query(self, rows: Iterator[Row], types: Sequence[SqlType], context: str | None) -> bool:
        """Adds the rows of a query to a function's result; 42804 if their columns differ."""
        count, shown = 0, None
        for columns, row in rows:
            shown = context
            self.rows.append(
                self.fit_row(columns, row, types, "structure of query does not match function result type")
            )
            count, shown = count + 1, None
        assert shown is None
        self.row_count = count
        return count > 0

    def returned_row(self, sql: Sql, values: Sequence[object], types: Sequence[SqlType]) -> tuple[object, ...]:
        """Evaluates the row that a function returns; NULL is a row of NULLs. 42804."""
        plan = sql.find_plan(self.host, values)
        columns, row = self.row(sql, values)
        if not plan.is_row:
            if row[0] is None:
                return (None,) * len(types)
            message = "cannot return non-composite value from function returning composite type"
            raise SqlError.of("datatype_mismatch", message)
        return self.fit_row(columns, row, types, "returned record type does not match expected record type")

    def trigger_row(self, sql: Sql, values: Sequence[object]) -> Record | None:
        """Evaluates the row that a trigger function returns, None for NULL; 42804 for what is no row."""
        plan = sql.find_plan(self.host, values)
        columns, row = self.row(sql, values)
        if plan.is_row:
            return new_record(columns, row)
        if row[0] is None or isinstance(row[0], Record):
            return row[0]
        message = "cannot return non-composite value from function returning composite type"
        raise SqlError.of("datatype_mismatch", message)

    def fit_row(
        self, columns: Sequence[tuple[str, SqlType]], row: Sequence[object], types: Sequence[SqlType], message: str
    ) -> tuple[object, ...]:
        """Returns a row with the declared types; 42804."""
        if len(columns) != len(types):
            detail = f"Number of returned columns ({len(columns)}) does not match expected column count ({len(types)})."
            raise SqlError.of("datatype_mismatch", message, detail=detail)
        for place, ((name, item), target) in enumerate(zip(columns, types, strict=True), 1):
            if item.plain != target.plain and item.name not in {"unknown"} and item.oid != target.oid:
                detail = f"Returned type {item.plain} does not match expected type {target.plain} in column {place}."
                if "query" not in message:
                    detail = (
                        f'Returned type {item.plain} does not match expected type {target.plain} in column "{name}"'
                    )
                raise SqlError.of("datatype_mismatch", message, detail=detail)
        return tuple(
            self.convert(value, item, target) for value, (_, item), target in zip(row, columns, types, strict=True)
        )

    # ---- errors

    def caught(self, exception: BaseException, savepoint: object) -> GpudbError:
        """Undoes what a block has done, and returns the error that ended it; any other exception goes on."""
        error = conditions.as_sql_error(exception)
        if error is None:
            raise exception
        add_context(error, exception.__traceback__)
        self.host.rollback_to(savepoint)
        return error

    def error_again(self) -> GpudbError:
        """Returns the handled error, for RAISE without anything; 0Z002."""
        if not self.errors:
            message = "RAISE without parameters cannot be used outside an exception handler"
            raise SqlError.of("stacked_diagnostics_accessed_without_active_handler", message)
        return self.errors[-1]

    def diagnostics(self, item: str) -> str:
        """Returns an item of the handled error; 0Z002."""
        if not self.errors:
            message = "GET STACKED DIAGNOSTICS cannot be used outside an exception handler"
            raise SqlError.of("stacked_diagnostics_accessed_without_active_handler", message)
        return conditions.read_item(self.errors[-1], item)

    def context(self) -> str:
        """Returns the calls that run now (PG_CONTEXT)."""
        return current_context()

    def raise_(
        self, level: str, state: str, name: str, message: str | None, arguments: Sequence[str | None],
        options: Mapping[str, str | None],
    ) -> None:  # fmt: skip
        """RAISE: sends a message, or raises an error."""
        given = {}
        for key, value in options.items():
            if value is None:
                raise SqlError.of("null_value_not_allowed", "RAISE statement option cannot be null")
            given[key] = value
        if "errcode" in given:
            if state:
                raise SqlError.of("syntax_error", "RAISE option already specified: ERRCODE")
            state, name = conditions.resolve_state(given["errcode"]), given["errcode"]
        shown = given.get("message")
        if message is not None:
            if shown is not None:
                raise SqlError.of("syntax_error", "RAISE option already specified: MESSAGE")
            shown = _format(message, arguments)
        if shown is None:
            shown = name or "unhandled exception"
        if level == "exception":
            raise conditions.make_error(state or "P0001", shown, given)
        severity = _SEVERITIES[level]
        code = state or ("01000" if level == "warning" else "00000")
        self.host.notice(shown, severity, code, given.get("detail"), given.get("hint"))

    def fail_assertion(self, message: str | None) -> None:
        """Raises P0004."""
        error = SqlError.of("assert_failure", "assertion failed" if message is None else message)
        raise error

    def no_return(self) -> SqlError:
        """Returns the error for a function that ends without RETURN."""
        return SqlError.of("function_executed_no_return_statement", "control reached end of function without RETURN")

    def no_trigger_return(self) -> SqlError:
        """Returns the error for a trigger function that ends without RETURN."""
        message = "control reached end of trigger procedure without RETURN"
        return SqlError.of("function_executed_no_return_statement", message)

    def subtransaction_error(self, commit: bool) -> SqlError:
        """Returns the error for COMMIT or ROLLBACK within a block that has handlers."""
        verb = "commit" if commit else "roll back"
        message = f"cannot {verb} while a subtransaction is active"
        return SqlError.of("invalid_transaction_termination", message)

    def no_case(self) -> SqlError:
        """Returns the error for a CASE without a branch that fits."""
        return SqlError.of("case_not_found", "case not found", hint="CASE statement is missing ELSE part.")

    def bound_error(self, what: str) -> SqlError:
        """Returns the error for NULL as a bound of FOR."""
        return SqlError.of("null_value_not_allowed", f"{what} of FOR loop cannot be null")

    def step_error(self) -> SqlError:
        """Returns the error for a step of FOR that is not positive."""
        message = "BY value of FOR loop must be greater than zero"
        return SqlError.of("invalid_parameter_value", message)


def _format(message: str, arguments: Sequence[str | None]) -> str:
    parts = message.split("%")
    result, place, at = parts[0], 0, 1
    while at < len(parts):
        if not parts[at] and at + 1 < len(parts):
            result += "%" + parts[at + 1]
            at += 2
            continue
        value = arguments[place] if place < len(arguments) else None
        result += ("<NULL>" if value is None else value) + parts[at]
        place += 1
        at += 1
    return result


register_frame(Runtime.add_query.__code__, describe_statement)
