"""Programs that end without `close()`: their streams have only what they wrote, and their exit status is their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

OPENED = """
import gpudb
db = gpudb.connect({folder})
db.execute("CREATE TABLE t AS SELECT i AS a, 'x' || i AS b FROM generate_series(1, 300000) i")
assert db.sql("SELECT count(DISTINCT upper(b)) FROM t").fetchall() == [(300000,)]
"""
ENDS = {
    "its last line": ("", 0, ""),
    "an iterator that is left": ("rows = iter(db.sql('SELECT a, upper(b) FROM t'))\nnext(rows)", 0, ""),
    "a thread": (
        "import threading\nother = gpudb.connect()\n"
        "threading.Thread(target=lambda: [other.sql('SELECT upper(repeat(1::text, 9))').fetchall() for _ in range(9)])"
        ".start()",
        0,
        "",
    ),
    "sys.exit": ("import sys\nsys.exit(3)", 3, ""),
    "an error": ("db.sql('SELECT a / 0 FROM t').fetchall()", 1, "gpudb.errors.SqlError: division by zero"),
    "Ctrl-C": (
        "import os, signal, threading\n"
        "db.execute(\"SET application_name = 'waits'\")\n"
        "threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "db.sql('SELECT count(*) FROM t a, t b, t c WHERE a.a + b.a + c.a = 7').fetchall()",
        -2,
        "KeyboardInterrupt",
    ),
}
LIMIT_S = 240


@pytest.mark.parametrize("end", ENDS)
def test_nothing_is_written_at_the_end_of_a_program(end: str) -> None:
    _run("", *ENDS[end])


def test_nothing_is_written_at_the_end_of_one_with_a_data_directory(tmp_path: Path) -> None:
    _run(repr(str(tmp_path / "data")), *ENDS["Ctrl-C"])


def _run(folder: str, last: str, status: int, word: str) -> None:
    text = OPENED.format(folder=folder) + last
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=LIMIT_S)
    assert (done.stdout, done.returncode) == ("", status)
    assert done.stderr.rstrip().rpartition("\n")[2] == word
    assert not word or done.stderr.startswith("Traceback")
