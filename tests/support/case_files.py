"""Parser of the case files: statements that end with `;` at a line's end, and marks between them.

Marks are comment lines of their own:
  -- setup        the following statements must succeed on both servers and are not compared
  -- cases        the following statements are cases
  -- messages     as `cases`; of errors, message, detail, hint and position are compared too
  -- ordered      the next statement's rows are compared in order
  -- error CODE   the next statement must fail on PostgreSQL with this SQLSTATE
  -- refused CODE: WHY   gpudb rejects the next statement with this SQLSTATE on purpose
  -- differs: WHY  gpudb's answer to the next statement differs on purpose
Any other comment line before a statement is prose.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

CASES = Path(__file__).parents[1] / "differential" / "cases"

_MARK = re.compile(
    r"--\s*(setup|cases|messages|ordered|error\s+([0-9A-Z]{5})|refused\s+([0-9A-Z]{5}):.+|differs:.+)\s*$"
)


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of a case file with its marks."""

    file: str
    line: int
    sql: str
    setup: bool
    ordered: bool
    sqlstate: str | None
    refused: str | None
    differs: bool = False
    messages: bool = False

    @property
    def name(self) -> str:
        """A short name for reports."""
        return f"{self.file}:{self.line}"


def case_files() -> list[Path]:
    """Returns all case files, sorted by name. Those of PostgreSQL's regression topics are in the folder `topics`."""
    return sorted(CASES.rglob("*.sql"))


def case_name(path: Path) -> str:
    """Returns a case file's name, such as `joins` or `topics/join`."""
    return path.relative_to(CASES).with_suffix("").as_posix() if path.is_relative_to(CASES) else path.stem


def read(path: Path) -> Iterator[Statement]:
    """Yields the statements of a case file in order."""
    name = case_name(path)
    setup = messages = ordered = differs = False
    sqlstate: str | None = None
    refused: str | None = None
    lines: list[str] = []
    start = 0
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not lines and (mark := _MARK.match(line)):
            word = mark[1].split()[0].rstrip(":")
            if word in ("setup", "cases", "messages"):
                setup, messages = word == "setup", word == "messages"
            elif word == "ordered":
                ordered = True
            elif word == "differs":
                differs = True
            elif word == "error":
                sqlstate = mark[2]
            else:
                refused = mark[3]
            continue
        if not lines and (not line.strip() or line.startswith("--")):
            continue
        if not lines:
            start = number
        lines.append(line)
        if line.rstrip().endswith(";"):
            yield Statement(name, start, "\n".join(lines), setup, ordered, sqlstate, refused, differs, messages)
            lines, ordered, differs, sqlstate, refused = [], False, False, None, None
    if lines or ordered or differs or sqlstate is not None or refused is not None:
        raise ValueError(f"{path.name}: the last statement or mark is not finished")


def sample(names: Iterable[str], every: int) -> list[str]:
    """Returns one of `every` so many names: a suite that repeats the case files in another way runs these, and all of
    them under `make soak`. Another number of them is another sample.
    """
    return [name for name in names if zlib.crc32(f"{every} {name}".encode()) % every == 0]


@cache
def read_all() -> dict[str, list[Statement]]:
    """Returns the statements of every case file, keyed by the file's name."""
    return {case_name(path): list(read(path)) for path in case_files()}
