"""Parked clients: one thread waits for the next messages of many clients, and answers what takes no time.

With a thread for each client that waits by itself, a short statement costs more for the switches between threads, and
for the interpreter's lock, than for its answer. A client whose last messages were all short is parked: its thread
sleeps, and this one reads its messages. The first that may take time wakes the client's own thread, which handles it.

    the client's thread ──park──► parked: answered here ──a longer message, the end, anything else──► its thread again
"""

from __future__ import annotations

import select
import socket
import threading
from typing import Protocol

from gpudb.engine.scheduling import answer_soon

_MOST_ALONE = 64
"""Messages of the same client in a row, without one of another, after which it is parked no more."""


class ParkedClient(Protocol):
    """A client that can be parked; `client_address` is its socket's."""

    client_address: tuple[str, int]

    def answer_parked(self) -> bool:
        """Answers what has arrived, without waiting; False if the client's own thread has to continue."""


class ParkedClients:
    """The clients that wait for their next message. Thread-safe. Its thread begins with the first one."""

    def __init__(self) -> None:
        self._parked: dict[int, tuple[ParkedClient, threading.Lock]] = {}
        self._lock = threading.Lock()
        self._poll: select.epoll | None = None
        self._thread: threading.Thread | None = None
        self._waker: tuple[socket.socket, socket.socket] | None = None
        self._closed = False
        self.messages = 0
        """Short messages that were answered, by all threads together; roughly, since no lock guards it."""

    def list_clients(self) -> list[ParkedClient]:
        """Returns the clients that are parked."""
        with self._lock:
            return [client for client, _ in self._parked.values()]

    def park(self, client: ParkedClient, connection: socket.socket, turn: threading.Lock) -> None:
        """Waits until the calling thread, that of the client, has to continue; at once after `close`.

        `turn` is a lock of the client that the thread holds, now and again when this returns.
        """
        number = connection.fileno()
        with self._lock:
            if self._closed or number < 0:
                return
            poll = self._poll or self._begin()
            self._parked[number] = client, turn
            poll.register(number, select.EPOLLIN)
        turn.acquire()

    def _begin(self) -> select.epoll:
        """Starts the thread."""
        self._poll = poll = select.epoll()
        self._waker = socket.socketpair()
        poll.register(self._waker[0], select.EPOLLIN)
        self._thread = threading.Thread(target=self._serve, args=(poll,), name="parked clients", daemon=True)
        self._thread.start()
        return poll

    def _serve(self, poll: select.epoll) -> None:
        answer_soon()
        alone, last = 0, -1
        try:
            while not self._closed:
                ready = poll.poll()
                # A client that alone is active is answered sooner by its own thread, which needs no poll.
                alone = alone + 1 if len(ready) == 1 and ready[0][0] == last else 0
                for number, _ in ready:
                    found = self._parked.get(number)
                    if found is not None and (not found[0].answer_parked() or alone > _MOST_ALONE):
                        self._release(poll, number)
                self.messages += len(ready)
                last = ready[0][0]
        finally:  # whatever ends this thread: no client may sleep on
            with self._lock:
                self._closed = True
            for number in list(self._parked):
                self._release(poll, number)

    def _release(self, poll: select.epoll, number: int) -> None:
        """Lets the thread of a client continue."""
        with self._lock:
            _, turn = self._parked.pop(number)
            poll.unregister(number)
        turn.release()

    def close(self) -> None:
        """Lets all clients' threads continue, and ends this one; idempotent."""
        with self._lock:
            already, self._closed = self._closed, True
        if already or self._thread is None or self._poll is None or self._waker is None:
            return
        self._waker[1].send(b"\0")
        self._thread.join()
        self._poll.close()
        for each in self._waker:
            each.close()
