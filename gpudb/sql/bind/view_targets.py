"""Why a view is no target of INSERT, UPDATE or DELETE: PostgreSQL's own reasons, or that gpudb changes tables alone."""

from __future__ import annotations

from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.model import View
from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.sql.bind.binder import Binder
from gpudb.sql.bind.select import bind_query
from gpudb.sql.bound import Aggregate, Select, SetReturning, Window
from gpudb.sql.parse import kind, parse, present
from gpudb.sql.traverse import walk

# The statement's verb → how a trigger for it is spoken of.
_VERBS = {
    "insert into": ("inserting into", "INSERT"),
    "update": ("updating", "UPDATE"),
    "delete from": ("deleting from", "DELETE"),
}


def view_refused(binder: Binder, view: View, verb: str) -> SqlError:
    """55000 for a view that PostgreSQL would not change either, 0A000 for the others."""
    reason = _reason(parse(view.query)[0].node) or _computed(binder, view)
    if reason is None:
        return FeatureNotSupported(
            f'cannot {verb} view "{view.name}": changing a table through a view is not supported'
        )
    doing, event = _VERBS[verb]
    hint = (
        f"To enable {doing} the view, provide an INSTEAD OF {event} trigger or an unconditional"
        f" ON {event} DO INSTEAD rule."
    )
    message = f'cannot {verb} view "{view.name}"'
    return SqlError.of("object_not_in_prerequisite_state", message, detail=f"Views {reason}.", hint=hint)


def _reason(node: Any) -> str | None:
    """What the text alone tells."""
    for given, what in (
        (len(node.distinct_clause), "containing DISTINCT are"),
        (len(node.group_clause), "containing GROUP BY are"),
        (present(node.having_clause), "containing HAVING are"),
        (node.op != pg.SETOP_NONE, "containing UNION, INTERSECT, or EXCEPT are"),
        (node.HasField("with_clause"), "containing WITH are"),
        (present(node.limit_count) or present(node.limit_offset), "containing LIMIT or OFFSET are"),
    ):
        if given:
            return f"{what} not automatically updatable"
    return None


def _computed(binder: Binder, view: View) -> str | None:
    """What its select list and FROM tell."""
    node: Any = parse(view.query)[0].node
    text, path, binder.text, binder.search_path = binder.text, binder.search_path, "", (view.schema, "public")
    try:
        query = bind_query(binder, node, None)
    finally:
        binder.text, binder.search_path = text, path
    parts = [part for target in query.targets for part in walk(target)] if isinstance(query, Select) else []
    for found, what in ((Aggregate, "aggregate"), (Window, "window"), (SetReturning, "set-returning")):
        if any(isinstance(part, found) for part in parts):
            return f"that return {what} functions are not automatically updatable"
    if len(node.from_clause) != 1 or kind(node.from_clause[0]) != "range_var":
        return "that do not select from a single table or view are not automatically updatable"
    return None
