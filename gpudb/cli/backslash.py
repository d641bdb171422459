"""The shell's backslash commands: SQL over the catalog, COPY from a file, settings of the screen, statements again."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import Protocol

from gpudb.api.connection import Connection
from gpudb.cli import catalog_queries as queries
from gpudb.cli.copy_command import copy, resolve_file
from gpudb.cli.screen import Screen
from gpudb.cli.variables import set_variable
from gpudb.errors import GpudbError, SqlError
from gpudb.functions.text_literal import quote_literal

HELP = r"""
  \d               tables and views            \d NAME   columns of a table or view; \d+ tells more
  \dt \dv \di \dn \du   tables, views, indexes, schemas, roles        \l   databases
  \df [PATTERN]    your functions, or all whose name is like PATTERN, in which * stands for any text
  \i FILE          run the statements of a file
  \e               edit the last statement in $EDITOR, then run it
  \g [FILE] \gx    end a statement as ; does; its rows go to the file; \gx shows them expanded
  \watch [SECONDS] run the last statement again and again, until Ctrl-C; i=SECONDS c=TIMES
  \x [on|off|auto] a line for each column; auto: for rows wider than the terminal
  \o [FILE]        results go to a file; without a name to the screen again
  \pset pager [on|off]   whether large results go to $PAGER
  \pset format FORMAT    aligned, unaligned, csv, json, markdown or html
  \pset null TEXT        what stands for NULL      \t       rows alone, without names and count
  \copy TABLE [(columns)] FROM 'FILE' [[WITH] (options)]   load a local file
  \copy TABLE|(QUERY) TO 'FILE'|STDOUT [[WITH] (options)]  write one; .parquet and .arrow decide the format
  \set NAME VALUE  a variable: :NAME, :'NAME' as a text, :"NAME" as a name        \unset NAME
  \echo TEXT       print a text                \! COMMAND   run a command of the system
  \c DATABASE|URL|DIR   connect to another      \conninfo    what is connected
  \timing          print the time of each statement
  \?               this                        \q        leave
"""

COMMANDS = (
    "\\!", "\\?", "\\c", "\\conninfo", "\\copy", "\\d", "\\d+", "\\df", "\\di", "\\dn", "\\dt", "\\du", "\\dv", "\\e",
    "\\echo", "\\g", "\\gx", "\\i", "\\l", "\\o", "\\pset", "\\q", "\\set", "\\t", "\\timing", "\\unset", "\\watch",
    "\\x",
)  # fmt: skip


class Runner(Protocol):
    """What the commands act on: a connection, its screen, the last and the next statement's texts, variables."""

    connection: Connection
    screen: Screen
    variables: dict[str, str]
    last: str
    edited: str

    def run(self, text: str) -> None:
        """Runs a script."""

    def copy_from(self, statement: str, chunks: Iterable[bytes]) -> int:
        """Runs COPY … FROM STDIN; returns the number of rows."""

    def copy_to(self, statement: str, write: Callable[[bytes], object]) -> int:
        """Runs COPY … TO STDOUT; returns the number of rows."""

    def connect(self, target: str) -> None:
        """Connects to a database of the server, or to another server or directory, in the place of the connection."""

    def describe_target(self) -> str:
        """Returns where the database is."""


def run(runner: Runner, line: str) -> None:
    """Runs one command; 42601 for an unknown one, or for wrong arguments."""
    word, _, rest = line.rstrip("; ").partition(" ")
    name = rest.strip()
    match word:
        case "\\?":
            runner.screen.print(HELP.strip("\n"))
        case "\\d" | "\\d+" if name:
            _describe(runner, name, verbose=word == "\\d+")
        case "\\d" | "\\d+":
            _query(runner, queries.RELATIONS.format(kinds="'r', 'p', 'v'", more=queries.SIZE if word == "\\d+" else ""))
        case "\\dt":
            _query(runner, queries.RELATIONS.format(kinds="'r', 'p'", more=""))
        case "\\dv":
            _query(runner, queries.RELATIONS.format(kinds="'v'", more=""))
        case "\\di":
            _query(runner, queries.RELATIONS.format(kinds="'i', 'I'", more=queries.INDEX_TABLE))
        case "\\df":
            _query(runner, queries.FUNCTIONS.format(condition=_match_functions(name)))
        case "\\dn":
            _query(runner, queries.SCHEMAS)
        case "\\du":
            _query(runner, queries.ROLES)
        case "\\l":
            _query(runner, queries.DATABASES)
        case "\\i":
            _include(runner, name)
        case "\\copy":
            copy(runner, line)
        case "\\g" | "\\gx":
            _run_again(runner, name, expanded=word == "\\gx")
        case "\\set" if name:
            set_variable(runner.variables, name)
        case "\\set":
            runner.screen.print("\n".join(f"{key} = {value!r}" for key, value in sorted(runner.variables.items())))
        case "\\unset":
            runner.variables.pop(name, None)
        case "\\echo":
            runner.screen.print(" ".join(shlex.split(name)))
        case "\\!":
            _run_command(line)
        case "\\c" | "\\connect":
            runner.connect(name)
            runner.screen.print(_describe_connection(runner))
        case "\\conninfo":
            runner.screen.print(_describe_connection(runner))
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
        case "\\t":
            _set_heading(runner.screen, name)
        case "\\pset":
            _set_option(runner.screen, name)
        case _:
            raise SqlError.of("syntax_error", f"there is no command {word}", hint="Try \\? for help.")


def _describe(runner: Runner, name: str, *, verbose: bool) -> None:
    table = quote_literal(name)
    _query(runner, queries.COLUMNS.format(table=table, more=queries.COLUMN_DETAILS if verbose else ""))
    if verbose and len(found := runner.connection.execute(queries.DEFINITIONS.format(table=table))):
        runner.screen.show(found)


def _describe_connection(runner: Runner) -> str:
    ((connected,),) = runner.connection.execute(queries.CONNECTED).fetchall()
    return f"{connected} on {runner.describe_target()}."


def _run_command(line: str) -> None:
    """Runs a command of the system; its status is told if it is not 0."""
    sys.stdout.flush()
    status = subprocess.call(line.removeprefix("\\!").strip() or os.environ.get("SHELL", "/bin/sh"), shell=True)
    if status:
        raise SqlError.of("system_error", f"the command ended with status {status}")


def _set_option(screen: Screen, arguments: str) -> None:
    """Reads \\pset NAME VALUE."""
    name, _, value = arguments.partition(" ")
    value = value.strip()
    match name:
        case "pager":
            screen.has_pager = _read_switch(value, screen.has_pager)
            screen.print(f"The pager {'is used for large results' if screen.has_pager else 'is not used'}.")
        case "format":
            screen.set_format(value)
            screen.print(f"Output format is {screen.format}.")
        case "null":
            screen.null = value[1:-1].replace("''", "'") if value[:1] == value[-1:] == "'" and len(value) > 1 else value
            screen.print(f'Null display is "{screen.null}".')
        case "tuples_only" | "t":
            _set_heading(screen, value)
        case "expanded" | "x":
            raise SqlError.of("syntax_error", "\\x sets whether rows are expanded")
        case _:
            hint = "It has format, null, pager and tuples_only."
            raise SqlError.of("syntax_error", f'\\pset has no option "{name}"', hint=hint)


def _set_heading(screen: Screen, text: str) -> None:
    screen.has_heading = not _read_switch(text, not screen.has_heading)
    screen.print(f"Tuples only is {'off' if screen.has_heading else 'on'}.")


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


def _run_again(runner: Runner, name: str, *, expanded: bool) -> None:
    text = _get_last(runner)
    with runner.screen.expanding() if expanded else nullcontext(), runner.screen.redirecting(name):
        runner.run(text)


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
    text = resolve_file(name).read_text(encoding="utf-8")
    try:
        runner.run(text)
    except GpudbError as error:
        if error.position is not None:
            line_text = f'file "{name}", line {text.count(chr(10), 0, error.position - 1) + 1}'
            error.where = f"{error.where}\n{line_text}" if error.where else line_text
            error.position = None
        raise
