"""EXPLAIN and EXPLAIN ANALYZE: an engine's plan as PostgreSQL lays plans out, in text and in JSON."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from gpudb.engine.protocol import PlanNode
from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.session.binding import BINDABLE
from gpudb.session.context import Context, handles, text_rows
from gpudb.session.execution import undrawn
from gpudb.session.results import Result
from gpudb.sql.bound import DataChange, Delete, Insert, Merge, Query, Update, WithChanges
from gpudb.sql.parse import RawStatement, inner

_OPTIONS = {"analyze", "verbose", "costs", "timing", "summary", "format", "buffers", "settings", "wal"}


@handles("ExplainStmt")
def explain(context: Context) -> Result:
    """EXPLAIN [(ANALYZE, VERBOSE, COSTS, TIMING, SUMMARY, FORMAT text | json)] statement."""
    node: Any = context.statement.node
    options = {inner(each).defname: _option(inner(each)) for each in node.options}
    if unknown := options.keys() - _OPTIONS:
        raise SqlError.of("syntax_error", f'unrecognized EXPLAIN option "{min(unknown)}"')
    form = options.get("format", "text")
    if form not in {"text", "json"}:
        raise FeatureNotSupported(f"EXPLAIN FORMAT {form} is not supported")
    for name in ("buffers", "settings", "wal"):
        if _on(options, name, default=False):
            raise FeatureNotSupported(f"EXPLAIN ({name.upper()}) is not supported")
    analyze = _on(options, "analyze", default=False)
    explained = inner(node.query)
    if explained.DESCRIPTOR.name == "CreateTableAsStmt":
        explained = inner(explained.query)
    if explained.DESCRIPTOR.name not in BINDABLE:
        raise FeatureNotSupported(f"EXPLAIN of {explained.DESCRIPTOR.name} is not supported")
    started = time.perf_counter()
    inside = replace(context, statement=RawStatement(explained, context.statement.text, context.statement.start))
    bound = context.session.bind(inside)
    if isinstance(bound, WithChanges):
        raise FeatureNotSupported("EXPLAIN of a statement whose WITH changes data is not supported")
    if analyze and isinstance(bound, DataChange):
        raise FeatureNotSupported("EXPLAIN ANALYZE of INSERT, UPDATE, DELETE or MERGE is not supported")
    query = bound.query if isinstance(bound, DataChange) else bound
    if context.draws or inside.draws:
        if analyze:
            raise FeatureNotSupported("EXPLAIN ANALYZE of a statement that calls sequence functions is not supported")
        query = undrawn(query)
    planned = time.perf_counter()
    engine = context.session.engine(query)
    plan = engine.explain(context.request(query), analyze=analyze)
    if isinstance(bound, DataChange):
        plan = PlanNode(f"{_verb(bound)} on {bound.table.name}", inputs=(plan,))
    ended = time.perf_counter()
    summary = {"Engine": engine.name}
    if _on(options, "summary", default=analyze):
        summary["Planning Time"] = f"{(planned - started) * 1000:.3f} ms"
        if analyze:
            summary["Execution Time"] = f"{(ended - planned) * 1000:.3f} ms"
    costs, timing = _on(options, "costs", default=True), _on(options, "timing", default=True)
    if form == "json":
        text = json.dumps([{"Plan": _json(plan, costs, timing), **summary}], indent=2)
        return text_rows("EXPLAIN", ("QUERY PLAN",), [(text,)])
    lines = [*_lines(plan, costs, timing, 0), *(f"{key}: {value}" for key, value in summary.items())]
    return text_rows("EXPLAIN", ("QUERY PLAN",), [(line,) for line in lines])


def _option(node: Any) -> str:
    if node.arg.WhichOneof("node") is None:
        return "true"
    value = inner(node.arg)
    for field in ("sval", "ival", "boolval"):
        if hasattr(value, field):
            return str(getattr(value, field)).lower()
    return ""


def _on(options: dict[str, str], name: str, *, default: bool) -> bool:
    value = options.get(name)
    if value is None:
        return default
    if value not in {"true", "on", "1", "yes", "false", "off", "0", "no"}:
        raise SqlError.of("syntax_error", f"{name} requires a Boolean value")
    return value in {"true", "on", "1", "yes"}


def _verb(bound: Query | DataChange) -> str:
    match bound:
        case Insert():
            return "Insert"
        case Update():
            return "Update"
        case Delete():
            return "Delete"
        case Merge():
            return "Merge"
    return "Query"


def _lines(node: PlanNode, costs: bool, timing: bool, depth: int) -> Iterator[str]:
    lead = "" if depth == 0 else " " * (6 * depth - 4) + "->  "
    yield f"{lead}{_head(node)}{_figures(node, costs, timing)}"
    for key, value in node.details:
        if key != "Table":
            yield f"{' ' * (6 * depth + 2)}{key}: {value}"
    for each in node.inputs:
        yield from _lines(each, costs, timing, depth + 1)


def _head(node: PlanNode) -> str:
    table = dict(node.details).get("Table")
    return f"{node.operator} on {table}" if table else node.operator


def _figures(node: PlanNode, costs: bool, timing: bool) -> str:
    made = ""
    if costs and node.estimated_rows is not None:
        made += f"  (rows={node.estimated_rows})"
    if node.rows is not None:
        spent = f"time={node.milliseconds:.3f} ms " if timing and node.milliseconds is not None else ""
        made += f" (actual {spent}rows={node.rows})"
    return made


def _json(node: PlanNode, costs: bool, timing: bool) -> dict[str, object]:
    made: dict[str, object] = {"Node Type": node.operator, **dict(node.details)}
    if costs and node.estimated_rows is not None:
        made["Plan Rows"] = node.estimated_rows
    if node.rows is not None:
        made["Actual Rows"] = node.rows
        if timing and node.milliseconds is not None:
            made["Actual Time (ms)"] = round(node.milliseconds, 3)
    if node.inputs:
        made["Plans"] = [_json(each, costs, timing) for each in node.inputs]
    return made
