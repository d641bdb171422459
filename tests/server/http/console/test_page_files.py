"""What the console serves and how long it waits: files of the page, headers, slow clients."""

from __future__ import annotations

import gzip
import http.client
import socket
from collections.abc import Iterator

import httpx
import pytest

from gpudb.config.http import HttpSettings
from gpudb.server.http.server import HttpServer
from tests.support.console_client import API, Client


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server without database, whose page is a few files beside a secret one."""
    folder = tmp_path_factory.mktemp("page")
    static = folder / "static"
    (static / "assets").mkdir(parents=True)
    (folder / "secret.txt").write_text("secret")
    (static / "index.html").write_text("<!doctype html>page")
    (static / "assets" / "a-1f.js").write_text("plain")
    (static / "assets" / "a-1f.js.br").write_bytes(b"brotli")
    (static / "assets" / "a-1f.js.gz").write_bytes(b"gzip")
    (static / "assets" / "b-2e.css.gz").write_bytes(gzip.compress(b"only compressed"))
    (static / "link.txt").symlink_to(folder / "secret.txt")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gpudb.server.http.console.static_files.FOLDER", static)
        patch.setattr("gpudb.server.http.console.requests.BODY_SECONDS", 0.2)
        patch.setattr("gpudb.server.http.patience.HEADER_S", 0.5)
        server = HttpServer(HttpSettings(http_port=0))
        host, port = server.address
        yield f"http://{host}:{port}"
        server.close()


def test_files_of_the_page(page: str) -> None:
    with httpx.Client(base_url=page, trust_env=False, headers={"accept-encoding": "identity"}) as http:
        for path in ("/", "/console"):
            assert http.get(path).headers["location"] == "/console/"
        index = http.get("/console/")
        assert (index.text, index.headers["cache-control"]) == ("<!doctype html>page", "no-cache")
        assert index.headers["content-type"] == "text/html; charset=utf-8"
        assert http.get("/console/index.html").text == index.text
        tag = {"if-none-match": index.headers["etag"]}
        assert http.get("/console/", headers=tag).status_code == 304
        asset = http.get("/console/assets/a-1f.js")
        assert (asset.text, asset.headers["cache-control"]) == ("plain", "public, max-age=31536000, immutable")
        assert asset.headers["content-type"].startswith("text/javascript")
        for accepted, encoding, content in (
            ("gzip, br", "br", b"brotli"),
            ("gzip", "gzip", b"gzip"),
            ("br;q=0", None, b"plain"),
        ):
            with http.stream("GET", "/console/assets/a-1f.js", headers={"accept-encoding": accepted}) as reply:
                assert (reply.headers.get("content-encoding"), b"".join(reply.iter_raw())) == (encoding, content)
        packed = http.get("/console/", headers={"accept-encoding": "gzip"})
        assert (packed.headers["content-encoding"], packed.text) == ("gzip", index.text)
        assert http.get("/console/assets/b-2e.css").text == "only compressed"
        head = http.head("/console/")
        assert (head.status_code, head.content) == (200, b"")
        assert http.post("/console/").status_code == 405


@pytest.mark.parametrize(
    "path",
    [
        "/console/../secret.txt", "/console/%2e%2e/secret.txt", "/console/%2e%2e%2fsecret.txt", "/console//etc/passwd",
        "/console/..%5csecret.txt", "/console/assets/../../secret.txt", "/console/%252e%252e/secret.txt",
        "/console/link.txt", "/console/assets", "/console/assets/", "/console/index.html%00.js", "/console/a-1f.js.br",
        "/console/assets/a-1f.js.br", "/console/%c0%ae%c0%ae/secret.txt", "/console/nothing",
    ],
)  # fmt: skip
def test_no_other_files(page: str, path: str) -> None:
    connection = http.client.HTTPConnection(page.removeprefix("http://"))
    connection.request("GET", path)
    reply = connection.getresponse()
    assert reply.status in (404, 401)
    assert b"secret" not in reply.read()
    connection.close()


def test_headers_of_every_answer(page: str, client: Client) -> None:
    replies = [
        client.http.get(f"{API}/session"),
        client.post("statements", {"tab": "t", "id": "1", "sql": "SELECT 1"}),
        client.chart("SELECT 1"),
        client.chart("SELEC 1"),
        client.http.get(f"{API}/documents"),
        client.http.get("/console/nothing"),
        httpx.get(f"{page}/console/", trust_env=False),
        httpx.get(f"{page}{API}/session", trust_env=False),
    ]
    for reply in replies:
        policy = reply.headers["content-security-policy"]
        assert "default-src 'self'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "script-src 'self';" in policy
        assert reply.headers["x-content-type-options"] == "nosniff"
        if "/api/" in str(reply.url):
            assert reply.headers["cache-control"] == "no-store"
    assert replies[-1].status_code == 503
    assert replies[-1].json()["error"]["sqlstate"] == "57P03"


# ---- slow clients


def test_slow_clients_are_closed_and_hold_nobody(page: str) -> None:
    host, _, port = page.removeprefix("http://").partition(":")
    slow = [socket.create_connection((host, int(port))) for _ in range(20)]
    body = socket.create_connection((host, int(port)))
    try:
        for each in slow:
            each.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: ")
        head = "POST /console/api/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n"
        body.sendall(head.encode() + b"{")
        assert httpx.get(f"{page}/healthz", trust_env=False).text == "ok\n"
        for each in slow:
            each.settimeout(30)
            assert _read_end(each) == b""
        body.settimeout(30)
        assert _read_end(body).startswith(b"HTTP/1.1 408")
        large = socket.create_connection((host, int(port)))
        large.sendall(b"GET /healthz HTTP/1.1\r\nX-Large: " + b"x" * (1 << 17))
        large.settimeout(30)
        assert _read_end(large)[:12] in (b"HTTP/1.1 400", b"")
        large.close()
    finally:
        for each in (*slow, body):
            each.close()


def _read_end(connection: socket.socket) -> bytes:
    found = b""
    try:
        while piece := connection.recv(4096):
            found += piece
    except ConnectionResetError:
        pass
    return found
