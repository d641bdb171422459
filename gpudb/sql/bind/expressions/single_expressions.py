"""PL/pgSQL functions of the form `BEGIN RETURN expression; END`: over rows they are inlined, as SQL functions are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import postgast
from google.protobuf.message import Message

from gpudb.catalog.languages import TRAITS
from gpudb.catalog.parse_trees import walk_messages
from gpudb.catalog.routines import Routine
from gpudb.errors import GpudbError
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.expressions.routines import bind_scalar, check_result, find_routines
from gpudb.sql.bind.scope import Scope
from gpudb.sql.bound import Expr, OutputColumn
from gpudb.sql.parse.parser import parse, strings

_REFUSED = {"SubLink", "WindowDef", "SetToDefault"}


def bind_single_expression(binder: Binder, scope: Scope, routine: Routine, args: Sequence[Expr]) -> Expr | None:
    """Binds a call over the rows of a relation to the body's expression; None for any other call or body."""
    if not TRAITS[routine.language].has_statements or not _has_rows(scope):
        return None
    inlined = _as_sql(routine)
    if inlined is None or any(find_routines(binder, name) for name in _called_functions(inlined.body)):
        return None
    try:
        result = bind_scalar(binder, inlined, args)
        check_result(routine, (OutputColumn("", result.type),))
    except GpudbError:
        return None  # at its call the function says what is wrong
    return result if result.type.plain == routine.result.plain else None


def _has_rows(scope: Scope | None) -> bool:
    while scope is not None:
        if scope.items:
            return True
        scope = scope.parent
    return False


@lru_cache(1024)
def _as_sql(routine: Routine) -> Routine | None:
    """Returns the function with its body in SQL; None if its body is more than one expression over its parameters."""
    if routine.kind != "f" or routine.returns_set or routine.outputs or routine.definer or routine.settings:
        return None
    if routine.result.fields or routine.result.domain is not None or routine.result.name in {"void", "record"}:
        return None
    text = _read_expression(routine.body)
    if text is None:
        return None
    try:
        (statement,) = parse(f"SELECT {text}")
    except (GpudbError, ValueError):
        return None
    node: Any = statement.node
    plain = len(node.target_list) == 1 and not (len(node.from_clause) or node.HasField("where_clause"))
    if not plain or not _is_over(routine, node):
        return None
    return replace(routine, language="sql", body=statement.text, volatility="i")


def _read_expression(body: str) -> str | None:
    """Returns the text between BEGIN RETURN and END, without its semicolon."""
    data = body.encode()
    try:
        tokens = [
            each for each in postgast.scan(body).tokens if not data[each.start : each.end].startswith((b"--", b"/*"))
        ]
    except postgast.PgQueryError:
        return None
    words = [data[each.start : each.end].decode().lower() for each in tokens]
    if words and words[-1] == ";":
        words.pop()
        tokens.pop()
    if words[:2] != ["begin", "return"] or words[-2:] != [";", "end"] or words.count(";") != 1 or len(words) < 5:
        return None
    return data[tokens[2].start : tokens[-2].start].decode()


def _is_over(routine: Routine, node: Message) -> bool:
    """Whether an expression names parameters alone and has no subquery."""
    names = {each.name for each in routine.inputs}
    for each in walk_messages(node):
        if each.DESCRIPTOR.name in _REFUSED:
            return False
        if each.DESCRIPTOR.name == "ColumnRef":
            path = strings(each.fields) if not any(f.HasField("a_star") for f in each.fields) else ()
            if not path or path[-1] not in names or (len(path) > 1 and path[:-1] != (routine.name,)):
                return False
    return True


def _called_functions(text: str) -> list[tuple[str, ...]]:
    (statement,) = parse(text)
    return [strings(each.funcname) for each in walk_messages(statement.node) if each.DESCRIPTOR.name == "FuncCall"]
