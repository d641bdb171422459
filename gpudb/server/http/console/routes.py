"""The console's addresses, and what each of them answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

import gpudb
from gpudb.catalog.model import FIRST_DATABASE
from gpudb.errors import GpudbError, SqlError
from gpudb.server.http.console.access import check_named_host, check_transport
from gpudb.server.http.console.channel import Channel
from gpudb.server.http.console.columns import CHART, GRID
from gpudb.server.http.console.console import Console
from gpudb.server.http.console.frames import CONTENT_TYPE, describe_error, describe_notification, frame_event
from gpudb.server.http.console.logins import ConsoleLogin
from gpudb.server.http.console.requests import (
    COOKIE,
    SECURITY_HEADERS,
    HttpError,
    answer_error,
    check_origin,
    get_choice,
    get_count,
    get_parameters,
    get_text,
    read_object,
)
from gpudb.server.http.console.statements import STATUSES, Run, Text
from gpudb.server.http.console.static_files import StaticFiles
from gpudb.server.http.console.tabs import Busy, Tab
from gpudb.server.http.login import Refusal, Sources, get_host, is_encrypted, log_in, prove_password
from gpudb.server.wire.client_errors import to_client_error
from gpudb.server.wire.hba.matching import ConnectionRequest
from gpudb.session.interfaces import Network

PREFIX = "/console"
API = f"{PREFIX}/api"
MAX_LOGIN, MAX_COMMAND, MAX_SQL = 1 << 16, 1 << 16, 16 << 20
"""Bytes of bodies."""

Answer = Callable[[Request], Awaitable[Response]]


class ChannelResponse(StreamingResponse):
    """A streamed answer that tells its channel when the client has gone."""

    def __init__(self, channel: Channel, media_type: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(channel.__aiter__(), media_type=media_type, headers=headers)
        self._channel = channel

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._channel.close()


class Answers:
    """What the console's addresses answer."""

    def __init__(self, console: Console, files: StaticFiles) -> None:
        self._console, self._files = console, files

    async def show_file(self, request: Request) -> Response:
        """Answers with a file of the page."""
        return self._files.answer(request, request.path_params.get("name", ""))

    async def log_in(self, request: Request) -> Response:
        """Logs a role in."""
        check_origin(request)
        check_transport(request)
        body = await read_object(request, MAX_LOGIN)
        host = get_host(request)
        asked = ConnectionRequest(
            get_text(body, "user"), get_text(body, "database", FIRST_DATABASE), host, is_encrypted(request)
        )
        password = get_text(body, "password", "")
        console, sources = self._console, self._console.sources
        console.wrong_passwords.check(host)
        try:
            role, method = await console.start(lambda: log_in(sources, asked, prove_password(asked.user, password)))
        except Refusal as refusal:
            await console.wrong_passwords.delay(host, refusal)
            raise refusal.error from None
        if method == "trust":
            check_named_host(request)
        login = ConsoleLogin(asked, _describe_network(request), role, method)
        if sources.server.audit_log is not None:
            sources.server.audit_log.log_login(asked, 0, method)
        console.logins.add(login)
        console.sweep()
        response = JSONResponse(_describe_login(sources, login))
        response.set_cookie(
            COOKIE, login.token, path=PREFIX, httponly=True, samesite="strict", secure=is_encrypted(request)
        )
        return response

    async def show_session(self, request: Request) -> Response:
        """Answers who is logged in."""
        return JSONResponse(_describe_login(*self._console.authenticate(request)))

    async def log_out(self, request: Request) -> Response:
        """Ends a login and its sessions."""
        _, login = self._console.authenticate(request)
        await self._console.start(lambda: self._console.logins.end(login))
        response = Response(status_code=204)
        response.delete_cookie(COOKIE, path=PREFIX, httponly=True, samesite="strict")
        return response

    async def run_statements(self, request: Request) -> Response:
        """Runs a text in a tab, and streams frames of its results."""
        console = self._console
        sources, login = console.authenticate(request)
        body = await read_object(request, MAX_SQL)
        name, number = get_text(body, "tab"), get_text(body, "id")
        text = Text(
            get_text(body, "sql"),
            get_parameters(body),
            get_choice(body, "form", (GRID, CHART), GRID),
            get_count(body, "rows"),
        )
        tab, run = await self._open_tab(sources, login, name, number)
        channel = Channel(lambda: console.cancel(tab, run))
        console.start(lambda: _run_text(tab, text, channel))
        return ChannelResponse(channel, CONTENT_TYPE, {"cache-control": "no-store"})

    async def _open_tab(self, sources: Sources, login: ConsoleLogin, name: str, number: str) -> tuple[Tab, int]:
        """Returns a tab and the run that begins in it; 409 if another one runs."""
        tab = await self._console.start(lambda: login.open_tab(sources, name))
        try:
            run = tab.begin(number)
        except Busy:
            message = f'a statement runs in the tab "{name[:100]}"'
            raise HttpError(409, SqlError.of("object_in_use", message)) from None
        return tab, run

    async def cancel(self, request: Request) -> Response:
        """Cancels what runs in a tab."""
        _, login = self._console.authenticate(request)
        body = await read_object(request, MAX_COMMAND)
        tab = login.tabs.get(get_text(body, "tab"))
        run = None if tab is None else tab.find_run(get_text(body, "id"))
        if tab is not None and run is not None:
            self._console.cancel(tab, run)
        return Response(status_code=204)

    async def close_tab(self, request: Request) -> Response:
        """Ends a tab's session."""
        _, login = self._console.authenticate(request)
        await self._console.start(lambda: login.close_tab(request.path_params["tab"]))
        return Response(status_code=204)


def _run_text(tab: Tab, text: Text, channel: Channel) -> None:
    """Runs a text to its end, on this thread."""
    session = tab.session
    try:
        Run(session, tab.recording, text, channel, tab.check).run()
        status, inbox = STATUSES[session.status], session.mailbox.inbox
        notifications = [describe_notification(inbox.popleft()) for _ in range(len(inbox))]
        last = frame_event({"event": "end", "transaction": status, "notifications": notifications})
    except BaseException as error:  # one in the console itself: the tab lives on
        last = frame_event({"event": "error", **describe_error(to_client_error(error))})
    finally:
        tab.finish()
    channel.finish(last)


def _describe_login(sources: Sources, login: ConsoleLogin) -> dict[str, object]:
    database = sources.database
    return {
        "user": login.request.user,
        "database": login.request.database,
        "superuser": database.roles()[login.request.user].superuser,
        "csrf": login.csrf,
        "version": gpudb.__version__,
        "engine": "cpu" if database.cluster is None else database.cluster.name,
    }


def _describe_network(request: Request) -> Network:
    client, server = request.client, request.scope.get("server") or (None, None)
    return Network(None if client is None else client.port, server[0], server[1])


def make_routes(console: Console, files: StaticFiles) -> list[Route]:
    """Returns the routes."""
    answers = Answers(console, files)

    def route(path: str, answer: Answer, *methods: str) -> Route:
        return Route(f"{API}/{path}", _guarded(answer), methods=list(methods))

    async def redirect(request: Request) -> Response:
        return RedirectResponse(f"{PREFIX}/", 302)

    async def find_nothing(request: Request) -> Response:
        console.authenticate(request)
        return answer_error(SqlError.of("undefined_object", "there is no such address"), 404)

    return [
        Route("/", redirect),
        Route(PREFIX, redirect),
        route("login", answers.log_in, "POST"),
        route("session", answers.show_session, "GET"),
        route("logout", answers.log_out, "POST"),
        route("statements", answers.run_statements, "POST"),
        route("cancel", answers.cancel, "POST"),
        route("tabs/{tab}", answers.close_tab, "DELETE"),
        route("{rest:path}", find_nothing, "GET", "POST", "PUT", "DELETE"),
        Route(f"{PREFIX}/", _secured(answers.show_file)),
        Route(f"{PREFIX}/{{name:path}}", _secured(answers.show_file)),
    ]


def _secured(answer: Answer) -> Answer:
    """Returns an answer with the headers that every answer of the console has."""

    async def secured(request: Request) -> Response:
        response = await answer(request)
        for name, value in SECURITY_HEADERS.items():
            response.headers[name] = value
        return response

    return secured


def _guarded(answer: Answer) -> Answer:
    """Returns an answer whose errors are JSON, and which no cache keeps."""

    async def guarded(request: Request) -> Response:
        try:
            response = await answer(request)
        except HttpError as error:
            response = answer_error(error.error, error.status, error.headers)
        except GpudbError as error:
            response = answer_error(error)
        response.headers.setdefault("cache-control", "no-store")
        return response

    return _secured(guarded)
