"""Mosaic's data server: a chart's query in DuckDB's dialect, answered as Arrow, JSON or not at all.

Each query has a session of its login's own, so that charts are computed side by side; their TimeZone is UTC, and they
only read: who opens a dashboard of others runs its queries with rights of their own.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import closing, nullcontext

import pyarrow as pa

from gpudb.errors import GpudbError, QueryCanceled, SqlError
from gpudb.server.http.console.channel import Channel, ClientGone
from gpudb.server.http.console.columns import CHART, END_OF_STREAM, Encoder
from gpudb.server.http.console.dialect.sources import Placed, place_source
from gpudb.server.http.console.dialect.translate import Translation, resolve, translate
from gpudb.server.http.console.kept_results import KeptResult
from gpudb.server.http.console.tabs import Tab
from gpudb.server.wire.client_errors import to_client_error
from gpudb.server.wire.results import NOTHING_SENT, Sent
from gpudb.session.results import Prepared, Result, ResultColumn
from gpudb.types import SqlType

ARROW, JSON, EXEC = "arrow", "json", "exec"
MEDIA_TYPES = {ARROW: "application/vnd.apache.arrow.stream", JSON: "application/json", EXEC: "text/plain"}

_DESCRIPTION = ("column_name", "column_type", "null", "key", "default", "extra")
"""The columns of DuckDB's DESCRIBE."""


def run_chart(
    tab: Tab, sql: str, form: str, channel: Channel, kept: KeptResult | None = None, source: str | None = None
) -> None:
    """Answers a chart's query, on this thread; its error breaks the answer off, or is all of it.

    It can read the rows of a kept result by its name, and those of a `source`, a query in gpudb's own dialect.
    """
    error: GpudbError | None = None
    try:
        with nullcontext() if kept is None else kept.show(tab.session):
            _run(tab, sql, form, channel, source)
    except BaseException as failure:
        error = _fail(tab, failure)
    tab.finish_clean()  # of what a chart sets by set_config
    channel.end(error)


def _fail(tab: Tab, failure: BaseException) -> GpudbError:
    """Ends the query; positions are those of the translation, and mean nothing to who has written the query."""
    gone = isinstance(failure, ClientGone)
    error = QueryCanceled("canceling statement due to user request") if gone else to_client_error(failure)
    error.position = None
    tab.session.fail()
    tab.recording.end(NOTHING_SENT, error.sqlstate)
    tab.session.sync()
    return error


def _run(tab: Tab, sql: str, form: str, channel: Channel, source: str | None) -> None:
    session = tab.session
    session.measures = {}
    tab.recording.start(sql, runs=True)
    translation, prepared = _prepare(tab, translate(sql), source)
    if translation.describes:
        columns, batches = _describe(prepared.columns or ())
        _send(tab, columns, batches, form, channel)
        session.sync()
        tab.recording.end(NOTHING_SENT)
        return
    result = session.execute(prepared)
    with closing(result):
        sent = _send(tab, _get_columns(result), result.batches, form, channel)
    session.sync()
    tab.recording.end(sent)


def _prepare(tab: Tab, translation: Translation, source: str | None) -> tuple[Translation, Prepared]:
    """Binds a translation; names of its select list that it uses itself get their expressions meanwhile."""
    query = None if source is None else source.strip().rstrip(";")
    if query is not None:
        if tab.session.prepare(query).columns is None:  # one query, whatever its text closes
            raise SqlError.of("feature_not_supported", "charts are drawn over the rows of a query alone")
        tab.session.sync()
    while True:
        placed = Placed(translation.sql) if query is None else place_source(translation.sql, query)
        try:
            return translation, tab.session.prepare(placed.text)
        except GpudbError as error:
            error.position = placed.find_position(error.position or 0)
            translation = resolve(translation, error)
            tab.session.sync()


def _get_columns(result: Result) -> tuple[ResultColumn, ...]:
    if result.columns is None:
        raise SqlError.of("feature_not_supported", "charts ask queries alone")
    return result.columns


def _send(
    tab: Tab, columns: tuple[ResultColumn, ...], batches: Iterator[pa.RecordBatch], form: str, channel: Channel
) -> Sent:
    """Sends rows in the form that was asked for; returns how many."""
    encoder = Encoder(columns, CHART, "UTC")
    rows = size = 0
    if form == ARROW:
        channel.put(encoder.head)
    elif form == JSON:
        channel.put(b"[")
    for batch in batches:
        tab.check()
        for part in encoder.split(batch):
            if form == ARROW:
                piece = encoder.encode(part)
                channel.put(piece)
                size += len(piece)
            elif form == JSON:
                channel.put((b"," if rows else b"") + _to_json(encoder.convert(part)))
            rows += part.num_rows
    if form == ARROW:
        channel.put(END_OF_STREAM)
    elif form == JSON:
        channel.put(b"]")
    return Sent(rows, size)


def _to_json(batch: pa.RecordBatch) -> bytes:
    """Returns the objects of a batch's rows, without the brackets of their list."""
    names = batch.schema.names
    rows = [dict(zip(names, map(_to_plain, values), strict=True)) for values in zip(*_to_lists(batch), strict=True)]
    return json.dumps(rows, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")[1:-1]


def _to_lists(batch: pa.RecordBatch) -> list[list[object]]:
    temporal = (pa.types.is_temporal(column.type) for column in batch.columns)
    return [
        (column.cast(pa.string()) if is_temporal else column).to_pylist()
        for column, is_temporal in zip(batch.columns, temporal, strict=True)
    ]


def _to_plain(value: object) -> object:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _describe(columns: tuple[ResultColumn, ...]) -> tuple[tuple[ResultColumn, ...], Iterator[pa.RecordBatch]]:
    """Returns the columns and rows with which DuckDB describes columns."""
    rows = [(column.name, name_type(column.type), "YES", None, None, None) for column in columns]
    arrays = [pa.array(values, pa.string()) for values in zip(*rows, strict=True)] or [pa.array([], pa.string())] * 6
    described = tuple(ResultColumn(name, SqlType("text")) for name in _DESCRIPTION)
    return described, iter([pa.RecordBatch.from_arrays(arrays, names=list(_DESCRIPTION))])


def name_type(type_: SqlType) -> str:
    """Returns DuckDB's name of the type in which a chart receives a column: numeric and interval are DOUBLE."""
    if type_.name in ("numeric", "interval"):
        return "DOUBLE"
    if type_.item is not None:
        return f"{name_type(type_.item)}[]"
    return {"timestamptz": "TIMESTAMP WITH TIME ZONE"}.get(type_.name, _TYPES.get(type_.name, "VARCHAR"))


_TYPES = {
    "bool": "BOOLEAN",
    "int2": "SMALLINT",
    "int4": "INTEGER",
    "int8": "BIGINT",
    "float4": "FLOAT",
    "float8": "DOUBLE",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
}
