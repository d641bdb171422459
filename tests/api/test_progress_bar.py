"""Bars of statements in a terminal: shown after a second, gone with the statement, and only where they are wanted."""

from __future__ import annotations

import re
import sys

import pexpect

from gpudb.api.connection import Connection
from gpudb.api.statement_watch import is_interactive

SLOW = "SELECT count(*) FROM generate_series(1, 100000) AS a, generate_series(1, 1000000) AS b WHERE a.a::bigint * b.b % 7 = 3"


def test_a_prompt_shows_bars_and_a_script_does_not(db: Connection) -> None:
    assert not is_interactive()
    assert not db.progress_bar
    child = pexpect.spawn(sys.executable, ["-q", "-i"], dimensions=(30, 100), timeout=90, encoding="utf-8")
    child.expect(">>> ")
    child.sendline("import gpudb; db = gpudb.connect(); db.execute('SELECT 1').fetchone()")
    child.expect(r"\(1,\)")
    child.expect(">>> ")
    child.sendline(f"db.execute({SLOW!r})")
    child.expect(r"━.* \d s")
    child.sendintr()
    child.expect("KeyboardInterrupt")
    child.expect(">>> ")
    child.sendline("db.execute('SELECT 41 + 1').fetchone()")
    child.expect(r"\(42,\)")
    assert not re.search("━", child.before)
    child.sendline("db.progress_bar = False")
    child.sendline("db.execute('SELECT pg_sleep(1.6)').fetchone(), 'slept'")
    child.expect(r"'slept'\)")
    assert not re.search("━", child.before)
    child.expect(">>> ")  # a Ctrl-D before the prompt may be lost
    child.sendeof()
    child.expect(pexpect.EOF)
    child.close()
