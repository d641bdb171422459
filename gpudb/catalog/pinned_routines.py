"""Calls of a database's own routines in texts that the catalog stores: by OID, as PostgreSQL stores them.

A call is `"16403".public.f(x)`: later functions of that name, and later search paths, do not change what it calls. A
name without a schema is one of PostgreSQL's own functions; texts of earlier versions may mean others by it, if
PostgreSQL has none for the call.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import postgast
from google.protobuf.message import Message

from gpudb.catalog.parse_trees import deparse_tree, walk_messages
from gpudb.catalog.routines import Routine

_DEFAULT_SCHEMA = "public"
_PATHS = {"FuncCall": "funcname", "TypeName": "names"}


def pin_call(call: Any, routine: Routine) -> None:
    """Changes the name of a FuncCall message to the pinned one of a routine."""
    del call.funcname[:]
    for part in (str(routine.oid), routine.schema, routine.name):
        call.funcname.add().string.sval = part


def read_pin(names: Sequence[str]) -> int:
    """Returns the OID in a pinned name; 0 for any other name."""
    is_pinned = len(names) == 3 and names[0].isdecimal() and names[1] != "pg_catalog"
    return int(names[0]) if is_pinned else 0


def calls_routine(tree: Message, routine: Routine) -> bool:
    """Whether a stored text calls a routine by its OID, or by its name and schema; see `calls_by_name`."""
    for each in walk_messages(tree):
        if each.DESCRIPTOR.name != "FuncCall":
            continue
        names = [part.string.sval for part in each.funcname]
        if oid := read_pin(names):
            if oid == routine.oid:
                return True
        elif names[-2:] == [routine.schema, routine.name]:
            return True
    return False


def calls_by_name(tree: Message, name: str) -> bool:
    """Whether a stored text calls a function by a name without a schema."""
    return any(
        each.DESCRIPTOR.name == "FuncCall" and [part.string.sval for part in each.funcname] == [name]
        for each in walk_messages(tree)
    )


@lru_cache(4096)
def show_names(text: str, *, short: bool = False) -> str:
    """Returns stored statements as they are shown: without the OIDs of routines.

    With `short` functions and types are named as the default search path finds them.
    """
    if not mentions_pins(text) and not (short and f"{_DEFAULT_SCHEMA}." in text):
        return text
    tree = postgast.parse(text)
    hide_pins(tree)
    if short:
        hide_default_schema(tree)
    return deparse_tree(tree)


def show_expression_names(text: str, *, short: bool = True) -> str:
    """Returns a stored expression as it is shown; see `show_names`."""
    return show_names(f"SELECT {text}", short=short).removeprefix("SELECT ")


def mentions_pins(text: str) -> bool:
    """Whether a text may have pinned names; False is certain."""
    place = text.find('".')
    while place > 0:
        if text[place - 1].isdecimal():
            return True
        place = text.find('".', place + 1)
    return False


def hide_pins(tree: Message) -> None:
    """Takes the OIDs out of the names in a tree."""
    for each in walk_messages(tree):
        if each.DESCRIPTOR.name == "FuncCall" and read_pin([part.string.sval for part in each.funcname]):
            del each.funcname[0]


def hide_default_schema(tree: Message) -> None:
    """Takes the default search path's schema from the names of functions and types in a tree."""
    for each in walk_messages(tree):
        field = _PATHS.get(each.DESCRIPTOR.name)
        path: Any = getattr(each, field) if field is not None else []
        if len(path) == 2 and path[0].string.sval == _DEFAULT_SCHEMA:
            del path[0]
