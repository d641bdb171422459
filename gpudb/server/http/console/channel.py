"""A channel of bytes from a thread that runs a statement to the event loop that sends them."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable

MAX_WAITING = 4 << 20
"""Bytes that may wait for the client; beyond them the statement waits."""


_CHECK_S = 0.5
"""Seconds between two looks whether a statement that waits for its client was cancelled."""


class ClientGone(Exception):
    """The client takes no more of the answer."""


class Channel:
    """Bytes on their way. A thread calls `put` and `end`; the event loop that made it iterates and calls `close`."""

    def __init__(self, on_gone: Callable[[], None] = lambda: None, check: Callable[[], None] = lambda: None) -> None:
        """`on_gone` is called, in the event loop, when the client goes before the end.

        `check` raises if the statement was cancelled while it waits for a client that reads nothing.
        """
        self._loop = asyncio.get_running_loop()
        self._on_gone, self._check = on_gone, check
        self._changed = threading.Condition()
        self._arrived = asyncio.Event()
        self._pieces: list[bytes | memoryview] = []
        self._waiting = 0
        self._is_ended = self._is_closed = False
        self._error: BaseException | None = None

    def put(self, *pieces: bytes | memoryview) -> None:
        """Queues pieces; waits while too many bytes wait for the client. Raises ClientGone, and what `check` raises."""
        with self._changed:
            while self._waiting > MAX_WAITING and not self._is_closed:
                self._changed.wait(_CHECK_S)
                self._check()
            if self._is_closed:
                raise ClientGone
            self._pieces += pieces
            self._waiting += sum(map(len, pieces))
        self._wake()

    def put_now(self, piece: bytes) -> None:
        """Queues a small piece without waiting for the client, as that a statement was cancelled."""
        with self._changed:
            self._pieces.append(piece)
            self._waiting += len(piece)
        self._wake()

    def finish(self, piece: bytes) -> None:
        """Queues the last piece, whether the client still takes it or not, and ends."""
        with self._changed:
            self._pieces.append(piece)
        self.end()

    def end(self, error: BaseException | None = None) -> None:
        """Says that nothing follows; with an error the answer breaks off."""
        with self._changed:
            self._is_ended, self._error = True, error
        self._wake()

    def _wake(self) -> None:
        with contextlib.suppress(RuntimeError):  # the event loop has ended, and with it the client
            self._loop.call_soon_threadsafe(self._arrived.set)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            with self._changed:
                pieces, self._pieces, self._waiting = self._pieces, [], 0
                is_ended = self._is_ended
                self._changed.notify_all()
            if pieces:
                yield b"".join(pieces)
            if is_ended:
                if self._error is not None:
                    raise self._error
                return

    async def read_first(self) -> bool:
        """Waits until there are bytes or the end; raises the error of an answer without bytes. False if it is empty."""
        await self._arrived.wait()
        with self._changed:
            if not self._pieces and self._error is not None:
                self._is_closed = True
                raise self._error
            return bool(self._pieces)

    def close(self) -> None:
        """Says that the client takes no more; idempotent."""
        with self._changed:
            if self._is_closed:
                return
            self._is_closed = True
            is_ended = self._is_ended
            self._pieces.clear()
            self._changed.notify_all()
        if not is_ended:
            self._on_gone()
