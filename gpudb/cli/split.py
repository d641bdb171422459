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


def split_pieces(text: str) -> Iterator[tuple[int, str]]:
    """Yields the backslash commands of a script, one a line, and the texts between them, each with its position."""
    start = position = 0
    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith("\\") and (not text[start:position].strip() or is_complete(text[start:position])):
            if text[start:position].strip():
                yield start, text[start:position]
            yield position, line.strip()
            start = position + len(line)
        position += len(line)
    if text[start:].strip():
        yield start, text[start:]


def is_complete(text: str) -> bool:
    """Whether the text ends with a semicolon that ends a statement."""
    position, is_ended = 0, False
    while (match := _TOKEN.search(text, position)) is not None:
        if text[position : match.start()].strip():
            is_ended = False
        position = match.end()
        match match.lastgroup:
            case "dollar" | "tag":
                closing = text.find(f"${match['tag'] or ''}$", position)
                if closing < 0:
                    return False
                position, is_ended = closing + len(match["tag"] or "") + 2, False
            case "block":
                end = _find_block_end(text, position)
                if end < 0:
                    return False
                position = end
            case "line":
                pass
            case "end":
                is_ended = True
            case _:
                for kind in ("escape", "string", "name"):
                    if match[kind] is not None and match[f"{kind}_end"] is None:
                        return False
                is_ended = False
    return is_ended and not text[position:].strip()


def _find_block_end(text: str, position: int) -> int:
    depth = 1
    for match in _BLOCK.finditer(text, position):
        depth += 1 if match[0] == "/*" else -1
        if depth == 0:
            return match.end()
    return -1
