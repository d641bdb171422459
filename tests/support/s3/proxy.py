"""A proxy before an S3 server: it counts what is asked for, knows one access key, and fails as it is told."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

_KEY = re.compile(r"Credential=([^/]+)/")
_DROPPED = {"transfer-encoding", "connection", "content-length"}
_DENIED = b"<?xml version='1.0'?><Error><Code>InvalidAccessKeyId</Code><Message>unknown</Message></Error>"
_FAILED = b"<?xml version='1.0'?><Error><Code>InternalError</Code><Message>injected</Message></Error>"
_PIECE = 1 << 12


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request and its answer; `bytes` are those of the answer's body."""

    method: str
    path: str
    status: int
    bytes: int


@dataclass(slots=True)
class Proxy:
    """What the proxy does and has done. Faults are for the next requests of `method`, `before` is called once for one."""

    endpoint: str = ""
    key: str | None = None
    failures: int = 0
    stalls: int = 0
    stall_seconds: float = 0.0
    piece_seconds: float = 0.0
    method: str = "GET"
    before: Callable[[], None] | None = None
    exchanges: list[Exchange] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def reset(self) -> None:
        """Ends all faults and forgets what was asked for."""
        with self.lock:
            self.key, self.failures, self.stalls, self.piece_seconds, self.method = None, 0, 0, 0.0, "GET"
            self.before = None
            self.exchanges.clear()

    @property
    def bytes(self) -> int:
        """Bytes of objects and lists that clients got."""
        return sum(each.bytes for each in self.exchanges if each.method == "GET" and each.status < 300)

    def take_fault(self, method: str) -> str | None:
        """Returns the fault of a request, which counts."""
        with self.lock:
            if method != self.method:
                return None
            if self.failures:
                self.failures -= 1
                return "failure"
            if self.stalls:
                self.stalls -= 1
                return "stall"
            return None


@contextmanager
def running_proxy(target: str) -> Iterator[Proxy]:
    """Runs a proxy before a server's endpoint on a free port of loopback."""
    proxy = Proxy()
    parts = urlsplit(target)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            pass

        def forward(self) -> None:
            body = self._read_body()
            key = _KEY.search(self.headers.get("Authorization", ""))
            if proxy.key is not None and (key is None or key[1] != proxy.key):
                return self._answer(403, [], b"" if self.command == "HEAD" else _DENIED)
            if self.command == proxy.method and proxy.before is not None:
                call, proxy.before = proxy.before, None
                call()
            fault = proxy.take_fault(self.command)
            if fault == "failure":
                return self._answer(500, [], _FAILED)
            if fault == "stall":
                time.sleep(proxy.stall_seconds)  # longer than the client waits
                self.close_connection = True
                return None
            connection = HTTPConnection(parts.hostname or "", parts.port, timeout=60)
            try:
                connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
                for name, value in self.headers.items():
                    connection.putheader(name, value)
                connection.endheaders()
                if body:
                    connection.send(body)
                answer = connection.getresponse()
                content = answer.read()
                headers = [pair for pair in answer.getheaders() if pair[0].lower() not in _DROPPED]
                length = answer.getheader("Content-Length") if self.command == "HEAD" else None
                return self._answer(answer.status, headers, content, length)
            finally:
                connection.close()

        def _read_body(self) -> bytes:
            if "chunked" not in self.headers.get("Transfer-Encoding", ""):
                return self.rfile.read(int(self.headers.get("Content-Length") or 0))
            raw = b""
            while True:
                line = self.rfile.readline()
                size = int(line.split(b";")[0], 16)
                raw += line + self.rfile.read(size + 2)
                if not size:
                    return raw

        def _answer(self, status: int, headers: list[Any], content: bytes, length: str | None = None) -> None:
            with proxy.lock:
                proxy.exchanges.append(Exchange(self.command, self.path, status, len(content)))
            try:
                self.send_response(status)
                for name, value in headers:
                    self.send_header(name, value)
                self.send_header("Content-Length", length or str(len(content)))
                self.end_headers()
                if not proxy.piece_seconds:
                    self.wfile.write(content)
                    return
                for start in range(0, len(content), _PIECE):
                    self.wfile.write(content[start : start + _PIECE])
                    self.wfile.flush()
                    time.sleep(proxy.piece_seconds)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = forward

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    proxy.endpoint = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        server.shutdown()
        thread.join(20)
        server.server_close()
