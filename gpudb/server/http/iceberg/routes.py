"""Routes of the Iceberg REST catalog: configuration, tokens, namespaces, tables, appends; other changes are refused."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qs, quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from gpudb.catalog.model import FIRST_DATABASE, Catalog
from gpudb.errors import GpudbError, SqlError
from gpudb.server.http.iceberg.appends import MAX_COMMIT, append
from gpudb.server.http.iceberg.credentials import Credentials, enter, exchange_password, read_credentials
from gpudb.server.http.iceberg.namespaces import find_schema, list_schemas, list_tables, load_table
from gpudb.server.http.iceberg.tokens import TOKEN_SECONDS
from gpudb.server.http.login import Refusal, Sources, open_sources

_BASE = "/iceberg/v1"
_ENDPOINTS = (
    "GET /v1/{prefix}/namespaces",
    "GET /v1/{prefix}/namespaces/{namespace}",
    "HEAD /v1/{prefix}/namespaces/{namespace}",
    "GET /v1/{prefix}/namespaces/{namespace}/tables",
    "GET /v1/{prefix}/namespaces/{namespace}/tables/{table}",
    "HEAD /v1/{prefix}/namespaces/{namespace}/tables/{table}",
    "POST /v1/{prefix}/namespaces/{namespace}/tables/{table}",
    "GET /v1/{prefix}/namespaces/{namespace}/views",
    "POST /v1/{prefix}/namespaces/{namespace}/tables/{table}/metrics",
)
_FAILURES = {
    "28P01": (401, "NotAuthorizedException"),
    "28000": (401, "NotAuthorizedException"),
    "42501": (403, "ForbiddenException"),
    "3D000": (404, "NoSuchWarehouseException"),
    "3F000": (404, "NoSuchNamespaceException"),
    "42P01": (404, "NoSuchTableException"),
    "40001": (409, "CommitFailedException"),
    "40P01": (409, "CommitFailedException"),
    "55P03": (409, "CommitFailedException"),
    "58P01": (400, "BadRequestException"),
    "XX001": (400, "BadRequestException"),
    "0A000": (406, "UnsupportedOperationException"),
    "57P03": (503, "ServiceUnavailableException"),
}
_BAD_REQUESTS = ("22", "23", "42")
_TOKEN_FIELDS = ("grant_type", "client_id", "client_secret")
_MAX_FORM = 1 << 16


class _Answers:
    """What the catalog answers; `find_sources` returns None before the database is open."""

    def __init__(self, find_sources: Callable[[], Sources | None]) -> None:
        self._find_sources = find_sources

    def _enter(self, request: Request) -> tuple[Sources, Catalog, str]:
        """Authenticates a request for the database that its path names."""
        sources, credentials = open_sources(self._find_sources), read_credentials(request)
        catalog = enter(sources, request, credentials, request.path_params["prefix"])
        return sources, catalog, credentials.user

    def show_configuration(self, request: Request) -> Response:
        sources, credentials = open_sources(self._find_sources), read_credentials(request)
        name = request.query_params.get("warehouse") or FIRST_DATABASE
        enter(sources, request, credentials, name)
        overrides = {"prefix": quote(name, safe="")}
        return JSONResponse({"defaults": {}, "overrides": overrides, "endpoints": list(_ENDPOINTS)})

    def list_namespaces(self, request: Request) -> Response:
        _, catalog, role = self._enter(request)
        if request.query_params.get("parent"):
            return JSONResponse({"namespaces": []})
        return JSONResponse({"namespaces": [[name] for name in list_schemas(catalog, role)]})

    def show_namespace(self, request: Request) -> Response:
        _, catalog, role = self._enter(request)
        name = find_schema(catalog, role, request.path_params["namespace"])
        return _head(request) or JSONResponse({"namespace": [name], "properties": {}})

    def show_tables(self, request: Request) -> Response:
        sources, catalog, role = self._enter(request)
        name = find_schema(catalog, role, request.path_params["namespace"])
        found = list_tables(sources.database.store, catalog, role, name)
        return JSONResponse({"identifiers": [{"namespace": [name], "name": each} for each in found]})

    def show_views(self, request: Request) -> Response:
        _, catalog, role = self._enter(request)
        find_schema(catalog, role, request.path_params["namespace"])
        return JSONResponse({"identifiers": []})

    def show_table(self, request: Request) -> Response:
        sources, catalog, role = self._enter(request)
        parameters = request.path_params
        name = find_schema(catalog, role, parameters["namespace"])
        found = load_table(sources.database.store, catalog, role, name, parameters["table"])
        return _head(request) or JSONResponse(found)

    def append_files(self, request: Request) -> Response:
        sources, catalog, role = self._enter(request)
        parameters = request.path_params
        name = find_schema(catalog, role, parameters["namespace"])
        return JSONResponse(append(sources.database, catalog, role, name, parameters["table"], request.state.content))

    async def commit(self, request: Request) -> Response:
        content = await _read_content(request, MAX_COMMIT)
        if content is None:
            return _make_failure(SqlError.of("invalid_parameter_value", "the commit is too large"))
        request.state.content = content
        return await _guarded(self.append_files)(request)

    def take_metrics(self, request: Request) -> Response:
        self._enter(request)
        return Response(status_code=204)

    def refuse(self, request: Request) -> Response:
        self._enter(request)
        path = request.url.path.removeprefix(_BASE)
        message = f"{request.method} of {path} is not supported: the catalog takes appends alone"
        raise SqlError.of("feature_not_supported", message, hint="Change tables by SQL.")

    async def make_token(self, request: Request) -> Response:
        form = await _read_form(request)
        if form.get("grant_type") != "client_credentials" or not form.get("client_id"):
            return JSONResponse({"error": "unsupported_grant_type"}, status_code=400)
        credentials = Credentials(form["client_id"], form.get("client_secret", ""))
        try:
            token = await run_in_threadpool(
                exchange_password, open_sources(self._find_sources), request, credentials, FIRST_DATABASE
            )
        except Refusal as refusal:
            await asyncio.sleep(refusal.delay)
            return _make_token_failure(refusal.error)
        except GpudbError as error:
            return _make_token_failure(error)
        issued = "urn:ietf:params:oauth:token-type:access_token"
        content = {
            "access_token": token,
            "token_type": "bearer",
            "expires_in": TOKEN_SECONDS,
            "issued_token_type": issued,
        }
        return JSONResponse(content, headers={"cache-control": "no-store"})


def make_routes(find_sources: Callable[[], Sources | None]) -> list[Route]:
    """Returns the routes. `find_sources` returns None before the database is open."""
    answers = _Answers(find_sources)
    namespace = f"{_BASE}/{{prefix}}/namespaces/{{namespace}}"
    table = f"{namespace}/tables/{{table}}"
    return [
        Route(f"{_BASE}/config", _guarded(answers.show_configuration)),
        Route(f"{_BASE}/oauth/tokens", answers.make_token, methods=["POST"]),
        Route(f"{_BASE}/{{prefix}}/namespaces", _guarded(answers.list_namespaces)),
        Route(namespace, _guarded(answers.show_namespace)),
        Route(f"{namespace}/tables", _guarded(answers.show_tables)),
        Route(f"{namespace}/views", _guarded(answers.show_views)),
        Route(table, _guarded(answers.show_table)),
        Route(table, answers.commit, methods=["POST"]),
        Route(f"{table}/metrics", _guarded(answers.take_metrics), methods=["POST"]),
        Route(f"{_BASE}/{{prefix}}/{{rest:path}}", _guarded(answers.refuse), methods=["GET", "POST", "PUT", "DELETE"]),
    ]


def _guarded(answer: Callable[[Request], Response]) -> Callable[[Request], Awaitable[Response]]:
    """Returns a route that answers on a thread, and errors as Iceberg's specification does.

    An answer that has to wait holds no thread: probes of health need one too.
    """

    async def guarded(request: Request) -> Response:
        try:
            return await run_in_threadpool(answer, request)
        except Refusal as refusal:
            await asyncio.sleep(refusal.delay)
            return _make_failure(refusal.error)
        except GpudbError as error:
            return _make_failure(error)

    return guarded


def _make_failure(error: GpudbError) -> Response:
    other = (400, "BadRequestException") if error.sqlstate[:2] in _BAD_REQUESTS else (500, "InternalServerError")
    status, kind = _FAILURES.get(error.sqlstate, other)
    message = error.message if error.hint is None else f"{error.message}. {error.hint}"
    headers = {"www-authenticate": 'Basic realm="gpudb"'} if status == 401 else {}
    content: dict[str, Any] = {"error": {"message": message, "type": kind, "code": status}}
    return JSONResponse(content, status_code=status, headers=headers)


def _make_token_failure(error: GpudbError) -> Response:
    """Returns an error as OAuth2 has it."""
    status = _FAILURES.get(error.sqlstate, (500, ""))[0]
    shown = "invalid_client" if status in (401, 403) else "server_error"
    return JSONResponse({"error": shown, "error_description": error.message}, status_code=status)


def _head(request: Request) -> Response | None:
    return Response(status_code=204) if request.method == "HEAD" else None


async def _read_content(request: Request, limit: int) -> bytes | None:
    """Returns the body of a request; None if it has more bytes than the limit."""
    content = bytearray()
    async for piece in request.stream():
        content += piece
        if len(content) > limit:
            return None
    return bytes(content)


async def _read_form(request: Request) -> dict[str, str]:
    """Returns the fields of a form, and of an Authorization header for them."""
    content = await _read_content(request, _MAX_FORM)
    if content is None:
        return {}
    fields = parse_qs(content.decode(errors="replace"))
    found = {name: fields[name][0] for name in _TOKEN_FIELDS if name in fields}
    if "client_id" not in found and request.headers.get("authorization", "").lower().startswith("basic "):
        try:
            given = read_credentials(request)
        except GpudbError:
            return {}
        found |= {"client_id": given.user, "client_secret": given.password}
    return found
