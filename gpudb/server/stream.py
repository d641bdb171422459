"""One client's socket as two streams: messages in, with a deadline if one is set; gathered bytes out."""

from __future__ import annotations

import contextlib
import io
import socket
import ssl
import time
from typing import TYPE_CHECKING

from buenavista.postgres import BVBuffer

from gpudb.server.messages import ClientGone

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_READ_BUFFER = 1 << 16
_WRITE_BUFFER = 1 << 16
_CHUNK = 1 << 20
_LAST_WORDS_S = 1.0


class DeadlinePassed(ClientGone):
    """The client did not send in time what it was to send."""


class _Socket(io.RawIOBase):
    """A socket for a buffered reader; each read ends at the deadline (`time.monotonic`), if there is one."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self.deadline: float | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        if self.deadline is not None:
            left = self.deadline - time.monotonic()
            if left <= 0:
                raise DeadlinePassed("the client was too slow")
            self._connection.settimeout(left)
        try:
            return self._connection.recv_into(buffer)
        except TimeoutError as error:
            raise DeadlinePassed("the client was too slow") from error
        except OSError as error:
            raise ClientGone(str(error)) from error


class Stream(BVBuffer):
    """buenavista's buffer over a socket: reads are exact (or ClientGone), writes are gathered."""

    def __init__(self, connection: socket.socket, deadline: float | None = None) -> None:
        self._raw = _Socket(connection)
        super().__init__(io.BufferedReader(self._raw, _READ_BUFFER))
        self.connection = connection
        self._out = bytearray()
        self.set_deadline(deadline)

    def set_deadline(self, deadline: float | None) -> None:
        """Until when everything is to be read; None: for ever."""
        self._raw.deadline = deadline
        if deadline is None:
            self.connection.settimeout(None)

    def read_bytes(self, n: int) -> bytes:
        """Exactly n bytes; memory grows as they come, not as they are announced."""
        data = self._read(min(n, _CHUNK))
        if n <= _CHUNK:
            return data
        whole = bytearray(data)
        while len(whole) < n:
            whole += self._read(min(n - len(whole), _CHUNK))
        return bytes(whole)

    def _read(self, n: int) -> bytes:
        data: bytes = self.stream.read(n)
        if len(data) < n:
            raise ClientGone("the client closed the connection")
        return data

    def read_plain(self, n: int) -> bytes:
        """Exactly n bytes, and not one more from the socket: for what comes before TLS."""
        whole = bytearray()
        while len(whole) < n:
            part = bytearray(n - len(whole))
            count = self._raw.readinto(part)
            if not count:
                raise ClientGone("the client closed the connection")
            whole += part[:count]
        return bytes(whole)

    def encrypt(self, context: ssl.SSLContext) -> None:
        """Shakes hands; from here on everything is encrypted."""
        try:
            self.connection = context.wrap_socket(self.connection, server_side=True)
        except (OSError, ssl.SSLError) as error:
            raise ClientGone(f"TLS handshake failed: {error}") from error
        deadline = self._raw.deadline
        self._raw = _Socket(self.connection)
        self._raw.deadline = deadline
        self.stream = io.BufferedReader(self._raw, _READ_BUFFER)

    def send(self, data: bytes | memoryview) -> None:
        """Hands bytes over, at `flush` at the latest."""
        if len(data) >= _WRITE_BUFFER:
            self.flush()
            self._write(data)
            return
        self._out += data
        if len(self._out) >= _WRITE_BUFFER:
            self.flush()

    def flush(self) -> None:
        """Writes what was handed over."""
        if self._out:
            out, self._out = self._out, bytearray()
            self._write(out)

    def _write(self, data: bytes | bytearray | memoryview) -> None:
        try:
            self.connection.sendall(data)
        except OSError as error:
            raise ClientGone(str(error)) from error

    def stop_reading(self) -> None:
        """Makes a read that waits end, from any thread; what is to be written still goes out."""
        with contextlib.suppress(OSError):
            # not SSLSocket's own shutdown, after which it would write in the clear
            socket.socket.shutdown(self.connection, socket.SHUT_RD)

    def _end_encryption(self) -> None:
        """TLS's own goodbye, without which a client that waits for the end (a cancel request's) sees a failure."""
        if isinstance(self.connection, ssl.SSLSocket):
            self.connection.settimeout(_LAST_WORDS_S)
            with contextlib.suppress(OSError):
                self.connection.unwrap()

    def close(self) -> None:
        """Closes, after the client had a moment to read what was written last."""
        with contextlib.suppress(OSError, ClientGone, ValueError):
            self.flush()
            self._end_encryption()
            socket.socket.shutdown(self.connection, socket.SHUT_WR)
            # data left unread would make the kernel drop what the client has not read yet
            end = time.monotonic() + _LAST_WORDS_S
            while (left := end - time.monotonic()) > 0:
                self.connection.settimeout(left)
                if not self.connection.recv(_READ_BUFFER):
                    break
        with contextlib.suppress(OSError):
            self.connection.close()
