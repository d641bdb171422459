"""SELECT, VALUES and EXPLAIN: bound, handed to an engine, streamed."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from gpudb.errors import SqlError
from gpudb.session.context import Context, handles, result_columns, text_rows
from gpudb.session.results import Result
from gpudb.sql.bound import DataChange, Delete, Insert, Query, Update
from gpudb.sql.parse import RawStatement, inner

_QUERIES = {"SelectStmt", "InsertStmt", "UpdateStmt", "DeleteStmt"}


@handles("SelectStmt")
def select(context: Context) -> Result:
    """SELECT and VALUES."""
    if context.statement.node.HasField("into_clause"):
        from gpudb.session.definitions import create_table_as

        return create_table_as(context)
    query = context.session.bind(context)
    assert not isinstance(query, DataChange)
    return rows(context, query)


def rows(context: Context, query: Query, tag: str = "SELECT") -> Result:
    """A query's rows as a result."""
    if not query.columns:
        raise SqlError.of("feature_not_supported", "a result without columns is not supported")
    stream = context.session.engine(query).run(context.request(query))
    return Result(tag, result_columns(query.columns), iter(stream), stream.close)


@handles("ExplainStmt")
def explain(context: Context) -> Result:
    """EXPLAIN [(ANALYZE, VERBOSE, COSTS, FORMAT text | json …)] statement."""
    node: Any = context.statement.node
    options = {inner(each).defname: _option(inner(each)) for each in node.options}
    unknown = options.keys() - {
        "analyze",
        "verbose",
        "costs",
        "timing",
        "summary",
        "format",
        "buffers",
        "settings",
        "wal",
    }
    if unknown:
        raise SqlError.of("syntax_error", f'unrecognized EXPLAIN option "{min(unknown)}"')
    form = options.get("format", "text")
    if form not in {"text", "json"}:
        raise SqlError.of("feature_not_supported", f"EXPLAIN FORMAT {form} is not supported")
    statement = RawStatement(inner(node.query), context.statement.text, context.statement.start)
    analyze = options.get("analyze") in {"true", "on", "1"}
    inside = Context(
        context.session,
        statement,
        context.transaction,
        context.cancel,
        context.parameters,
        context.parameter_oids,
    )
    if statement.kind not in _QUERIES and statement.kind != "CreateTableAsStmt":
        raise SqlError.of("feature_not_supported", f"EXPLAIN of {statement.kind} is not supported")
    if statement.kind == "CreateTableAsStmt":
        statement = RawStatement(inner(statement.node.query), statement.text, statement.start)
        inside.statement = statement
    bound = context.session.bind(inside)
    query = bound.query if isinstance(bound, DataChange) else bound
    started = time.perf_counter()
    engine = context.session.engine(query)
    if analyze and isinstance(bound, DataChange):
        raise SqlError.of(
            "feature_not_supported", "EXPLAIN ANALYZE of INSERT, UPDATE or DELETE is not supported"
        )
    lines = engine.explain(context.request(query), analyze=analyze)
    head = [f"{_title(bound)} (engine {engine.name})"]
    if analyze:
        head.append(f"Execution Time: {(time.perf_counter() - started) * 1000:.3f} ms")
    if form == "json":
        plan = {"Engine": engine.name, "Operation": _title(bound), "Plan": lines}
        return text_rows("EXPLAIN", ("QUERY PLAN",), [(json.dumps([plan], indent=2),)])
    return text_rows("EXPLAIN", ("QUERY PLAN",), [(line,) for line in [*head, *lines]])


def _option(node: Any) -> str:
    if node.arg.WhichOneof("node") is None:
        return "true"
    value = inner(node.arg)
    return str(
        getattr(value, "sval", None) or getattr(value, "ival", None) or getattr(value, "boolval", "")
    ).lower()


def _title(bound: Query | DataChange) -> str:
    match bound:
        case Insert():
            return f"Insert on {bound.table.name}"
        case Update():
            return f"Update on {bound.table.name}"
        case Delete():
            return f"Delete on {bound.table.name}"
        case _:
            return "Query"


def materialized(context: Context, query: Query) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """A query's schema and batches, for whoever stores them."""
    stream = context.session.engine(query).run(context.request(query))
    return stream.schema, iter(stream)
