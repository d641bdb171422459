"""The SQL/JSON path language (PostgreSQL's manual, 9.16.2): `lexer`, `grammar` (text to items), `printer` (and back).

A jsonpath is represented by the text that PostgreSQL prints for it.
"""

from __future__ import annotations

from gpudb.errors import InvalidText
from gpudb.values.jsonpath.grammar import parse
from gpudb.values.jsonpath.printer import format_path

__all__ = ["format_path", "parse", "parse_jsonpath"]


def parse_jsonpath(text: str) -> str:
    """Returns the text as PostgreSQL prints it; 42601 for an invalid path, 22P02 for an empty one."""
    if not text:
        raise InvalidText('invalid input syntax for type jsonpath: ""')
    return format_path(parse(text))
