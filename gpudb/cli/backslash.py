"""The shell's backslash commands: SQL over the catalog, COPY from a file, settings of the screen, statements again."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol

from gpudb.api.connection import Connection
from gpudb.cli.screen import Screen
from gpudb.errors import GpudbError, SqlError

HELP = r"""
  \d               tables and views            \d NAME   columns of a table or view
  \dt \dv \dn \du  tables, views, schemas, roles        \l   databases
  \df [PATTERN]    your functions, or all whose name is like PATTERN, in which * stands for any text
  \i FILE          run the statements of a file
  \e               edit the last statement in $EDITOR, then run it
  \g \gx           end a statement as ; does; \gx shows its rows expanded
  \watch [SECONDS] run the last statement again and again, until Ctrl-C; i=SECONDS c=TIMES
  \x [on|off|auto] a line for each column; auto: for rows wider than the terminal
  \o [FILE]        results go to a file; without a name to the screen again
  \pset pager [on|off]   whether large results go to $PAGER
  \copy TABLE [(columns)] FROM 'FILE' [[WITH] (options)]   load a local file
  \timing          print the time of each statement
  \?               this                        \q        leave
"""

_RELATIONS = """
SELECT n.nspname AS "Schema", c.relname AS "Name",
       CASE c.relkind WHEN 'v' THEN 'view' ELSE 'table' END AS "Type",
       pg_catalog.pg_get_userbyid(c.relowner) AS "Owner"
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ({kinds}) AND n.nspname <> 'pg_catalog' AND n.nspname <> 'information_schema'
  AND n.nspname NOT LIKE 'pg_toast%'
ORDER BY 1, 2
"""
_COLUMNS = """
SELECT a.attname AS "Column", pg_catalog.format_type(a.atttypid, a.atttypmod) AS "Type",
       CASE WHEN a.attnotnull THEN 'not null' ELSE '' END AS "Nullable"
FROM pg_catalog.pg_attribute a
WHERE a.attrelid = {table}::pg_catalog.regclass AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum
"""
_SCHEMAS = """
SELECT nspname AS "Name", pg_catalog.pg_get_userbyid(nspowner) AS "Owner"
FROM pg_catalog.pg_namespace WHERE nspname NOT LIKE 'pg_%' AND nspname <> 'information_schema' ORDER BY 1
"""
_ROLES = """
SELECT r.rolname AS "Role name", pg_catalog.concat_ws(', ',
         CASE WHEN r.rolsuper THEN 'Superuser' END, CASE WHEN NOT r.rolinherit THEN 'No inheritance' END,
         CASE WHEN r.rolcreaterole THEN 'Create role' END, CASE WHEN r.rolcreatedb THEN 'Create DB' END,
         CASE WHEN NOT r.rolcanlogin THEN 'Cannot login' END, CASE WHEN r.rolreplication THEN 'Replication' END,
         CASE WHEN r.rolbypassrls THEN 'Bypass RLS' END) AS "Attributes",
       pg_catalog.array_to_string(ARRAY(
         SELECT g.rolname FROM pg_catalog.pg_auth_members m JOIN pg_catalog.pg_roles g ON m.roleid = g.oid
         WHERE m.member = r.oid ORDER BY 1), ', ') AS "Member of"
FROM pg_catalog.pg_roles r WHERE r.rolname !~ '^pg_' ORDER BY 1
"""
_FUNCTIONS = """
SELECT n.nspname AS "Schema", p.proname AS "Name", pg_catalog.pg_get_function_result(p.oid) AS "Result data type",
       pg_catalog.pg_get_function_arguments(p.oid) AS "Argument data types",
       CASE p.prokind WHEN 'a' THEN 'agg' WHEN 'w' THEN 'window' WHEN 'p' THEN 'proc' ELSE 'func' END AS "Type"
FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
WHERE {condition}
ORDER BY 1, 2, 4
"""
_DATABASES = """
SELECT datname AS "Name", pg_catalog.pg_get_userbyid(datdba) AS "Owner",
       pg_catalog.pg_encoding_to_char(encoding) AS "Encoding", datcollate AS "Collate", datctype AS "Ctype"
FROM pg_catalog.pg_database ORDER BY 1
"""

_COPY = re.compile(r"\\copy\s+(?P<what>.+?)\s+from\s+'(?P<file>(?:[^']|'')+)'\s*(?P<rest>.*)", re.I | re.S)


COMMANDS = (
    "\\?", "\\copy", "\\d", "\\df", "\\dn", "\\dt", "\\du", "\\dv", "\\e", "\\g", "\\gx", "\\i", "\\l", "\\o", "\\pset",
    "\\q", "\\timing", "\\watch", "\\x",
)  # fmt: skip


class Runner(Protocol):
    """What the commands act on: a connection, its screen, and the texts of the last and of the next statement."""

    connection: Connection
    screen: Screen
    last: str
    edited: str

    def run(self, text: str) -> None:
        """Runs a script."""

    def copy_from(self, statement: str, chunks: Iterable[bytes]) -> int:
        """Runs COPY … FROM STDIN; returns the number of rows."""


def run(runner: Runner, line: str) -> None:
    """Runs one command; 42601 for an unknown one, or for wrong arguments."""
    word, _, rest = line.rstrip("; ").partition(" ")
    name = rest.strip()
    match word:
        case "\\?":
            runner.screen.print(HELP.strip("\n"))
        case "\\d" if name:
            table = "'" + name.replace("'", "''") + "'"
            _query(runner, _COLUMNS.format(table=table))
        case "\\d":
            _query(runner, _RELATIONS.format(kinds="'r', 'p', 'v'"))
        case "\\dt":
            _query(runner, _RELATIONS.format(kinds="'r', 'p'"))
        case "\\dv":
            _query(runner, _RELATIONS.format(kinds="'v'"))
        case "\\df":
            _query(runner, _FUNCTIONS.format(condition=_match_functions(name)))
        case "\\dn":
            _query(runner, _SCHEMAS)
        case "\\du":
            _query(runner, _ROLES)
        case "\\l":
            _query(runner, _DATABASES)
        case "\\i":
            _include(runner, name)
        case "\\copy":
            _copy(runner, line)
        case "\\g" | "\\gx":
            _run_again(runner, expanded=word == "\\gx")
        case "\\watch":
            _watch(runner, name)
        case "\\e":
            _edit(runner)
        case "\\x":
            _expand(runner, name)
        case "\\o":
            runner.screen.open_output(name)
        case "\\timing":
            runner.screen.has_timing = _read_switch(name, runner.screen.has_timing)
            runner.screen.print(f"Timing is {'on' if runner.screen.has_timing else 'off'}.")
        case "\\pset" if name.split()[:1] == ["pager"]:
            runner.screen.has_pager = _read_switch(name[5:].strip(), runner.screen.has_pager)
            used = "is used for large results" if runner.screen.has_pager else "is not used"
            runner.screen.print(f"The pager {used}.")
        case _:
            raise SqlError.of("syntax_error", f"there is no command {word}", hint="Try \\? for help.")


def _match_functions(pattern: str) -> str:
    if not pattern:
        return "n.nspname <> 'pg_catalog' AND n.nspname <> 'information_schema'"
    expression = re.escape(pattern.lower()).replace(r"\*", ".*").replace(r"\?", ".").replace("'", "''")
    return f"p.proname ~ '^({expression})$'"


def _query(runner: Runner, text: str) -> None:
    runner.screen.show(runner.connection.execute(text))


def _read_switch(text: str, current: bool) -> bool:
    """Reads on or off; nothing changes the current state."""
    if text.lower() not in {"", "on", "off"}:
        raise SqlError.of("syntax_error", f'"{text}" is neither on nor off')
    return not current if not text else text.lower() == "on"


def _expand(runner: Runner, name: str) -> None:
    screen = runner.screen
    if name == "auto":
        screen.expanded = "auto"
    else:
        screen.expanded = "on" if _read_switch(name, screen.expanded == "on") else "off"
    state = {"on": "on", "off": "off", "auto": "used automatically"}[screen.expanded]
    screen.print(f"Expanded display is {state}.")


def _get_last(runner: Runner) -> str:
    if not runner.last:
        raise SqlError.of("syntax_error", "no statement has run yet")
    return runner.last


def _run_again(runner: Runner, *, expanded: bool) -> None:
    text = _get_last(runner)
    if not expanded:
        return runner.run(text)
    with runner.screen.expanding():
        return runner.run(text)


def _watch(runner: Runner, arguments: str) -> None:
    """Runs the last statement every few seconds (2), a number of times or until Ctrl-C."""
    text = _get_last(runner)
    seconds, times = 2.0, 0
    for argument in arguments.split():
        name, has_name, value = argument.rpartition("=")
        try:
            if name in {"", "i", "interval"}:
                seconds = float(value)
            elif name in {"c", "count"}:
                times = int(value)
            else:
                raise ValueError
            if seconds < 0 or (has_name and times < 0):
                raise ValueError
        except ValueError:
            raise SqlError.of("syntax_error", f'\\watch does not take "{argument}"') from None
    done = 0
    try:
        while True:
            runner.screen.print(f"{time.strftime('%a %d %b %Y %H:%M:%S')} (every {seconds:g}s)\n")
            runner.run(text)
            done += 1
            if done == times:
                return
            time.sleep(seconds)
    except KeyboardInterrupt:
        runner.screen.print("")


def _edit(runner: Runner) -> None:
    """Opens the last statement in $EDITOR; what comes back is the next prompt's text."""
    if not runner.screen.is_terminal:
        raise SqlError.of("feature_not_supported", "\\e is supported at a terminal alone")
    editor = os.environ.get("PSQL_EDITOR") or os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "statement.sql"
        path.write_text(runner.last + "\n" if runner.last else "", encoding="utf-8")
        try:
            status = subprocess.call([*shlex.split(editor), str(path)])
        except OSError as error:
            raise SqlError.of("system_error", f'cannot start the editor "{editor}": {error.strerror}') from None
        if status:
            raise SqlError.of("system_error", f'the editor "{editor}" ended with status {status}')
        runner.edited = path.read_text(encoding="utf-8").strip()


def _include(runner: Runner, name: str) -> None:
    """Runs a file; the position of an error in it is reported as a line."""
    text = _resolve_file(name).read_text(encoding="utf-8")
    try:
        runner.run(text)
    except GpudbError as error:
        if error.position is not None:
            line_text = f'file "{name}", line {text.count(chr(10), 0, error.position - 1) + 1}'
            error.where = f"{error.where}\n{line_text}" if error.where else line_text
            error.position = None
        raise


def _copy(runner: Runner, line: str) -> None:
    match = _COPY.match(line.strip().rstrip(";"))
    if match is None:
        hint = "\\copy TABLE [(columns)] FROM 'FILE' [[WITH] (options)]"
        raise SqlError.of("syntax_error", "\\copy takes data from a file", hint=hint)
    path = _resolve_file(match["file"].replace("''", "'"))
    count = runner.copy_from(f"COPY {match['what']} FROM STDIN {match['rest']}", _read_chunks(path))
    sys.stdout.write(f"COPY {count}\n")


def _resolve_file(name: str) -> Path:
    path = Path(name).expanduser()
    if not path.is_file():
        raise SqlError.of("undefined_file", f'there is no file "{name}"')
    return path


def _read_chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            yield chunk
