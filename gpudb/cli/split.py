"""Splits scripts into statements and backslash commands; recognises quotes, dollar quotes and comments only."""

from __future__ import annotations

import re
from collections.abc import Iterator

_TOKEN = re.compile(
    r"""
      (?P<escape> [eE]' (?: [^'\\] | \\. | '' )* (?P<escape_end>')? )
    | (?P<string> ' (?: [^'] | '' )* (?P<string_end>')? )
    | (?P<name>   " (?: [^"] | "" )* (?P<name_end>")? )
    | (?P<dollar> \$ (?P<tag> [A-Za-z_]\w* )? \$ )
    | (?P<line>   --[^\n]* )
    | (?P<block>  /\* )
    | (?P<word>   \w+ )
    | (?P<end>    ; )
    | (?P<open>   \( )
    | (?P<close>  \) )
    """,
    re.VERBOSE | re.DOTALL,
)
_BLOCK = re.compile(r"/\*|\*/")


def pieces(text: str) -> Iterator[tuple[int, str]]:
    """Yields the backslash commands of a script, one a line, and the texts between them, each with its position."""
    start = place = 0
    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith("\\") and (not text[start:place].strip() or is_whole(text[start:place])):
            if text[start:place].strip():
                yield start, text[start:place]
            yield place, line.strip()
            start = place + len(line)
        place += len(line)
    if text[start:].strip():
        yield start, text[start:]


def is_whole(text: str) -> bool:
    """Whether the text ends with a semicolon that ends a statement."""
    position, ended = 0, False
    while (found := _TOKEN.search(text, position)) is not None:
        if text[position : found.start()].strip():
            ended = False
        position = found.end()
        match found.lastgroup:
            case "dollar" | "tag":
                closing = text.find(f"${found['tag'] or ''}$", position)
                if closing < 0:
                    return False
                position, ended = closing + len(found["tag"] or "") + 2, False
            case "block":
                end = _block_end(text, position)
                if end < 0:
                    return False
                position = end
            case "line":
                pass
            case "end":
                ended = True
            case _:
                for kind in ("escape", "string", "name"):
                    if found[kind] is not None and found[f"{kind}_end"] is None:
                        return False
                ended = False
    return ended and not text[position:].strip()


def _block_end(text: str, position: int) -> int:
    depth = 1
    for found in _BLOCK.finditer(text, position):
        depth += 1 if found[0] == "/*" else -1
        if depth == 0:
            return found.end()
    return -1
