"""Completion of files' names: whether the cursor is in one, and which files begin so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MOST_FILES = 200
"""Names that are offered at once."""

_COMMAND = re.compile(r"\\(?:i|o|cd)\s+(?P<word>[^\s']*)$")
"""The argument of a backslash command that is a file alone."""
_RUN = re.compile(r"\\gx?\s+(?P<word>[^\s']*)$")
"""The file of \\g, at the end of a statement."""
_COPY = re.compile(r"^\s*\\copy\b.*\b(?:from|to)\s+(?P<word>[^\s'(]*)$", re.IGNORECASE | re.DOTALL)
_QUOTED = re.compile(
    r"(?:^\s*\\(?:i|o)\s+|\b(?:from|to|join|read_\w+\s*\(|,)\s*)'(?P<word>(?:[^']|'')*)$", re.IGNORECASE | re.DOTALL
)
"""A text where SQL has a file: FROM '…', COPY … TO '…', read_csv('…'."""


@dataclass(frozen=True, slots=True)
class FilePlace:
    """A file's name at the cursor, as far as it is typed; `is_quoted` in a text, whose quotes are doubled."""

    text: str
    is_quoted: bool

    @property
    def last(self) -> str:
        """The last part of the typed path, as it is typed."""
        typed = self.text.replace("'", "''") if self.is_quoted else self.text
        return typed.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class FileName:
    """A file or folder; the name of a folder ends with a slash."""

    name: str
    is_folder: bool


def find_file_place(before: str) -> FilePlace | None:
    """Returns the name of a file that ends the text before the cursor; None where SQL expects something else."""
    stripped = before.lstrip()
    for pattern in (_COMMAND, _COPY) if stripped.startswith("\\") else (_RUN,):
        found = pattern.search(before)
        if found is not None:
            return FilePlace(found["word"], is_quoted=False)
    found = _QUOTED.search(before)
    if found is None or _count_quotes(before[: found.start("word") - 1]) % 2:
        return None
    return FilePlace(found["word"].replace("''", "'"), is_quoted=True)


def _count_quotes(text: str) -> int:
    return text.count("'")


def list_files(typed: str) -> Iterator[FileName]:
    """Yields what a typed path may become, folders first; hidden files only after a point."""
    folder, _, beginning = typed.rpartition("/")
    path = Path(f"{folder}/" if "/" in typed else ".").expanduser()
    found = []
    try:
        for each in path.iterdir():
            if each.name.startswith(beginning) and (beginning or not each.name.startswith(".")):
                is_folder = each.is_dir()
                found.append(FileName(f"{each.name}/" if is_folder else each.name, is_folder))
    except OSError:
        return
    yield from sorted(found, key=lambda each: (not each.is_folder, each.name))[:MOST_FILES]
