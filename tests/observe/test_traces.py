"""Traces of statements over OTLP: a collector on loopback takes the spans of a real server."""

from __future__ import annotations

import gzip
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import psycopg
import pytest

from gpudb.engine.figures import KernelFigures, StageFigures
from gpudb.engine.protocol import Measures
from gpudb.observe.batches import make_batch
from gpudb.observe.statement import FinishedTuple
from gpudb.observe.traces import TraceExporter, find_parent
from tests.support.server_program import Program

pytest.importorskip("opentelemetry.sdk")

TRACE, PARENT = 0x0AF7651916CD43DD8448EB211C80319C, 0xB7AD6B7169203331
COMMENT = "/*application='shop',traceparent='00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-{flags}'*/"
WAIT_S = 30


class Collector:
    """A collector of OTLP over HTTP, which keeps the spans that it gets."""

    def __init__(self) -> None:
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

        spans: list[Any] = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                data = self.rfile.read(int(self.headers["content-length"]))
                data = gzip.decompress(data) if self.headers.get("content-encoding") == "gzip" else data
                for resource in ExportTraceServiceRequest.FromString(data).resource_spans:
                    spans.extend(span for scope in resource.scope_spans for span in scope.spans)
                self.send_response(200)
                self.end_headers()

            def log_message(self, *arguments: object) -> None:
                """Prints nothing."""

        self.spans = spans
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.endpoint = f"http://127.0.0.1:{self._server.server_address[1]}/v1/traces"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def wait_for(self, text: str) -> list[Any]:
        """Returns the spans of the trace that has a statement of this normalised text, that one first."""
        ends = time.monotonic() + WAIT_S
        while time.monotonic() < ends:
            for span in list(self.spans):
                if get_attributes(span).get("db.query.text") == text:
                    others = [each for each in self.spans if each.trace_id == span.trace_id and each is not span]
                    return [span, *others]
            time.sleep(0.05)
        raise AssertionError(f"no span of {text!r}: {[get_attributes(span) for span in self.spans]}")

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def get_attributes(span: Any) -> dict[str, Any]:
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in span.attributes}


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    made = Collector()
    yield made
    made.close()


@pytest.fixture(scope="module")
def dsn(collector: Collector, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server with workers that traces the statements of sampled traces alone."""
    environment = {
        "GPUDB_TRACE_ENDPOINT": collector.endpoint,
        "GPUDB_TRACE_RATIO": "0",
        "OTEL_BSP_SCHEDULE_DELAY": "100",
    }
    folder = tmp_path_factory.mktemp("traces") / "data"
    with Program(folder, "--engine", "twin", "--workers", "2", environment=environment) as program:
        yield program.dsn


def test_a_statement_its_phases_and_its_stages(dsn: str, collector: Collector) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("CREATE TABLE t AS SELECT i AS a FROM generate_series(1, 1000) AS i")
        started = time.time_ns()
        connection.execute(f"SELECT count(*), a % 7 FROM t GROUP BY 2 {COMMENT.format(flags='01')}")
    span, *others = collector.wait_for("SELECT count(*), a % $1 FROM t GROUP BY 2 " + COMMENT.format(flags="01"))
    assert span.name == "SELECT"
    assert span.trace_id == TRACE.to_bytes(16, "big")
    assert span.parent_span_id == PARENT.to_bytes(8, "big")
    found = get_attributes(span)
    assert (found["db.response.returned_rows"], found["gpudb.engine"]) == (7, "twin")
    by_name = {each.name: each for each in others}
    assert {"parse", "bind", "plan", "execute", "stage 0"} <= by_name.keys()
    assert all(by_name[name].parent_span_id == span.span_id for name in ("parse", "bind", "plan", "execute"))
    assert by_name["stage 0"].parent_span_id == by_name["execute"].span_id
    for each in (span, *others):
        assert started - 10**9 < each.start_time_unix_nano <= each.end_time_unix_nano < time.time_ns()
    stages = [get_attributes(each) for each in others if each.name.startswith("stage")]
    assert {each["gpudb.partition"] for each in stages} == {0, 1}


def test_exchanges_between_workers(dsn: str, collector: Collector) -> None:
    text = "SELECT count(*), sum(b) OVER (PARTITION BY a % 7) FROM u GROUP BY a, b"
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("CREATE TABLE u AS SELECT i AS a, i::bigint AS b FROM generate_series(1, 1000) AS i")
        connection.execute(f"{text} {COMMENT.format(flags='01')}")
    statement, *others = collector.wait_for(text.replace("7", "$1") + " " + COMMENT.format(flags="01"))
    execute = next(each for each in others if (each.name, each.parent_span_id) == ("execute", statement.span_id))
    inside = [each for each in others if each.parent_span_id == execute.span_id]
    stages = {each.name.split()[1] for each in inside if each.name.startswith("stage")}
    exchanges = [each for each in inside if each.name.startswith("exchange")]
    assert {each.name.split()[1] for each in exchanges} < stages
    # Each worker fetches from the other one. No row comes from a worker itself.
    found = [get_attributes(each) for each in exchanges]
    ways = {(each["gpudb.exchange.source_worker"], each["gpudb.exchange.target_worker"]) for each in found}
    assert ways == {(0, 1), (1, 0)}
    # A thousand groups by a and b are spread over two workers, and so are those of the window.
    assert 0 < sum(each["gpudb.exchange.rows"] for each in found) <= 2000
    assert all(each["gpudb.exchange.bytes"] > 0 and each["gpudb.exchange.transport"] == "tcp" for each in found)
    for each in exchanges:
        parts = [part for part in others if part.parent_span_id == each.span_id]
        assert [part.name for part in parts] == ["wait", "encode", "transfer"]
        assert sum(part.end_time_unix_nano - part.start_time_unix_nano for part in parts) == pytest.approx(
            each.end_time_unix_nano - each.start_time_unix_nano, abs=3000
        )
        (reader,) = [
            other
            for other in inside
            if other.name == f"stage {get_attributes(each)['gpudb.stage']}"
            and get_attributes(other)["gpudb.partition"] == get_attributes(each)["gpudb.partition"]
        ]
        assert each.start_time_unix_nano < reader.end_time_unix_nano


def test_an_error(dsn: str, collector: Collector) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection, pytest.raises(psycopg.errors.DivisionByZero):
        connection.execute(f"SELECT 1 / 0 {COMMENT.format(flags='01')}")
    span, *_ = collector.wait_for("SELECT $1 / $2 " + COMMENT.format(flags="01"))
    assert span.status.code == 2
    assert get_attributes(span)["db.response.status_code"] == "22012"


def test_what_is_not_sampled_is_not_traced(dsn: str, collector: Collector) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("SELECT 'plain'")
        connection.execute(f"SELECT 'other' {COMMENT.format(flags='00')}")
        connection.execute(f"SELECT 'last', 1 {COMMENT.format(flags='01')}")
    collector.wait_for("SELECT $1, $2 " + COMMENT.format(flags="01"))
    texts = [get_attributes(each).get("db.query.text", "") for each in collector.spans]
    assert not [text for text in texts if text == "SELECT $1" or "-00'" in text]


def test_kernels_are_inside_their_stage(collector: Collector) -> None:
    ran, declined = KernelFigures("t", 4096, 1, 0, 2.5), KernelFigures("u", 0, 0, 0, 0.0, declined="too many groups")
    stage = StageFigures(3, 1, 10, 80, 0, 4.0, started=time.time(), kernels=(ran, declined))
    measures = Measures(engine="twin", stages=[stage], spilled=0)
    record: FinishedTuple = ("SELECT k", "gpudb", "00000", 5, 1, time.monotonic(), 0.01, 0.0, 10, 80, measures)
    exporter = TraceExporter(collector.endpoint, 1.0)
    exporter.consume(make_batch([record]))
    exporter.close()
    _, *others = collector.wait_for("SELECT k")
    by_name = {each.name: each for each in others}
    kernel = by_name["kernel 3"]
    assert kernel.parent_span_id == by_name["stage 3"].span_id
    assert kernel.end_time_unix_nano - kernel.start_time_unix_nano == pytest.approx(2.5e6, rel=0.01)
    assert get_attributes(kernel) == {"db.collection.name": "t", "gpudb.kernel.bytes": 4096}
    assert len([each for each in others if each.name.startswith("kernel")]) == 1


def test_at_most_so_many_a_second_are_traced(collector: Collector) -> None:
    def count_traced(ratio: float, limit: int, text: str) -> int:
        exporter = TraceExporter(collector.endpoint, ratio, limit)
        record: FinishedTuple = (text, "gpudb", "00000", 5, 1, time.monotonic(), 0.001, 0.0, 1, 1, {})
        exporter.consume(make_batch([record] * 1000))
        exporter.close()
        return sum(get_attributes(each).get("db.query.text") == text for each in collector.spans)

    assert count_traced(1.0, 5, "SELECT a") == 5
    assert count_traced(1.0, 0, "SELECT b") == 1000
    assert 50 < count_traced(0.1, 0, "SELECT c") < 160
    assert count_traced(0.0, 5, "SELECT d") == 0


def test_a_server_ends_without_its_collector(tmp_path: Path) -> None:
    environment = {"GPUDB_TRACE_ENDPOINT": "http://127.0.0.1:9/v1/traces", "GPUDB_TRACE_RATIO": "1"}
    with Program(tmp_path / "data", "--engine", "cpu", environment=environment) as program:
        with psycopg.connect(program.dsn) as connection:
            connection.execute("SELECT 1")
        assert program.stop() == 0


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1",
        "SELECT 1 /*traceparent='00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331'*/",
        f"SELECT 1 /*traceparent='00-{'0' * 32}-b7ad6b7169203331-01'*/",
        "SELECT 1 /*traceparent='ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'*/",
        "SELECT 1 /*traceparent='00-0af7651916cd43dd8448eb211c80319-cb7ad6b7169203331-01'*/",
    ],
)
def test_what_is_no_parent(sql: str) -> None:
    assert find_parent(sql) is None
