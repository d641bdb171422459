"""The shell's \\copy: a local file into a table, or a table or query into one."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Protocol

from gpudb.cli.split import find_closing
from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.storage.copy.options import NAMED_FORMATS

_COPY = re.compile(
    r"(?P<what>.*?)\s*\b(?P<way>from|to)\s+(?:'(?P<file>(?:[^']|'')+)'|(?P<word>[^\s'(]+))\s*(?P<rest>.*)", re.I | re.S
)


class Copier(Protocol):
    """What runs COPY."""

    def copy_from(self, statement: str, chunks: Iterable[bytes]) -> int:
        """Runs COPY … FROM STDIN; returns the number of rows."""

    def copy_to(self, statement: str, write: Callable[[bytes], object]) -> int:
        """Runs COPY … TO STDOUT; returns the number of rows."""


def copy(runner: Copier, line: str) -> None:
    """Runs one \\copy. 42601 for a line that is none; 58P01, 42501 for a file that cannot be read or written."""
    text = line.strip().rstrip(";").removeprefix("\\copy").strip()
    end = _find_end(text) if text.startswith("(") else 0
    match = _COPY.match(text, end)
    if match is None:
        hint = "\\copy TABLE [(columns)] FROM 'FILE' [[WITH] (options)], or \\copy TABLE|(QUERY) TO 'FILE'|STDOUT"
        raise SqlError.of("syntax_error", "\\copy takes data from a file, or writes them to one", hint=hint)
    what, options = text[:end] + match["what"], match["rest"]
    name = match["word"] or match["file"].replace("''", "'")
    if match["way"].lower() == "from":
        if end:
            raise SqlError.of("syntax_error", "\\copy cannot load into a query")
        _check_text(name, options)
        count = runner.copy_from(f"COPY {what} FROM STDIN {options}", _read_chunks(resolve_file(name)))
    elif name.lower() in {"stdout", "pstdout"}:
        sys.stdout.flush()
        runner.copy_to(f"COPY {what} TO STDOUT {options}", sys.stdout.buffer.write)
        sys.stdout.buffer.flush()
        return
    else:
        form = NAMED_FORMATS.get(Path(name).suffix.lower())
        if form is not None and not options:
            options = f"(FORMAT {form})"
        if Path(name).suffix.lower() == ".csv" and not options:
            sys.stderr.write(f'WARNING:  "{name}" is written in the format text, with tabs\n')
            sys.stderr.write("HINT:  (FORMAT csv, HEADER) writes commas and quotes.\n")
        count = _copy_to_file(runner, f"COPY {what} TO STDOUT {options}", Path(name).expanduser())
    sys.stdout.write(f"COPY {count}\n")


def _check_text(name: str, options: str) -> None:
    """0A000 for a file whose name tells a format that COPY FROM does not read."""
    form = NAMED_FORMATS.get(Path(name).suffix.lower())
    if form is not None and "format" not in options.lower():
        hint = "gpudb load loads it, and INSERT INTO … SELECT … FROM 'file' a file of the server."
        raise FeatureNotSupported(f"\\copy of a file in the format {form} is not supported", hint=hint)


def _copy_to_file(runner: Copier, statement: str, path: Path) -> int:
    """Writes a file beside its place and moves it there when it is whole, so that a failure leaves what was there."""
    begun = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with begun.open("wb") as file:
            count = runner.copy_to(statement, file.write)
        begun.replace(path)
    except OSError as error:
        condition = "insufficient_privilege" if isinstance(error, PermissionError) else "undefined_file"
        raise SqlError.of(condition, f'cannot write "{path}": {error.strerror}') from None
    finally:
        begun.unlink(missing_ok=True)
    return count


def _find_end(text: str) -> int:
    """Returns the position behind the parenthesis that closes the first one."""
    end = find_closing(text)
    if end is None:
        raise SqlError.of("syntax_error", "a parenthesis of the query is not closed")
    return end


def resolve_file(name: str) -> Path:
    """Returns the path of a file. 58P01 if there is none."""
    path = Path(name).expanduser()
    if not path.is_file():
        raise SqlError.of("undefined_file", f'there is no file "{name}"')
    return path


def _read_chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            yield chunk
