"""The console's addresses, and what each of them answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from gpudb.catalog.model import FIRST_DATABASE
from gpudb.distribution import __version__
from gpudb.errors import GpudbError, SqlError
from gpudb.server.http.console.access import check_named_host, check_transport
from gpudb.server.http.console.answers import ChannelResponse, answer_when_begun, start_run
from gpudb.server.http.console.channel import Channel
from gpudb.server.http.console.columns import CHART, GRID
from gpudb.server.http.console.console import Console
from gpudb.server.http.console.documents import KINDS, MAX_BODY, Documents
from gpudb.server.http.console.exports import FORMATS, run_export
from gpudb.server.http.console.frames import CONTENT_TYPE, describe_error, describe_notification, frame_event
from gpudb.server.http.console.kept_results import KeptResult
from gpudb.server.http.console.logins import ConsoleLogin
from gpudb.server.http.console.mosaic import EXEC, MEDIA_TYPES, run_chart
from gpudb.server.http.console.requests import (
    SECURITY_HEADERS,
    HttpError,
    answer_error,
    check_origin,
    get_choice,
    get_count,
    get_flag,
    get_parameters,
    get_text,
    name_cookie,
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
        name, secure = name_cookie(request), is_encrypted(request)
        response.set_cookie(name, login.token, path=PREFIX, httponly=True, samesite="strict", secure=secure)
        return response

    async def show_session(self, request: Request) -> Response:
        """Answers who is logged in."""
        return JSONResponse(_describe_login(*self._console.authenticate(request)))

    async def log_out(self, request: Request) -> Response:
        """Ends a login and its sessions."""
        _, login = self._console.authenticate(request)
        await self._console.start(lambda: self._console.logins.end(login))
        self._console.kept.drop_ended()
        response = Response(status_code=204)
        response.delete_cookie(name_cookie(request), path=PREFIX, httponly=True, samesite="strict")
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
        keep = get_flag(body, "keep")
        tab, run = await self._open_tab(sources, login, name, number)
        console.kept.drop(login, name)
        put = partial(console.kept.put, login, name) if keep else None
        return ChannelResponse(start_run(console, tab, run, partial(_run_text, tab, text, put)), CONTENT_TYPE)

    async def _open_tab(self, sources: Sources, login: ConsoleLogin, name: str, number: str) -> tuple[Tab, int]:
        """Returns a tab and the run that begins in it; 409 if another one runs."""
        tab = await self._console.start(lambda: login.open_tab(sources, name))
        try:
            run = tab.begin(number)
        except Busy:
            message = f'a statement runs in the tab "{name[:100]}"'
            raise HttpError(409, SqlError.of("object_in_use", message)) from None
        return tab, run

    async def export(self, request: Request) -> Response:
        """Answers with a file of a kept result's rows, or runs a query in a tab, which can only read, for them."""
        sources, login = self._console.authenticate(request)
        body = await read_object(request, MAX_SQL)
        form = get_choice(body, "format", tuple(FORMATS))
        headers = {"content-disposition": f'attachment; filename="gpudb.{form}"'}
        if "result" in body:
            kept = self._console.kept.find(login, get_text(body, "result"))
            task = partial(run_export, sql=kept.query, form=form, kept=kept)
            channel = await self._start_beside(sources, login, task)
        else:
            sql = get_text(body, "sql")
            tab, run = await self._open_tab(sources, login, get_text(body, "tab"), get_text(body, "id", "export"))
            channel = start_run(self._console, tab, run, partial(run_export, tab, sql, form))
        return await answer_when_begun(request, channel, FORMATS[form][1], headers)

    async def answer_chart(self, request: Request) -> Response:
        """Answers a chart's query, in a session of its own."""
        sources, login = self._console.authenticate(request)
        body = await read_object(request, MAX_SQL)
        sql, form = get_text(body, "sql"), get_choice(body, "type", tuple(MEDIA_TYPES))
        kept = self._console.kept.find(login, get_text(body, "result")) if "result" in body else None
        source = get_text(body, "source") if "source" in body else None
        channel = await self._start_beside(
            sources, login, partial(run_chart, sql=sql, form=form, kept=kept, source=source)
        )
        response = await answer_when_begun(request, channel, MEDIA_TYPES[form])
        if form == EXEC and response.status_code == 200:
            channel.close()
            return Response(status_code=204)
        return response

    async def _start_beside(self, sources: Sources, login: ConsoleLogin, task: Callable[..., None]) -> Channel:
        """Starts a task in a session of the login's charts, which is its first argument; the last is the channel."""
        console = self._console
        await login.chart_places.acquire()
        try:
            tab = await console.start(lambda: login.take_chart_session(sources))
            run = tab.begin("chart")
        except BaseException:
            login.chart_places.release()
            raise

        def give_back() -> None:
            try:
                login.give_chart_session(tab)
            finally:
                login.chart_places.release()

        return start_run(console, tab, run, lambda channel: task(tab, channel=channel), give_back)

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
        self._console.kept.drop(login, request.path_params["tab"])
        return Response(status_code=204)

    # ---- documents

    async def list_documents(self, request: Request) -> Response:
        """Answers with the documents that the role sees."""
        return JSONResponse(await self._console.start(self._open_documents(request).list_all))

    async def add_document(self, request: Request) -> Response:
        """Adds a document."""
        documents = self._open_documents(request)
        body = await read_object(request, MAX_BODY)
        kind, name, shared = get_choice(body, "kind", KINDS), get_text(body, "name"), get_flag(body, "shared")
        return JSONResponse(await self._console.start(lambda: documents.add(kind, name, shared, body.get("body"))))

    async def show_document(self, request: Request) -> Response:
        """Answers with a document."""
        documents, identifier = self._open_documents(request), request.path_params["id"]
        return JSONResponse(await self._console.start(lambda: documents.load(identifier)))

    async def change_document(self, request: Request) -> Response:
        """Changes a document."""
        documents, identifier = self._open_documents(request), request.path_params["id"]
        body = await read_object(request, MAX_BODY)
        fields = {name: read(body, name) for name, read in _DOCUMENT_FIELDS.items() if name in body}
        return JSONResponse(await self._console.start(lambda: documents.change(identifier, fields)))

    async def remove_document(self, request: Request) -> Response:
        """Removes a document."""
        documents, identifier = self._open_documents(request), request.path_params["id"]
        await self._console.start(lambda: documents.remove(identifier))
        return Response(status_code=204)

    def _open_documents(self, request: Request) -> Documents:
        sources, login = self._console.authenticate(request)
        role = sources.database.roles()[login.request.user]
        return Documents(sources.database.store, login.request.database, role)


_DOCUMENT_FIELDS: dict[str, Callable[[dict[str, Any], str], object]] = {
    "name": get_text,
    "shared": get_flag,
    "body": dict.get,
}


def _run_text(tab: Tab, text: Text, keep: Callable[[KeptResult], str] | None, channel: Channel) -> None:
    """Runs a text to its end, on this thread."""
    session = tab.session
    try:
        Run(session, tab.recording, text, channel, tab.check, keep).run()
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
        "version": __version__,
        "engine": database.engine.name,
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
        route("mosaic", answers.answer_chart, "POST"),
        route("exports", answers.export, "POST"),
        route("documents", answers.list_documents, "GET"),
        route("documents", answers.add_document, "POST"),
        route("documents/{id}", answers.show_document, "GET"),
        route("documents/{id}", answers.change_document, "PUT"),
        route("documents/{id}", answers.remove_document, "DELETE"),
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
