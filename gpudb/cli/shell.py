"""The interactive shell: a prompt with highlighting, history and completion, over a script's runner."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import PygmentsLexer
from prompt_toolkit.shortcuts import CompleteStyle
from pygments.lexers.sql import PostgresLexer

from gpudb.cli.completion.completer import SqlCompleter
from gpudb.cli.completion.names import Names, load_names
from gpudb.cli.output import format_duration
from gpudb.cli.script import QUIT, Runner, report_errors
from gpudb.cli.split import find_command, is_complete
from gpudb.errors import GpudbError

HISTORY = Path("~/.gpudb_history")
_LEAVING = frozenset({"exit", "quit", "exit;", "quit;"})
_DEFINING = ("CREATE", "ALTER", "DROP", "COMMIT", "SELECT INTO", "SET", "\\c ")
"""Beginnings of statements after which there may be other names."""


class Shell:
    """Reads statements at a terminal and runs them."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._completer = SqlCompleter()
        self._loading: threading.Thread | None = None
        self._session: PromptSession[str] = PromptSession(
            self._make_prompt,
            multiline=True,
            prompt_continuation=lambda width, number, wrapped: self._make_prompt(continues=True),
            lexer=PygmentsLexer(PostgresLexer),
            history=FileHistory(HISTORY.expanduser()),
            completer=self._completer,
            complete_while_typing=True,
            complete_style=CompleteStyle.COLUMN,
            key_bindings=_make_bindings(),
            enable_open_in_editor=True,
            tempfile_suffix=".sql",
        )
        self._print(f"gpudb on {runner.describe_target()}. \\? lists the commands, \\q leaves.")

    def _print(self, text: str) -> None:
        self._runner.screen.print(text)

    def run(self) -> None:
        """Reads and runs statements until \\q or the end of input."""
        self._load_names()
        try:
            while True:
                try:
                    text = self._session.prompt(default=self._take_edited())
                except EOFError:
                    return
                except KeyboardInterrupt:
                    continue
                if text.strip().rstrip("; ") in QUIT or text.strip().lower() in _LEAVING:
                    return
                self._run(text)
                # What \e left runs at once if it is whole, as in psql.
                while self._runner.edited and _is_finished(self._runner.edited):
                    edited = self._take_edited()
                    self._session.history.append_string(edited)
                    self._print(edited)
                    self._run(edited)
        finally:
            self._runner.screen.close()

    def _make_prompt(self, *, continues: bool = False) -> str:
        mark = {"I": "", "T": "*", "E": "!"}[self._runner.connection.status]
        return f"gpudb{'-' if continues else '='}{mark}> "

    def _take_edited(self) -> str:
        edited, self._runner.edited = self._runner.edited, ""
        return edited

    def _run(self, text: str) -> None:
        screen = self._runner.screen
        screen.seconds = 0.0
        stripped = text.strip()
        if self._loading is not None:
            self._loading.join()
        try:
            report_errors(lambda: self._runner.run(text), text)
        except KeyboardInterrupt:
            sys.stdout.flush()
            self._print("\ncancelled")
        if screen.has_timing and stripped and not stripped.startswith("\\"):
            self._print(f"Time: {format_duration(screen.seconds)}")
        if stripped.upper().startswith(_DEFINING) or "\\i" in stripped:
            self._load_names()

    def _load_names(self) -> None:
        """Loads the names of the catalog in the background; a failed transaction keeps the old ones."""
        if self._runner.connection.status != "I":
            return

        def load() -> None:
            try:
                self._completer.names = load_names(self._runner.connection)
            except GpudbError:
                self._completer.names = Names()

        self._loading = threading.Thread(target=load, name="gpudb-names", daemon=True)
        self._loading.start()


def _is_finished(text: str) -> bool:
    """Whether Enter runs a text: a whole statement, a backslash command, or nothing."""
    stripped = text.strip()
    return (
        not stripped
        or stripped.startswith("\\")
        or stripped.lower() in _LEAVING
        or is_complete(text)
        or find_command(text) is not None
    )


def _make_bindings() -> KeyBindings:
    """Enter takes the chosen completion, runs a finished text, and otherwise begins a line."""
    bindings = KeyBindings()

    @Condition
    def is_completing() -> bool:
        state = get_app().current_buffer.complete_state
        return state is not None and state.current_completion is not None

    @bindings.add("enter", filter=is_completing)
    def _accept_completion(event: KeyPressEvent) -> None:
        event.current_buffer.complete_state = None

    @bindings.add("enter", filter=~is_completing)
    def _enter(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        buffer.complete_state = None
        if _is_finished(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    return bindings
