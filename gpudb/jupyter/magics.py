"""The magics of notebooks: %gpudb connects, %sql and %%sql run statements, %explain and %%explain draw their plan."""

from __future__ import annotations

import atexit
import keyword
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, line_cell_magic, line_magic, magics_class, needs_local_scope, no_var_expand

import gpudb.api
from gpudb.api.connection import Connection
from gpudb.api.foreground import run_in_foreground
from gpudb.api.messages import format_error, format_notice
from gpudb.api.progress_bar import ProgressBar
from gpudb.api.scope_frames import find_scope_frames
from gpudb.errors import GpudbError, SqlError
from gpudb.jupyter.bind_variables import BoundStatement, bind_variables
from gpudb.jupyter.plan_picture import PlanPicture
from gpudb.jupyter.result import Result

_TARGET = re.compile(r"\s*(?:(?P<assigned>\w+)\s*<<|--to[ =]\s*(?P<to>\w+)(?=\s|$))")
_PASSWORD = re.compile(r"(?<=:)[^:@/]+(?=@)")


TEMPORARY = "a temporary database in this process"


@dataclass(frozen=True, slots=True)
class _Scope:
    """The variables of a cell."""

    f_locals: Mapping[str, Any]
    f_globals: Mapping[str, Any]


@magics_class
class SqlMagics(Magics):
    """The magics, with the connection of the notebook."""

    def __init__(self, shell: InteractiveShell) -> None:
        super().__init__(shell)
        self._variables: dict[str, object] = shell.user_ns
        self._connection: Connection | None = None
        self._is_own = True
        self._place = TEMPORARY
        atexit.register(self._close)

    @line_magic("gpudb")  # type: ignore[arg-type]  # the types of IPython have no methods
    def connect(self, line: str) -> None:
        """Connects the notebook: `%gpudb PATH`, `%gpudb postgresql://…`, or `%gpudb db` for a `Connection` of Python.

        `%gpudb` alone says where it is connected, `%gpudb --close` closes the connection. Without it, %sql opens a
        temporary database.
        """
        target = line.strip()
        if target == "--close":
            self._close()
        elif target:
            given = self._variables.get(target)
            with _short_traceback(""):
                connection = given if isinstance(given, Connection) else gpudb.api.connect(target)
            self._close()
            self._connection, self._is_own = connection, connection is not given
            self._place = _PASSWORD.sub("…", target)
            sys.stdout.write(f"Connected to {self._place}.\n")
        elif self._connection is None:
            sys.stdout.write("Not connected.\n")
        else:
            sys.stdout.write(f"Connected to {self._place}.\n")

    def _close(self) -> None:
        if self._connection is not None and self._is_own:
            self._connection.close()
        self._connection = None
        self._place = TEMPORARY

    @needs_local_scope
    @no_var_expand
    @line_cell_magic("sql")  # type: ignore[arg-type]
    def run(self, line: str, cell: str | None = None, local_ns: Mapping[str, object] | None = None) -> Result | None:
        """Runs SQL: `%sql SELECT …`, or a cell that begins with `%%sql`. The result is a relation (see `Result`).

        `%%sql rides <<` or `%%sql --to rides` gives them that name instead. `:name` is the value of a Python variable,
        sent as a parameter. Several statements run one after another; the last one's rows are the result.
        """
        text, name = _split_line(line, cell)
        with _short_traceback(text):
            statements = bind_variables(text, self._collect_variables(local_ns))
            result = None
            for statement in statements:
                result = self._execute(statement, statement.text, local_ns)
        if name is None:
            return result
        self._variables[name] = result
        return None

    @needs_local_scope
    @no_var_expand
    @line_cell_magic("explain")  # type: ignore[arg-type]
    def explain(
        self, line: str, cell: str | None = None, local_ns: Mapping[str, object] | None = None
    ) -> PlanPicture | None:
        """Draws the plan of a statement: `%%explain`. With `%%explain --analyze` it runs, and the picture has times."""
        rest = line.strip().removeprefix("--analyze")
        head = "EXPLAIN (FORMAT json) " if rest == line.strip() else "EXPLAIN (ANALYZE, FORMAT json) "
        text, name = _split_line(rest, cell)
        with _short_traceback(text):
            statements = bind_variables(text, self._collect_variables(local_ns))
            if len(statements) != 1:
                raise SqlError.of("syntax_error", "one statement is expected")
            row = self._execute(statements[0], head + statements[0].text, local_ns, shift=len(head)).fetchone()
        assert row is not None
        picture = PlanPicture.read(row[0])
        if name is None:
            return picture
        self._variables[name] = picture
        return None

    def _collect_variables(self, local_ns: Mapping[str, object] | None) -> dict[str, object]:
        return {**self._variables, **(local_ns or {})}

    def _execute(
        self, statement: BoundStatement, sql: str, local_ns: Mapping[str, object] | None, shift: int = 0
    ) -> Result:
        if self._connection is None:
            self._connection, self._is_own = gpudb.api.connect(), True
            sys.stderr.write(f"Connected to {self._place}.\n")
        connection = self._connection
        scope = _Scope(local_ns or {}, self._variables)
        frames = find_scope_frames(sql, scope) if connection.local_frames else {}
        try:
            with ProgressBar(connection) as bar:
                return run_in_foreground(
                    connection, lambda: Result.run(connection, sql, statement.values, frames), bar.update
                )
        except GpudbError as error:
            if error.position:
                error.position = statement.find_position(error.position - shift)
            raise
        finally:
            for notice in connection.notices:
                sys.stderr.write(format_notice(notice) + "\n")


def _split_line(line: str, cell: str | None) -> tuple[str, str | None]:
    """Returns the SQL and the name that its result is given, if any."""
    target = _TARGET.match(line)
    name = (target["assigned"] or target["to"]) if target is not None else None
    rest = line[target.end() :] if target is not None else line
    if name is not None and (not name.isidentifier() or keyword.iskeyword(name)):
        with _short_traceback(""):
            raise SqlError.of("invalid_name", f'"{name}" is no name of a Python variable')
    if cell is None:
        return rest.strip(), name
    if rest.strip():
        with _short_traceback(""):
            hint = "The SQL begins on the next line; a result's name is given as `name <<` or `--to name`."
            raise SqlError.of("syntax_error", f'"{rest.strip()}" is no option', hint=hint)
    return cell, name


@contextmanager
def _short_traceback(text: str) -> Iterator[None]:
    """Has IPython show a gpudb error as its message alone, with the place in the text."""
    try:
        yield
    except GpudbError as error:
        error.statement = text
        lines = format_error(error, text).splitlines()
        error._render_traceback_ = lambda: lines  # type: ignore[attr-defined]  # a protocol of IPython
        raise
