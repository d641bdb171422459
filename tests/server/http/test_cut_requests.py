"""Requests whose client goes away within the body end without an error, which the listener would log as a traceback."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gpudb.server.http.application import make_application
from gpudb.server.http.collector import ServerCollector
from gpudb.server.http.console.console import Console
from gpudb.server.http.readiness import Readiness


@pytest.mark.parametrize("path", ["/iceberg/v1/oauth/tokens", "/iceberg/v1/gpudb/namespaces/public/tables/t"])
def test_a_cut_body_is_no_error(path: str) -> None:
    readiness = Readiness()
    collector = ServerCollector(readiness)
    application = make_application(readiness, collector, Console(collector.find_sources, 60.0))
    messages = iter([{"type": "http.request", "body": b"{", "more_body": True}, {"type": "http.disconnect"}])
    sent: list[Any] = []

    async def receive() -> Any:
        return next(messages)

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "",
        "headers": [(b"host", b"h"), (b"content-length", b"1000")], "scheme": "http", "http_version": "1.1",
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 2),
    }  # fmt: skip
    asyncio.run(application(scope, receive, send))  # raises what a route raises
    assert next(messages, None) is None
    assert {each["type"] for each in sent} <= {"http.response.start", "http.response.body"}
