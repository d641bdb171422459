"""Runs a page of the guide as a reader does, block after block, in a temporary folder.

Python blocks share a namespace. SQL blocks share a session. Lines of console blocks that begin with `$ ` are commands:
those of gpudb run in this process, `gpudb serve` starts a server that lasts to the page's end, others run in a shell.
Port 5433 stands for that server's port. In expected output `…` stands for any text.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gpudb
from gpudb.api import Connection
from gpudb.api.messages import format_error, format_notice
from gpudb.cli.script import split_statements
from gpudb.config import program
from gpudb.errors import GpudbError
from tests.support.command_line import run_in_process
from tests.support.forked.process import shell_variables
from tests.support.guide_blocks import Block, blocks
from tests.support.server_program import running_server

SHELL_TIMEOUT_S = 100
_PORT = re.compile(r"\b5433\b")
_SHELL = frozenset("|<>;&`$*")


class Page:
    """One page while it runs. `url` names the server on which SQL blocks run; None is an embedded database."""

    def __init__(self, page: Path, folder: Path, url: str | None) -> None:
        self._page, self._folder, self._url = page, folder, url
        self._stack = contextlib.ExitStack()
        self._names: dict[str, Any] = {"__name__": "__main__"}
        self._session: Connection | None = None
        self._port = "5433"

    def run(self) -> None:
        """Runs every block that is not marked; AssertionError names the block that fails."""
        with self._stack, contextlib.chdir(self._folder):
            self._stack.callback(self._close_connections)
            for block in blocks(self._page):
                if block.not_run is None:
                    getattr(self, f"_run_{block.language}", lambda _: None)(block)

    def _close_connections(self) -> None:
        for value in self._names.values():
            if isinstance(value, Connection):
                value.close()

    # ---- languages

    def _run_python(self, block: Block) -> None:
        source = "\n" * (block.line - 1) + _PORT.sub(self._port, block.text)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            try:
                exec(compile(source, str(block.page), "exec"), self._names)
            except BaseException as error:
                raise AssertionError(f"{block.place}: {type(error).__name__}: {error}") from error
        if block.output is not None:
            self._compare(block, block.output, printed.getvalue())

    def _run_sql(self, block: Block) -> None:
        if self._session is None:
            self._session = self._stack.enter_context(gpudb.connect(self._url))
        lines: list[str] = []
        failed = False
        for _, statement in split_statements(block.text):
            try:
                rows = self._session.execute(statement)
            except GpudbError as error:
                failed = True
                lines.append(format_error(error) + "\n")
            else:
                lines += [format_notice(notice) + "\n" for notice in self._session.notices]
                if rows.gives_rows:
                    lines.append(f"{rows}\n\n")
        expected = block.output or ""
        assert not failed or "ERROR:" in expected, f"{block.place}: {''.join(lines)}"
        if block.output is not None:
            self._compare(block, expected, "".join(lines))

    def _run_toml(self, block: Block) -> None:
        file = self._folder / "gpudb.toml"
        file.write_text(block.text, encoding="utf-8")
        settings = program.load(file)
        assert tomllib.loads(block.text).keys() <= type(settings).model_fields.keys(), block.place

    def _run_console(self, block: Block) -> None:
        for command, expected in _commands(block.text):
            command = _PORT.sub(self._port, command)
            words = shlex.split(command, comments=True)
            if words[:2] == ["gpudb", "serve"]:
                self._serve(words[2:])
                continue
            if words[0] == "psql" and shutil.which("psql") is None:
                continue
            if words[0] == "gpudb" and not _SHELL & set(command):
                done = run_in_process(*words[1:])
            else:
                done = subprocess.run(
                    command,
                    shell=True,
                    capture_output=True,
                    text=True,
                    timeout=SHELL_TIMEOUT_S,
                    env=_environment(self._folder / ".commands"),
                )
            printed = done.stdout + done.stderr
            if "ERROR:" not in expected:
                assert done.returncode == 0, f"{block.place}: {command}\n{printed}"
            if expected.strip():
                self._compare(block, expected, printed)

    def _serve(self, options: list[str]) -> None:
        """Starts the server that the page shows, on a free port."""
        for name in ("--host", "--port"):
            if name in options:
                at = options.index(name)
                del options[at : at + 2]
        folder = Path("gpudb-data")
        if "--data-dir" in options:
            at = options.index("--data-dir")
            folder = Path(options[at + 1])
            del options[at : at + 2]
        dsn = self._stack.enter_context(running_server(self._folder / folder, *options))
        self._port = dict(part.split("=") for part in dsn.split())["port"]

    def _compare(self, block: Block, expected: str, printed: str) -> None:
        wanted, found = _lines(_PORT.sub(self._port, expected)), _lines(printed)
        message = f"{block.place} prints\n" + "\n".join(found) + "\nnot\n" + "\n".join(wanted)
        pattern = ".*".join(re.escape(part) for part in "\n".join(wanted).split("…"))
        assert re.fullmatch(pattern, "\n".join(found), re.DOTALL), message


_TIME = re.compile(r"\d+\.\d+ ms\b")


def _lines(text: str) -> list[str]:
    """Lines without trailing blanks; blank lines count only between others, and once.

    Times in milliseconds differ from run to run, and with them the width of a plan: both are left out.
    """
    made: list[str] = []
    for line in _TIME.sub("0 ms", text).strip("\n").splitlines():
        if line.strip() in {"QUERY PLAN", "-" * len(line.strip())}:
            line = line.strip().rstrip("-") or "---"
        if line.strip() or (made and made[-1]):
            made.append(line.rstrip())
    while made and not made[-1]:
        made.pop()
    return made


def _commands(text: str) -> Iterator[tuple[str, str]]:
    """Yields each command of a console block with the output that the block shows.

    After `$ psql …`, what follows psql's prompts `gpudb=>` and `gpudb->` is a command of psql's.
    """
    command, output, client = "", "", ""
    lines = iter(text.splitlines())
    for line in lines:
        prompt = line[:8] if line[:8] in {"gpudb=> ", "gpudb-> "} else line[:2]
        if prompt == "gpudb-> ":
            command += "\n" + line[8:]
        elif prompt in {"$ ", "gpudb=> "}:
            if command and command != client:
                yield _typed(client, command), output
            command, output = line[len(prompt) :], ""
            while command.endswith("\\"):
                command = command[:-1] + next(lines).strip()
            if prompt == "$ ":
                client = command if command.startswith("psql ") and "-c" not in command else ""
        else:
            output += f"{line}\n"
    if command:
        yield _typed(client, command), output


def _typed(client: str, command: str) -> str:
    return f"{client} -c {shlex.quote(command)}" if client else command


def _environment(folder: Path) -> dict[str, str]:
    """This process's environment, with gpudb's and Python's commands first on PATH; gpudb's is put into a folder."""
    folder.mkdir(exist_ok=True)
    return {
        **os.environ,
        **shell_variables(folder),
        "PGCONNECT_TIMEOUT": "10",
        "PSQLRC": os.devnull,
        "PAGER": "cat",
    }
