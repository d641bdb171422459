"""Answers that a statement's thread fills, and whose client may go at any time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from gpudb.server.http.console.channel import Channel
from gpudb.server.http.console.console import Console
from gpudb.server.http.console.tabs import Tab
from gpudb.server.wire.client_errors import to_client_error

CLIENT_CLOSED = 499
"""The status of an answer that nobody receives."""


class ChannelResponse(StreamingResponse):
    """A streamed answer that tells its channel when the client has gone."""

    def __init__(self, channel: Channel, media_type: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(channel.__aiter__(), media_type=media_type, headers=headers)
        self._channel = channel

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends the answer."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._channel.close()


def start_run(
    console: Console, tab: Tab, run: int, task: Callable[[Channel], None], done: Callable[[], None] = lambda: None
) -> Channel:
    """Runs a task in a tab on a thread, which fills the channel; it is cancelled if the client goes.

    `done` is called, in the event loop, when the task has ended. An exception that the task does not handle ends the
    channel too, and the tab's session if the task has not given it back.
    """
    channel = Channel(partial(console.cancel, tab, run), tab.check)

    def work() -> None:
        try:
            task(channel)
        except BaseException as failure:
            error = to_client_error(failure)
            try:
                tab.fail(run, error)
            finally:
                channel.end(error)

    try:
        started = console.start(work)
    except BaseException as failure:  # no thread could be started
        tab.fail(run, to_client_error(failure))
        done()
        raise
    started.add_done_callback(lambda _: done())
    return channel


async def answer_when_begun(
    request: Request, channel: Channel, media_type: str, headers: dict[str, str] | None = None
) -> Response:
    """Returns the answer once its first bytes are there; raises the error of a task that has none.

    A client that goes before cancels the task.
    """
    first = asyncio.ensure_future(channel.read_first())
    gone = asyncio.ensure_future(_await_disconnect(request))
    try:
        await asyncio.wait({first, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not first.done():
            channel.close()
            return Response(status_code=CLIENT_CLOSED)
        first.result()
    finally:
        first.cancel()
        gone.cancel()
    return ChannelResponse(channel, media_type, headers)


async def _await_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        continue
