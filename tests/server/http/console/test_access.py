"""Who may use the console, and what its answers protect against."""

from __future__ import annotations

import http.client
import json
import ssl
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import psycopg
import pytest
from starlette.requests import Request

from gpudb.certificates import create_self_signed
from gpudb.config import program
from gpudb.errors import GpudbError
from gpudb.server.http.console.access import check_named_host, check_transport
from gpudb.server.http.console.requests import HttpError, name_cookie
from tests.support.console_client import API, Client
from tests.support.http_client import wait_for
from tests.support.server_program import Program

ROUTES = [
    ("GET", "session"),
    ("POST", "logout"),
    ("POST", "statements"),
    ("POST", "cancel"),
    ("DELETE", "tabs/x"),
    ("POST", "mosaic"),
    ("POST", "exports"),
    ("GET", "documents"),
    ("POST", "documents"),
    ("GET", "documents/x"),
    ("PUT", "documents/x"),
    ("DELETE", "documents/x"),
    ("GET", "nothing"),
]
BODY = {
    "tab": "t",
    "id": "1",
    "sql": "SELECT 42 AS secret",
    "type": "json",
    "format": "csv",
    "kind": "query",
    "name": "n",
}


@pytest.fixture(scope="module", autouse=True)
def roles(server: Program) -> Iterator[None]:
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute("""
            CREATE ROLE reader LOGIN PASSWORD 'right'; CREATE ROLE nologin PASSWORD 'x';
            CREATE ROLE expired LOGIN PASSWORD 'right' VALID UNTIL '2020-01-01';
            CREATE TABLE secrets AS SELECT 42 AS a""")
        yield


def _log_in(http: httpx.Client, user: str, password: str, **fields: object) -> httpx.Response:
    return http.post(f"{API}/login", json={"user": user, "password": password, **fields})


def _make_client(server: Program, **options: object) -> httpx.Client:
    return httpx.Client(base_url=server.http, timeout=60, trust_env=False, **options)  # type: ignore[arg-type]


# ---- without login, CSRF


@pytest.mark.parametrize("method, path", ROUTES)
def test_no_data_without_login(server: Program, client: Client, method: str, path: str) -> None:
    with _make_client(server) as http:
        for cookie in ("", f"{client.cookie}=x", f"{client.cookie}={client.csrf['X-CSRF-Token']}"):
            request = http.build_request(method, f"{API}/{path}", json=BODY, headers=client.csrf)
            if cookie:
                request.headers["cookie"] = cookie
            reply = http.send(request)
            assert reply.status_code == 401
            assert reply.json()["error"]["sqlstate"] == "28000"
            assert "secret" not in reply.text


@pytest.mark.parametrize("method, path", [each for each in ROUTES if each[0] != "GET"])
def test_changes_need_the_pages_token(server: Program, client: Client, method: str, path: str) -> None:
    host = f"http://{client.http.base_url.host}:{client.http.base_url.port}"
    tries = [
        {},
        {"X-CSRF-Token": "x"},
        {"X-CSRF-Token": client.csrf["X-CSRF-Token"][:-1]},
        {**client.csrf, "origin": "http://evil.example"},
        {**client.csrf, "origin": "null"},
        {**client.csrf, "origin": f"{host}.evil.example"},
        {**client.csrf, "origin": "http://127.0.0.1:1"},
    ]
    for headers in tries:
        reply = client.http.request(method, f"{API}/{path}", json=BODY, headers=headers)
        assert (reply.status_code, reply.json()["error"]["sqlstate"]) == (403, "42501"), headers
    assert client.run("SELECT 1").rows() == [(1,)]
    right = {**client.csrf, "origin": host}
    assert client.http.post(f"{API}/cancel", json=BODY, headers=right).status_code == 204


def test_login_from_another_site_is_refused(server: Program) -> None:
    with _make_client(server) as http:
        reply = http.post(f"{API}/login", json={"user": "gpudb"}, headers={"origin": "http://evil.example"})
        assert (reply.status_code, reply.cookies) == (403, httpx.Cookies())
        form = http.post(f"{API}/login", content=b'{"user":"gpudb"}', headers={"content-type": "text/plain"})
        assert form.status_code == 415
        named = http.post(f"{API}/login", json={"user": "gpudb"}, headers={"host": "evil.example"})
        assert (named.status_code, named.json()["error"]["sqlstate"]) == (403, "28000")
        assert _log_in(http, "reader", "right").status_code == 200


def test_other_sites_read_no_answer(server: Program, client: Client) -> None:
    """No answer permits another origin to read it, with cookies or without; preflights of browsers are refused."""
    headers = {
        "origin": "http://evil.example",
        "access-control-request-method": "POST",
        "access-control-request-headers": "x-csrf-token",
    }
    for path in (f"{API}/session", f"{API}/documents", f"{API}/statements", f"{API}/mosaic", "/console/", "/metrics"):
        preflight = client.http.options(path, headers=headers)
        replies = [preflight, client.http.get(path, headers=headers)]
        assert preflight.status_code in (401, 404, 405)
        assert not any(name.startswith("access-control") for reply in replies for name in reply.headers), path


def test_odd_names_of_documents_and_tabs_lead_nowhere(client: Client) -> None:
    for name in ("..", "%2e%2e", "..%2f..%2fsession", "%00", "a%2fb", "'; DROP TABLE secrets; --", "%ff", "x" * 5000):
        for method, path in (("GET", "documents"), ("DELETE", "documents"), ("DELETE", "tabs")):
            reply = client.http.request(method, f"{API}/{path}/{name}", headers=client.csrf)
            assert reply.status_code in (204, 400, 404, 405), (method, path, name)
            assert "csrf" not in reply.text
    assert client.run("SELECT a FROM secrets").rows() == [(42,)]


def test_downloads_open_in_no_page(client: Client) -> None:
    sql = "SELECT '<script>alert(1)</script>' AS \"<script>\""
    for form in ("csv", "parquet", "arrow"):
        reply = client.post("exports", {"tab": "script", "sql": sql, "format": form})
        assert reply.headers["content-disposition"] == f'attachment; filename="gpudb.{form}"'
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert not reply.headers["content-type"].startswith("text/html")


# ---- login


def test_a_login_takes_no_cookie_that_it_is_given(server: Program) -> None:
    with _make_client(server) as http:
        name = f"gpudb_console_{http.base_url.port}"
        tokens = []
        for _ in range(2):
            reply = http.post(
                f"{API}/login", json={"user": "reader", "password": "right"}, headers={"cookie": f"{name}=chosen"}
            )
            tokens.append((reply.cookies[name], reply.json()["csrf"]))
        assert len({*tokens[0], *tokens[1], "chosen"}) == 5
        assert http.get(f"{API}/session", headers={"cookie": f"{name}=chosen"}).status_code == 401
        first = {"cookie": f"{name}={tokens[0][0]}"}
        mixed = http.post(f"{API}/cancel", json=BODY, headers={**first, "X-CSRF-Token": tokens[1][1]})
        assert mixed.status_code == 403
        assert http.post(f"{API}/logout", json={}, headers={**first, "X-CSRF-Token": tokens[0][1]}).status_code == 204
        assert http.get(f"{API}/session", headers={"cookie": f"{name}={tokens[1][0]}"}).status_code == 200


def test_a_logout_ends_what_runs(server: Program) -> None:
    endless = "SELECT count(*) AS until_logout FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b"
    running = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'reader' AND query LIKE '%until_logout%'"
    with Client(server.http, "reader", "right") as client, psycopg.connect(server.dsn, autocommit=True) as admin:
        with ThreadPoolExecutor(1) as threads:
            answer = threads.submit(client.run, endless)
            wait_for(lambda: admin.execute(running).fetchone() == (1,))
            assert client.post("logout", {}).status_code == 204
            error = answer.result(60).error
        assert error is not None
        assert error["sqlstate"] in ("57014", "57P01")
        wait_for(lambda: admin.execute(running).fetchone() == (0,))


def test_the_cookie_and_the_login(server: Program) -> None:
    with _make_client(server) as http:
        reply = _log_in(http, "reader", "right")
        cookie = reply.headers["set-cookie"].lower()
        assert all(each in cookie for each in ("httponly", "samesite=strict", "path=/console"))
        assert "secure" not in cookie
        found = reply.json()
        assert (found["user"], found["database"], found["superuser"], found["engine"]) == (
            "reader",
            "gpudb",
            False,
            "cpu",
        )
        assert http.get(f"{API}/session").json() == found
        headers = {"X-CSRF-Token": found["csrf"]}
        (name, token), *others = http.cookies.items()
        assert (name, others) == (f"gpudb_console_{http.base_url.port}", [])
        assert http.post(f"{API}/logout", json={}, headers=headers).status_code == 204
        assert http.get(f"{API}/session").status_code == 401
        assert http.get(f"{API}/session", headers={"cookie": f"{name}={token}"}).status_code == 401


def test_logins_of_two_servers_of_a_host_live_side_by_side(server: Program) -> None:
    """A browser sends the cookies of a host to all of its ports."""
    browser = httpx.Cookies()
    for port in (server.http.rpartition(":")[2], "9187", "9188"):
        with _make_client(server, cookies=browser) as http:
            reply = http.post(
                f"{API}/login",
                json={"user": "reader", "password": "right"},
                headers={"host": f"localhost:{port}"},
            )
            browser.update(reply.cookies)
    assert len({*browser.values()}) == 3
    sent = "; ".join(f"{name}={value}" for name, value in browser.items())
    for port in ("9187", "9188"):
        headers = {"host": f"localhost:{port}", "cookie": sent}
        assert httpx.get(f"{server.http}{API}/session", headers=headers, trust_env=False).status_code == 200
    headers = {"host": "localhost:9189", "cookie": sent}
    assert httpx.get(f"{server.http}{API}/session", headers=headers, trust_env=False).status_code == 401


@pytest.mark.parametrize(
    ("host", "scheme", "name"),
    [
        ("localhost:8080", "http", "gpudb_console_8080"),
        ("[::1]:8080", "http", "gpudb_console_8080"),
        ("db.example", "https", "gpudb_console_443"),
        ("db.example", "http", "gpudb_console_80"),
        ("db.example:x; y=z", "http", "gpudb_console_80"),
        ("db.example:99999", "http", "gpudb_console_80"),
        ("", "http", "gpudb_console_80"),
        ("[", "http", "gpudb_console_80"),
    ],
)
def test_the_cookies_name_has_the_port(host: str, scheme: str, name: str) -> None:
    assert name_cookie(_make_request("127.0.0.1", scheme, host)) == name


@pytest.mark.parametrize(
    "user, password, fields, sqlstate, status",
    [
        ("reader", "wrong", {}, "28P01", 401),
        ("reader", "", {}, "28P01", 401),
        ("nobody", "x", {}, "28P01", 401),
        ("expired", "right", {}, "28P01", 401),
        ("nologin", "x", {}, "28000", 401),
        ("reader", "right", {"database": "nowhere"}, "3D000", 400),
        ("reader\0", "right", {}, "22023", 400),
    ],
)
def test_failed_logins(
    server: Program, user: str, password: str, fields: dict[str, str], sqlstate: str, status: int
) -> None:
    with _make_client(server) as http:
        reply = _log_in(http, user, password, **fields)
        assert (reply.status_code, reply.json()["error"]["sqlstate"]) == (status, sqlstate)
        assert "set-cookie" not in reply.headers


def test_wrong_passwords_wait_and_many_are_refused(server: Program) -> None:
    with _make_client(server) as http:
        started = time.monotonic()
        for _ in range(10):
            assert _log_in(http, "reader", "wrong").status_code == 401
        assert time.monotonic() - started > 1
        replies: list[httpx.Response] = []
        with ThreadPoolExecutor(30) as threads:
            while not any(each.status_code == 429 for each in replies):
                replies += threads.map(lambda _: _log_in(http, "reader", "wrong"), range(30))
                assert len(replies) < 600
        assert {each.status_code for each in replies} <= {401, 429}
        assert all("retry-after" in each.headers for each in replies if each.status_code == 429)
        assert _log_in(http, "reader", "right").status_code == 200


def test_the_audit_log_has_logins(server: Program) -> None:
    with Client(server.http, "reader", "right") as client:
        client.run("SELECT 1")
        client.post("logout", {})
        with pytest.raises(AssertionError):
            Client(server.http, "reader", "wrong")
    log = server.log.parent / "audit.log"

    def find() -> list[str]:
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        return [each["event"] for each in lines if each.get("user") == "reader"][-4:]

    wait_for(lambda: sorted(find()) == ["disconnect", "login", "login", "login_failed"])
    assert "wrong" not in log.read_text()


def test_rights_are_the_roles(server: Program) -> None:
    with Client(server.http, "reader", "right") as client:
        assert client.run("SELECT * FROM secrets").error["sqlstate"] == "42501"
        assert client.chart("SELECT * FROM secrets").json()["error"]["sqlstate"] == "42501"
        reply = client.post("exports", {"tab": "t", "sql": "SELECT * FROM secrets", "format": "csv"})
        assert (reply.status_code, reply.json()["error"]["sqlstate"]) == (400, "42501")
        assert client.run("CREATE TABLE public.x (a int)").error["sqlstate"] == "42501"


def test_a_change_of_the_role_ends_its_logins(server: Program) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        for change in ("PASSWORD 'other'", "NOLOGIN", "VALID UNTIL '2020-01-01'"):
            connection.execute("CREATE ROLE changing LOGIN PASSWORD 'first'")
            with Client(server.http, "changing", "first") as client:
                assert client.run("SELECT 1").rows() == [(1,)]
                connection.execute(f"ALTER ROLE changing {change}")
                assert client.http.get(f"{API}/session").status_code == 401
            connection.execute("DROP ROLE changing")


# ---- bodies and paths


@pytest.mark.parametrize(
    "content, status",
    [
        (b"", 400),
        (b"[]", 400),
        (b"{", 400),
        (b"[" * 100_000, 400),
        (b'{"tab": 1, "id": "1", "sql": ""}', 400),
        (b'{"tab": "t", "id": "1"}', 400),
        (b'{"tab": "t", "id": "1", "sql": "SELECT 1", "rows": -1}', 400),
        (b'{"tab": "t", "id": "1", "sql": "SELECT 1", "form": "tree"}', 400),
        (b'{"tab": "t", "id": "1", "sql": "SELECT 1", "parameters": [1]}', 400),
        (b"\xff\xfe", 400),
        (b'{"tab": "t", "id": "1", "sql": "SELECT \'\\ud800\'"}', 400),
        (b'{"tab": "t", "id": "1", "sql": "SELECT $1", "parameters": ["\\ud800"]}', 400),
    ],
)
def test_bodies_that_are_none(client: Client, content: bytes, status: int) -> None:
    headers = {**client.csrf, "content-type": "application/json"}
    assert client.http.post(f"{API}/statements", content=content, headers=headers).status_code == status


def test_large_bodies_are_refused(client: Client) -> None:
    headers = {**client.csrf, "content-type": "application/json"}

    def send(path: str, size: int) -> int:
        def pieces() -> Iterator[bytes]:
            yield b'{"x":"'
            for _ in range(size >> 16):
                yield b"x" * (1 << 16)

        try:
            return client.http.post(f"{API}/{path}", content=pieces(), headers=headers).status_code
        except httpx.WriteError:  # the answer may come before all was sent
            return 413

    assert send("cancel", 1 << 20) == 413
    assert send("login", 1 << 20) == 413
    assert send("statements", 18 << 20) == 413
    assert send("documents", 5 << 20) == 413
    declared = http.client.HTTPConnection(client.http.base_url.host, client.http.base_url.port or 80)
    headers["cookie"] = f"{client.cookie}={client.http.cookies[client.cookie]}"
    declared.request("POST", f"{API}/cancel", headers={**headers, "content-length": "99999999"})
    assert declared.getresponse().status == 413
    declared.close()
    assert client.run("SELECT 1").rows() == [(1,)]


# ---- addresses, ends


def _make_request(client: str, scheme: str = "http", host: str = "localhost:80") -> Request:
    headers = [(b"host", host.encode())]
    scope = {
        "type": "http",
        "scheme": scheme,
        "client": (client, 1),
        "headers": headers,
        "path": "/",
        "server": ("x", 1),
    }
    return Request(scope)


def test_logins_off_loopback_need_tls() -> None:
    for client in ("127.0.0.1", "::1", "127.8.8.8"):
        check_transport(_make_request(client))
    check_transport(_make_request("10.0.0.7", "https"))
    for client in ("10.0.0.7", "2001:db8::1", ""):
        with pytest.raises(HttpError) as caught:
            check_transport(_make_request(client))
        assert (caught.value.status, caught.value.error.sqlstate) == (403, "28000")
        assert "--http-tls" in str(caught.value.error.hint)


def test_roles_without_password_need_a_local_name() -> None:
    for host in ("localhost", "LOCALHOST:8080", "127.0.0.1:1", "[::1]:1"):
        check_named_host(_make_request("127.0.0.1", host=host))
    check_named_host(_make_request("10.0.0.7", "https", "db.example"))
    for host in ("", "evil.example:80", "localhost.evil.example", "127.0.0.1.evil.example", "[", "10.0.0.7"):
        with pytest.raises(HttpError):
            check_named_host(_make_request("127.0.0.1", host=host))


def test_over_tls_the_cookie_is_secure_and_idle_logins_end(tmp_path: Path) -> None:
    certificate, key = tmp_path / "server.crt", tmp_path / "server.key"
    create_self_signed(certificate, key, "localhost")
    options = (
        "--http-port",
        "0",
        "--http-tls",
        "--tls-cert",
        str(certificate),
        "--tls-key",
        str(key),
        "--engine",
        "cpu",
    )
    environment = {"GPUDB_CONSOLE_IDLE_TIMEOUT": "1"}
    with Program(tmp_path / "data", *options, environment=environment) as server:
        base = server.http.replace("http:", "https:").replace("127.0.0.1", "localhost")
        context = ssl.create_default_context(cafile=str(certificate))
        with (
            httpx.Client(base_url=base, verify=context, trust_env=False, timeout=60) as http,
            psycopg.connect(server.dsn, autocommit=True) as admin,
        ):
            assert http.get("/healthz").text == "ok\n"
            reply = _log_in(http, "gpudb", "")
            assert "secure" in reply.headers["set-cookie"].lower()
            url = admin.execute("SHOW gpudb.console_url").fetchone()
            assert url == (f"{base.replace('localhost', '127.0.0.1')}/console/",)
            headers = {"X-CSRF-Token": reply.json()["csrf"]}
            http.post(f"{API}/statements", json={"tab": "t", "id": "1", "sql": "SELECT 1"}, headers=headers)
            sessions = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'gpudb console'"
            wait_for(lambda: admin.execute(sessions).fetchone() == (0,))
            assert http.get(f"{API}/session").status_code == 401
        with pytest.raises(httpx.HTTPError):
            httpx.get(server.http + "/healthz", trust_env=False)
        server.stop()


def test_settings_of_tls_go_together() -> None:
    with pytest.raises(GpudbError, match="http_tls needs tls_cert and tls_key"):
        program.load(http_tls=True)
