"""The shell at a terminal: prompts, editing, history, completion, tables, the pager, interrupts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.terminal import Terminal

SLOW = "SELECT count(*) FROM generate_series(1, 100000) AS a, generate_series(1, 1000000) AS b WHERE a.a::bigint * b.b % 7 = 3;"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shell's home, with an editor that changes 41."""
    folder = tmp_path_factory.mktemp("home")
    editor = folder / "editor"
    editor.write_text("#!/bin/sh\nsed -i 's/41/6 * 7/' \"$1\"\n")
    editor.chmod(0o755)
    return folder


@pytest.fixture(scope="module")
def terminal(home: Path) -> Iterator[Terminal]:
    """One shell for the tests, each of which leaves it as it was; \\q ends it."""
    opened = Terminal(home, EDITOR=str(home / "editor"), PAGER=f"cat > {home}/paged.txt")
    yield opened
    opened.end()


def test_statements_of_several_lines_and_transactions(terminal: Terminal, home: Path) -> None:
    terminal.type("SELECT 1 AS one,\r")
    terminal.child.expect("gpudb->")
    shown = terminal.run("NULL AS nothing;")
    assert re.search(r"│\s+1 │ NULL\s+│", shown)
    assert "(1 row)" in shown
    terminal.run("BEGIN;", r"gpudb=\*>")
    assert "division by zero" in terminal.run("SELECT 1/0;", "gpudb=!>")
    terminal.run("ROLLBACK;")
    assert "Timing is on." in terminal.run("\\timing")
    assert "Time: " in terminal.run("SELECT 'done';")
    terminal.run("\\timing")
    assert "SELECT 1 AS one," in (home / ".gpudb_history").read_text()


def test_history_and_completion(terminal: Terminal) -> None:
    terminal.run("CREATE TABLE customers (customer_number int);")
    terminal.run("INSERT INTO customers VALUES (4711);")
    terminal.type("SELECT * FROM cust")
    terminal.child.expect("customers.*table")  # the menu, with the kind of what it offers
    terminal.type("\t")
    assert "4711" in terminal.run(";")
    terminal.type("SELECT cus FROM customers;" + "\x1b[D" * 16)
    terminal.type("\t")
    terminal.child.expect("customer_number")
    terminal.type("\r")  # takes the completion; the next one runs the statement
    assert "4711" in terminal.run("")
    terminal.type("\x1b[A")  # the last statement again
    terminal.child.expect("customer_number")
    assert "4711" in terminal.run("")


def test_wide_rows_are_whole(terminal: Terminal) -> None:
    wide = "SELECT repeat('a', 90) || 'left' AS one, repeat('b', 90) || 'right' AS two;"
    assert "The pager is not used" in terminal.run("\\pset pager off")
    shown = terminal.run(wide)
    assert "RECORD 1" in shown
    assert "left" in shown
    assert "right" in shown
    terminal.run("\\x auto")
    assert "RECORD 1" in terminal.run(wide)
    assert "RECORD" not in terminal.run("SELECT 1 AS narrow;")
    terminal.run("\\x on")
    assert "narrow | 1" in terminal.run("SELECT 1 AS narrow;")
    terminal.run("\\x off")
    terminal.run("\\pset pager on")


def test_the_pager_scrolls_wide_rows(terminal: Terminal, home: Path) -> None:
    seen = home / "paged.txt"
    terminal.run("SELECT repeat('a', 90) || 'left' AS one, repeat('b', 90) || 'right' AS two;")
    lines = seen.read_text().splitlines()
    assert [line for line in lines if "left" in line and "right" in line]
    assert lines[-1] == "(1 row)"
    terminal.run("SELECT g FROM generate_series(1, 60) AS g;")
    assert seen.read_text().count("│") == 60 * 2


def test_an_interrupt_cancels_and_shows_progress_before(terminal: Terminal) -> None:
    terminal.child.send(SLOW + "\r")
    terminal.child.expect(r"━.* \d s")
    terminal.child.sendintr()
    terminal.child.expect("cancelled")
    terminal.wait()
    assert "42" in terminal.run("SELECT 42;")
    terminal.type("SELECT unfinished")
    terminal.child.sendintr()
    terminal.wait()
    assert "43" in terminal.run("SELECT 43;")


def test_the_editor_and_watch(terminal: Terminal) -> None:
    terminal.run("SELECT 41;")
    assert re.search(r"│\s+42 │", terminal.run("\\e"))
    terminal.child.send("\\watch 0.1\r")
    for _ in range(3):
        terminal.child.expect(r"every 0\.1s")
        terminal.child.expect("│ +42 │")
    terminal.child.sendintr()
    terminal.wait()
    assert re.search(r"│\s+44 │", terminal.run("SELECT 44;"))
