"""EXPLAIN and EXPLAIN ANALYZE: an engine's plan in PostgreSQL's text, JSON and XML formats."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from gpudb.engine.protocol import PlanNode, WorkerShare
from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.session.context import Context
from gpudb.session.execution.binding.binding import BINDABLE, bind_statement
from gpudb.session.execution.queries.model_scores import put_scores
from gpudb.session.execution.requests.requests import build_request
from gpudb.session.execution.session_calls import has_session_calls, locks_rows, without_locks, without_session_calls
from gpudb.session.results import Result, ResultColumn, text_result
from gpudb.session.statements.explain_functions import (
    explain_table_function,
    place_table_functions,
    separate_table_functions,
)
from gpudb.session.statements.plan_costs import estimate_cost
from gpudb.session.statements.plan_xml import write_xml
from gpudb.session.statements.prepared import enter_prepared
from gpudb.sql.bound import DataChange, Delete, Insert, Merge, Query, TableFunction, Update, WithChanges
from gpudb.sql.parse.parser import RawStatement, inner
from gpudb.sql.parse.values import read_option_text
from gpudb.types import JSON, TEXT, SqlType

_OPTIONS = {"analyze", "verbose", "costs", "timing", "summary", "format", "buffers", "settings", "wal"}
_FORMS = {"json": JSON, "xml": TEXT}


@dataclass(frozen=True, slots=True)
class _Display:
    """Which figures of a plan are shown."""

    costs: bool
    timing: bool
    verbose: bool


def explain(context: Context) -> Result:
    """EXPLAIN [(ANALYZE, VERBOSE, COSTS, TIMING, SUMMARY, BUFFERS, FORMAT text | json | xml)] statement.

    BUFFERS adds nothing: files have no pages to count.
    """
    node: Any = context.statement.node
    options = _read_options(node)
    if unknown := options.keys() - _OPTIONS:
        raise SqlError.of("syntax_error", f'unrecognized EXPLAIN option "{min(unknown)}"')
    form = options.get("format", "text")
    if form not in {"text", "json", "xml"}:
        raise FeatureNotSupported(f"EXPLAIN FORMAT {form} is not supported")
    for name in ("settings", "wal"):
        if _on(options, name, default=False):
            raise FeatureNotSupported(f"EXPLAIN ({name.upper()}) is not supported")
    analyze = _on(options, "analyze", default=False)
    started = time.perf_counter()
    explained = _explained_context(context)
    bound = context.session.plan(explained).bound
    if isinstance(bound, WithChanges):
        raise FeatureNotSupported("EXPLAIN of a statement whose WITH changes data is not supported")
    if analyze and isinstance(bound, DataChange):
        raise FeatureNotSupported("EXPLAIN ANALYZE of INSERT, UPDATE, DELETE or MERGE is not supported")
    query = bound.query if isinstance(bound, DataChange) else bound
    functions: list[TableFunction] = []
    frames: dict[str, pa.Table] = {}
    engine = context.session.database.engine
    if locks_rows(query):
        query = without_locks(query)
        explained.session_calls = has_session_calls(query)
    if explained.session_calls or (context.session_calls and has_session_calls(query)):
        scored = _put_scores(explained, query)
        if scored is None:
            if analyze:
                message = "EXPLAIN ANALYZE of a statement that calls functions which the session runs is not supported"
                raise FeatureNotSupported(message)
            query, functions, frames = separate_table_functions(query)
        query = scored or without_session_calls(query)
    planned = time.perf_counter()
    plan = engine.explain(build_request(explained, query, frames), analyze=analyze)
    plan = place_table_functions(plan, [explain_table_function(explained, each) for each in functions])
    ended = time.perf_counter()
    execution = 1000 * (ended - planned) - plan.planning if plan.execution is None else plan.execution
    spent = plan
    if isinstance(bound, DataChange):
        plan = PlanNode(f"{_verb(bound)} on {bound.table.name}", inputs=(plan,))
    times = {}
    if _on(options, "summary", default=analyze):
        times["Planning Time"] = round((planned - started) * 1000 + spent.planning, 3)
        if analyze:
            parts = {"Compiling Time": spent.compiling, "Loading Time": spent.loading}
            times |= {name: round(each, 3) for name, each in parts.items() if round(each, 3)}
            times["Execution Time"] = round(execution, 3)
    shown = _Display(
        costs=_on(options, "costs", default=True),
        timing=_on(options, "timing", default=True),
        verbose=_on(options, "verbose", default=False),
    )
    if form != "text":
        item = {"Plan": _json(plan, shown), "Engine": engine.name, **times}
        text = json.dumps([item], indent=2) if form == "json" else write_xml(item)
        return text_result("EXPLAIN", ("QUERY PLAN",), [(text,)], _FORMS[form])
    lines = [*_lines(plan, shown, 0), f"Engine: {engine.name}"]
    lines += (f"{key}: {value:.3f} ms" for key, value in times.items())
    return text_result("EXPLAIN", ("QUERY PLAN",), [(line,) for line in lines])


def _put_scores(context: Context, query: Query) -> Query | None:
    """Returns a query with scores by trees in the place of all session calls, if the engine has a plan for it."""
    scored = put_scores(context, query)
    if scored is not None:
        try:
            context.session.database.engine.explain(build_request(context, scored), analyze=False)
        except NotSupportedOnWorkers:
            return None
    return scored


def describe_plan(plan: PlanNode) -> list[str]:
    """Returns the lines of a plan as EXPLAIN shows it without options."""
    return list(_lines(plan, _Display(costs=True, timing=True, verbose=False), 0))


def plan_columns(node: Any) -> tuple[ResultColumn, ...]:
    """The result column of an ExplainStmt message."""
    form = _read_options(node).get("format", "text")
    return (ResultColumn("QUERY PLAN", _FORMS.get(form, TEXT)),)


def describe_explain(context: Context) -> tuple[tuple[SqlType, ...], tuple[ResultColumn, ...]]:
    """The types of the parameters `$n` of the explained statement, and EXPLAIN's result column."""
    node: Any = context.statement.node
    if inner(node.query).DESCRIPTOR.name == "ExecuteStmt":
        return (), plan_columns(node)
    binder = context.binder(describing=True)
    binder.declare_parameters(context.parameter_oids)
    bind_statement(binder, _explained_context(context).statement)
    return binder.get_parameter_types(), plan_columns(node)


def _explained_context(context: Context) -> Context:
    """The context of the explained statement, or of the prepared statement of an EXECUTE."""
    node: Any = context.statement.node
    explained = inner(node.query)
    if explained.DESCRIPTOR.name == "CreateTableAsStmt":
        explained = inner(explained.query)
    if explained.DESCRIPTOR.name == "ExecuteStmt":
        return enter_prepared(context, explained)
    if explained.DESCRIPTOR.name not in BINDABLE:
        raise FeatureNotSupported(f"EXPLAIN of {explained.DESCRIPTOR.name} is not supported")
    part = RawStatement(explained, context.statement.text, context.statement.start, part=True)
    return replace(context, statement=part, plan=None)


def _read_options(node: Any) -> dict[str, str]:
    return {option.defname: read_option_text(option).lower() for option in map(inner, node.options)}


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


def _lines(node: PlanNode, shown: _Display, depth: int) -> Iterator[str]:
    lead = "" if depth == 0 else " " * (6 * depth - 4) + "->  "
    inside = " " * (6 * depth + 2)
    yield f"{lead}{_head(node)}{_figures(node, shown)}"
    if shown.verbose and node.output:
        yield f"{inside}Output: {', '.join(node.output)}"
    for key, value in node.details:
        if key != "Table":
            yield f"{inside}{key}: {value}"
    for share in node.shares:
        spent = f" time={share.milliseconds:.3f} ms" if shown.timing else ""
        yield f"{inside}Worker {share.worker}: rows={share.rows} bytes={share.bytes}{spent}"
    for each in node.inputs:
        yield from _lines(each, shown, depth + 1)


def _head(node: PlanNode) -> str:
    table = dict(node.details).get("Table")
    return f"{node.operator} on {table}" if table else node.operator


def _figures(node: PlanNode, shown: _Display) -> str:
    text = ""
    if shown.costs:
        cost = estimate_cost(node)
        text += f"  (cost={cost.startup:.2f}..{cost.total:.2f} rows={cost.rows} width={cost.width})"
    if node.rows is not None:
        spent = f"time={node.milliseconds:.3f} ms " if shown.timing and node.milliseconds is not None else ""
        text += f" (actual {spent}rows={node.rows})"
    return text


def _json(node: PlanNode, shown: _Display) -> dict[str, object]:
    item: dict[str, object] = {"Node Type": node.operator, **dict(node.details)}
    if shown.costs:
        cost = estimate_cost(node)
        item["Startup Cost"], item["Total Cost"] = round(cost.startup, 2), round(cost.total, 2)
        item["Plan Rows"], item["Plan Width"] = cost.rows, cost.width
    if node.rows is not None:
        item["Actual Rows"] = node.rows
        if shown.timing and node.milliseconds is not None:
            item["Actual Time (ms)"] = round(node.milliseconds, 3)
    if shown.verbose and node.output:
        item["Output"] = list(node.output)
    if node.shares:
        item["Workers"] = [_share(share, shown) for share in node.shares]
    if node.inputs:
        item["Plans"] = [_json(each, shown) for each in node.inputs]
    return item


def _share(share: WorkerShare, shown: _Display) -> dict[str, object]:
    item: dict[str, object] = {"Worker Number": share.worker, "Actual Rows": share.rows, "Bytes": share.bytes}
    if shown.timing:
        item["Actual Time (ms)"] = round(share.milliseconds, 3)
    return item
