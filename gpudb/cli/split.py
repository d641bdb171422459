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
_SUFFIX = re.compile(r"\S\s*\\(?:g|gx|watch)\b")
"""The commands that end a statement in its own line."""
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
        if _SUFFIX.search(line) is not None and find_command(text[start:position]) is not None:
            yield start, text[start:position]
            start = position
    if text[start:].strip():
        yield start, text[start:]


def find_command(text: str) -> int | None:
    """The position of the first backslash outside quotes and comments; None without one."""
    position = 0
    while (match := _TOKEN.search(text, position)) is not None:
        if (found := text.find("\\", position, match.start())) >= 0:
            return found
        position = match.end()
        if match.lastgroup in {"dollar", "tag"}:
            closing = text.find(f"${match['tag'] or ''}$", position)
            if closing < 0:
                return None
            position = closing + len(match["tag"] or "") + 2
        elif match.lastgroup == "block":
            position = _find_block_end(text, position)
            if position < 0:
                return None
    found = text.find("\\", position)
    return found if found >= 0 else None


def find_closing(text: str) -> int | None:
    """The position behind the parenthesis that closes the first one of a text; None if it is not closed."""
    position = depth = 0
    while (match := _TOKEN.search(text, position)) is not None:
        position = match.end()
        match match.lastgroup:
            case "open":
                depth += 1
            case "close":
                depth -= 1
                if depth == 0:
                    return position
            case "dollar" | "tag":
                closing = text.find(f"${match['tag'] or ''}$", position)
                if closing < 0:
                    return None
                position = closing + len(match["tag"] or "") + 2
            case "block":
                position = _find_block_end(text, position)
                if position < 0:
                    return None
    return None


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
