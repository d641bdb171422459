"""Traces of finished statements, sent by OTLP: spans of statements, their phases, and workers' stages and exchanges.

They are made from the record of a statement, by the recorder's thread: a statement that is traced waits for nothing. Of
phases only the durations are known, so their spans stand one after another.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gpudb.distribution import __version__, render_install
from gpudb.engine.figures import ExchangeFigures, StageFigures
from gpudb.errors import FeatureNotSupported
from gpudb.observe.batches import Batch
from gpudb.observe.query_texts import identify
from gpudb.observe.statement import SUCCESSFUL, FinishedStatement, FinishedTuple

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span, Tracer

TIMEOUT_S = 5
"""Seconds for a collector to take spans."""
_TRACEPARENT = re.compile(r"traceparent='([0-9a-f-]{55})'")
"""In a comment, as sqlcommenter writes it."""
_SAMPLED = 1
_WORD = re.compile(r"\w+")


class TraceExporter:
    """A consumer of finished statements that sends spans to a collector's address.

    A statement whose comment has a `traceparent` is traced if that is sampled; of others a share `ratio`, and at most
    `limit` a second (0 for any number), since the spans of a short statement cost more than the statement. 0A000
    without OpenTelemetry's packages (the extra `otel`).
    """

    def __init__(self, endpoint: str, ratio: float, limit: int = 0) -> None:
        try:
            self._provider = _make_provider(endpoint)
        except ImportError as error:
            message = f"traces need {error.name}, which is not installed"
            raise FeatureNotSupported(message, hint=f"Run: {render_install('otel')}") from None
        self._tracer: Tracer = self._provider.get_tracer("gpudb", __version__)
        self._ratio, self._limit = ratio, limit
        self._random = np.random.default_rng()
        self._allowed, self._counted_at = float(limit), time.monotonic()

    def consume(self, batch: Batch) -> None:
        """Makes the spans of a batch; the provider sends them on a thread of its own."""
        offset = time.time() - time.monotonic()
        sampled: list[FinishedStatement] = []
        for (sql, *_), group in batch.items():
            parent = find_parent(sql)
            if parent is None:
                sampled += map(FinishedStatement._make, self._sample(group.records))
                sampled += [each.make_last() for each in group.repeated if self._count_sampled(len(each.runs))]
            elif parent[2]:
                for each in (
                    *map(FinishedStatement._make, group.records),
                    *(each.make_last() for each in group.repeated),
                ):
                    self._trace(each, offset, _make_context(parent))
        for each in self._limit_rate(sampled):
            self._trace(each, offset, None)

    def _sample(self, records: Sequence[FinishedTuple]) -> Sequence[FinishedTuple]:
        """Returns a share of the records, at random."""
        count = self._count_sampled(len(records))
        return random.sample(records, count) if count else ()

    def _count_sampled(self, count: int) -> int:
        """Returns how many of so many statements are traced, by chance."""
        return int(self._random.binomial(count, self._ratio)) if count and self._ratio else 0

    def _limit_rate(self, sampled: Sequence[FinishedStatement]) -> Sequence[FinishedStatement]:
        """Returns as many as the time since the last batch allows, at random."""
        if not self._limit:
            return sampled
        now = time.monotonic()
        self._allowed = min(self._allowed + (now - self._counted_at) * self._limit, float(self._limit))
        self._counted_at = now
        taken = random.sample(sampled, min(len(sampled), int(self._allowed)))
        self._allowed -= len(taken)
        return taken

    def _trace(self, each: FinishedStatement, offset: float, context: Context | None) -> None:
        from opentelemetry.trace import SpanKind, Status, StatusCode, set_span_in_context

        text = identify(each.sql)
        word = _WORD.search(text.text)
        operation = word[0].upper() if word is not None else "STATEMENT"
        ended = each.ended + offset
        started = ended - each.seconds
        attributes: dict[str, str | int | float] = {
            "db.system.name": "gpudb",
            "db.operation.name": operation,
            "db.query.text": text.text,
            "db.response.returned_rows": each.rows,
            "gpudb.query.id": text.query_id,
            "gpudb.session.pid": each.process_id,
            "gpudb.result.bytes": each.bytes,
        }
        measures = each.measures
        if "engine" in measures:
            attributes["gpudb.engine"] = measures["engine"]
        if "fallback" in measures:
            attributes["gpudb.fallback"] = measures["fallback"]
        if each.sqlstate != SUCCESSFUL:
            attributes["db.response.status_code"] = attributes["error.type"] = each.sqlstate
        span = self._start(operation, started, context, attributes, SpanKind.SERVER)
        if each.sqlstate != SUCCESSFUL:
            span.set_status(Status(StatusCode.ERROR))
        inside = set_span_in_context(span)
        for phase, seconds in _list_phases(each):
            if seconds > 0:
                part = self._start(phase, started, inside)
                if phase == "execute":
                    self._trace_stages(measures.get("stages", ()), set_span_in_context(part))
                started += seconds
                part.end(_to_nanoseconds(started))
        span.end(_to_nanoseconds(ended))

    def _trace_stages(self, stages: Sequence[StageFigures], context: Context) -> None:
        from opentelemetry.trace import set_span_in_context

        for each in stages:
            attributes: dict[str, str | int | float] = {
                "gpudb.stage": each.stage,
                "gpudb.partition": each.partition,
                "gpudb.stage.rows": each.rows,
                "gpudb.stage.bytes": each.bytes,
            }
            span = self._start(f"stage {each.stage}", each.started, context, attributes)
            self._trace_kernels(each, set_span_in_context(span))
            span.end(_to_nanoseconds(each.started + each.milliseconds / 1000))
            for exchange in each.exchanges:
                self._trace_exchange(each, exchange, context)

    def _trace_exchange(self, stage: StageFigures, exchange: ExchangeFigures, context: Context) -> None:
        """An exchange is before the stage that reads its rows. Its parts stand one after another."""
        from opentelemetry.trace import set_span_in_context

        attributes: dict[str, str | int | float] = {
            "gpudb.stage": stage.stage,
            "gpudb.partition": stage.partition,
            "gpudb.exchange.source_worker": exchange.source,
            "gpudb.exchange.target_worker": exchange.target,
            "gpudb.exchange.rows": exchange.rows,
            "gpudb.exchange.bytes": exchange.bytes,
            "gpudb.exchange.transport": exchange.transport,
        }
        started = exchange.started
        span = self._start(f"exchange {exchange.stage}", started, context, attributes)
        inside = set_span_in_context(span)
        for name, milliseconds in (
            ("wait", exchange.waited),
            ("encode", exchange.encoded),
            ("transfer", exchange.transferred),
        ):
            part = self._start(name, started, inside)
            started += milliseconds / 1000
            part.end(_to_nanoseconds(started))
        span.end(_to_nanoseconds(started))

    def _trace_kernels(self, stage: StageFigures, context: Context) -> None:
        """Of kernels only the durations are known, as of phases."""
        started = stage.started
        for each in stage.kernels:
            if not each.declined:
                attributes: dict[str, str | int | float] = {
                    "db.collection.name": each.table,
                    "gpudb.kernel.bytes": each.bytes,
                }
                span = self._start(f"kernel {stage.stage}", started, context, attributes)
                started += each.milliseconds / 1000
                span.end(_to_nanoseconds(started))

    def _start(
        self,
        name: str,
        started: float,
        context: Context | None,
        attributes: dict[str, str | int | float] | None = None,
        kind: Any = None,
    ) -> Span:
        from opentelemetry.trace import SpanKind

        return self._tracer.start_span(
            name, context, kind or SpanKind.INTERNAL, attributes, start_time=_to_nanoseconds(started)
        )

    def flush(self) -> None:
        """Sends what is left."""
        self._provider.force_flush(1000 * TIMEOUT_S)

    def close(self) -> None:
        """Sends what is left and ends."""
        self.flush()
        self._provider.shutdown()


def find_parent(sql: str) -> tuple[int, int, bool] | None:
    """Returns the trace, the span and whether it is sampled, of a comment's `traceparent`; None without a valid one."""
    found = _TRACEPARENT.search(sql) if "traceparent=" in sql else None
    parts = found[1].split("-") if found is not None else []
    if [len(part) for part in parts] != [2, 32, 16, 2] or parts[0] == "ff":
        return None
    trace, span, flags = (int(part, 16) for part in parts[1:])
    return (trace, span, bool(flags & _SAMPLED)) if trace and span else None


def _make_context(parent: tuple[int, int, bool] | None) -> Context | None:
    if parent is None:
        return None
    from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context

    trace, span, _ = parent
    return set_span_in_context(NonRecordingSpan(SpanContext(trace, span, True, TraceFlags(_SAMPLED))))


def _make_provider(endpoint: str) -> TracerProvider:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider(
        resource=Resource.create({"service.name": "gpudb", "service.version": __version__}), shutdown_on_exit=False
    )
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint, timeout=TIMEOUT_S)))
    return provider


def _list_phases(each: FinishedStatement) -> Sequence[tuple[str, float]]:
    measures = each.measures
    return (
        ("parse", measures.get("parse", 0.0)),
        ("bind", measures.get("bind", 0.0)),
        ("plan", measures.get("plan", 0.0)),
        ("execute", each.execute_seconds),
        ("encode", each.encode_seconds),
    )


def _to_nanoseconds(seconds: float) -> int:
    return int(seconds * 1e9)
