"""Calls of full-text search that name no configuration: they have the session's, which is known when they run."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpudb.functions import resolve
from gpudb.sql.bound import Call, Expr
from gpudb.types import TEXT, SqlType

Build = Callable[[resolve.Candidate, Sequence[Expr]], Call]
_REGCONFIG = SqlType("regconfig")


def add_configuration(name: str, types: Sequence[SqlType], args: Sequence[Expr], build: Build) -> Call:
    """Returns a call of a function, resolved to parameters of `types`, with the session's configuration first.

    `text @@ text` and `text @@ tsquery` are a match of what the configuration makes of them. `build` builds a call.
    """

    def call(name: str, types: Sequence[SqlType], *args: Expr) -> Call:
        return build(resolve.resolve_function(name, tuple(types)), args)

    configuration = call("get_current_ts_config", ())
    if name not in ("ts_match_tt", "ts_match_tq"):
        return call(name, (_REGCONFIG, *types), configuration, *args)
    document = call("to_tsvector", (_REGCONFIG, TEXT), configuration, args[0])
    query: Expr = args[1]
    if name == "ts_match_tt":
        query = call("plainto_tsquery", (_REGCONFIG, TEXT), configuration, query)
    return call("ts_match_vq", (SqlType("tsvector"), SqlType("tsquery")), document, query)
