"""Names of files where tables stand, `SELECT … FROM 'rides/*.parquet'`, which PostgreSQL's grammar lacks.

An identifier of the same length replaces each name before the text is parsed, so that positions stay. In the tree a
call of READ_FILES takes the place of the identifier.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from gpudb.errors import SyntaxError_

READ_FILES = "read_files"
"""The table function that reads files of any format."""

SUFFIXES = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".xlsx": "xlsx",
}
"""Formats by suffix."""
COMPRESSIONS = {".gz": "gzip", ".gzip": "gzip", ".zst": "zstd", ".zstd": "zstd"}
"""Compressions by suffix."""

_LITERAL = re.compile(r"'((?:[^']|'')+)'")
_BEFORE = re.compile(r"(?:\bfrom|\bjoin|,)\s*\Z", re.IGNORECASE)
_MENTIONED = re.compile(r"(?:\bfrom|\bjoin|,)\s*'", re.IGNORECASE)
_SOURCES = frozenset({"from_clause", "using_clause", "larg", "rarg"})


@dataclass(frozen=True, slots=True)
class FileName:
    """A name of a file and the byte offset at which the text has it."""

    name: str
    offset: int


def get_format(name: str) -> str | None:
    """Returns the format that a file's name tells; None if its suffix is unknown."""
    suffixes = [suffix.lower() for suffix in PurePath(name).suffixes]
    if suffixes and suffixes[-1] in COMPRESSIONS:
        suffixes.pop()
    return SUFFIXES.get(suffixes[-1]) if suffixes else None


def mentions_files(text: str) -> bool:
    """Whether a text may name files where tables stand."""
    return _MENTIONED.search(text) is not None


def replace_file_name(text: str, place: int) -> tuple[str, FileName] | None:
    """Returns the text with an identifier for the file's name at a character, and that name; None if none is there.

    A name without a known suffix has a slash: it is the folder of a table.
    """
    literal = _LITERAL.match(text, place)
    if literal is None or _BEFORE.search(text, 0, place) is None:
        return None
    name = literal[1].replace("''", "'")
    if get_format(name) is None and "/" not in name:
        return None
    identifier = '"' + literal[1].replace('"', "_") + '"'
    replaced = text[:place] + identifier + text[literal.end() :]
    return replaced, FileName(name, len(text[:place].encode()))


def attach_file_name(tree: Any, file: FileName, start: int) -> None:
    """Replaces the identifier of a file's name in the tree of its statement, which starts at byte `start`; 42601."""
    node = _find_source(tree, file.offset - start, "")
    if node is None:
        raise SyntaxError_(f"""syntax error at or near "'{file.name}'\"""")
    alias = node.range_var.alias if node.range_var.HasField("alias") else None
    table = type(node)()
    call = table.range_function.functions.add().list.items.add()
    call.func_call.funcname.add().string.sval = READ_FILES
    call.func_call.args.add().a_const.sval.sval = file.name
    call.func_call.args[0].a_const.location = call.func_call.location = file.offset - start
    table.range_function.functions[0].list.items.add()
    if alias is not None:
        table.range_function.alias.CopyFrom(alias)
    node.CopyFrom(table)


def _find_source(message: Any, offset: int, field: str) -> Any:
    """Returns the node of the FROM item that is an identifier at a byte offset; None if there is none."""
    if message.DESCRIPTOR.name == "Node" and field in _SOURCES and message.WhichOneof("node") == "range_var":
        return message if message.range_var.location == offset else None
    for descriptor, value in message.ListFields():
        if descriptor.message_type is None:
            continue
        inside = field if message.DESCRIPTOR.name == "Node" else descriptor.name
        for each in value if descriptor.is_repeated else (value,):
            if (found := _find_source(each, offset, inside)) is not None:
                return found
    return None
