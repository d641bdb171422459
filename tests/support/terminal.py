"""`gpudb sql` at a terminal: what is typed, and what appears until the next prompt."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pexpect

PROMPT = r"gpudb=>"
_BEGINS = r"\x1b\[\?2004h.*?"
"""A prompt that begins turns bracketed paste on, one that ends turns it off."""
_ENDS = r"\x1b\[\?2004l"
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\r")


class Terminal:
    """A shell in a terminal of 100 columns and 30 lines."""

    def __init__(self, home: Path, *arguments: str, **environment: str) -> None:
        variables = {**os.environ, "HOME": str(home), "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1", **environment}
        for name in ("PAGER", "PSQL_PAGER", "LESS", "EDITOR", "VISUAL"):
            if name not in environment:
                variables.pop(name, None)
        command = ["-m", "gpudb.cli", "sql", *arguments]
        self.child = pexpect.spawn(
            sys.executable, command, env=variables, dimensions=(30, 100), timeout=90, encoding="utf-8"
        )
        self.child.expect(_BEGINS + PROMPT)

    def run(self, text: str, prompt: str = PROMPT) -> str:
        """Types a line and Enter; returns what appears until the next prompt, as text."""
        self.child.send(text + "\r")
        self.child.expect(_ENDS)
        return self.wait(prompt)

    def wait(self, prompt: str = PROMPT) -> str:
        """Returns what appears until the next prompt, as text."""
        self.child.expect(_BEGINS + prompt)
        return _ESCAPES.sub("", self.child.before)

    def type(self, text: str) -> None:
        """Types without Enter."""
        self.child.send(text)

    def end(self) -> None:
        """Leaves by \\q."""
        self.child.send("\\q\r")
        self.child.expect(pexpect.EOF)
        self.child.close()
        assert self.child.exitstatus == 0
