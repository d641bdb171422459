"""Wakes the thread of an idle client: it waits for the client's next message, or for a call from another thread."""

from __future__ import annotations

import contextlib
import select
import socket
import time

from gpudb.server.wire.stream import Stream


class Waker:
    """A pair of sockets; `wake` may be called from any thread, also after `close`."""

    def __init__(self) -> None:
        self._ours, self._theirs = socket.socketpair()
        self._ours.setblocking(False)
        self._theirs.setblocking(False)

    def wake(self) -> None:
        """Ends the current or the next `wait`."""
        with contextlib.suppress(OSError):  # full: it wakes anyhow; closed: nobody waits
            self._theirs.send(b"\0")

    def wait(self, stream: Stream, deadline: float | None) -> bool:
        """Waits for `wake` until `deadline` (`time.monotonic`); returns False once the client's bytes are there."""
        if stream.has_received:
            return False
        poll = select.poll()
        poll.register(stream.connection, select.POLLIN)
        poll.register(self._ours, select.POLLIN)
        left = None if deadline is None else max(0.0, deadline - time.monotonic()) * 1000
        ready = [descriptor for descriptor, _ in poll.poll(left)]
        if stream.connection.fileno() in ready:
            return False
        with contextlib.suppress(BlockingIOError):
            while self._ours.recv(4096):
                pass
        return True

    def close(self) -> None:
        """Closes both sockets."""
        self._ours.close()
        self._theirs.close()
