"""One client's socket as two streams: messages in, with a deadline if one is set; gathered bytes out."""

from __future__ import annotations

import contextlib
import socket
import ssl
import time

from buenavista.postgres import BVBuffer

from gpudb.server.wire.messages import ClientGone, check_length

_READ_BUFFER = 1 << 16
_WRITE_BUFFER = 1 << 16
_CHUNK = 1 << 20
_LAST_WORDS_S = 1.0


class DeadlinePassed(ClientGone):
    """The client did not send in time what it was to send."""


class Stream(BVBuffer):
    """buenavista's buffer over a socket: reads are exact (or ClientGone), writes are gathered.

    What has come beyond what was read is kept, so that messages that were sent together cost one call of the system.
    """

    def __init__(self, connection: socket.socket, deadline: float | None = None) -> None:
        super().__init__()
        self.connection = connection
        self._in = b""
        self._at = 0
        self._out = bytearray()
        self._whole: int = socket.MSG_WAITALL  # one call for a long message, however it comes
        self.set_deadline(deadline)

    def set_deadline(self, deadline: float | None) -> None:
        """Until when (`time.monotonic`) everything is to be read; None: for ever."""
        self._deadline = deadline
        if deadline is None:
            self.connection.settimeout(None)

    def message(self) -> tuple[int, bytes] | None:
        """Type and payload of the next message, if all of it has come already; 08P01 where its head is bad."""
        data, at = self._in, self._at
        start = at + 5
        if len(data) < start:
            return None
        kind = data[at]
        end = start + check_length(kind, int.from_bytes(data[at + 1 : start], "big"))
        if len(data) < end:
            return None
        self._at = end
        return kind, data[start:end]

    def read_bytes(self, n: int) -> bytes:
        """Exactly n bytes; memory grows as they come, not as they are announced."""
        at, end = self._at, self._at + n
        held = self._in
        if len(held) >= end:
            self._at = end
            return held[at:end]
        held = held[at:]
        if n < _READ_BUFFER:
            while len(held) < n:
                held += self._receive(_READ_BUFFER)
            self._in, self._at = held, n
            return held[:n]
        self._in, self._at = b"", 0
        if n <= _CHUNK:
            while len(held) < n:
                held += self._receive(n - len(held), self._whole)
            return held
        whole = bytearray(held)
        while len(whole) < n:
            whole += self._receive(min(n - len(whole), _CHUNK), self._whole)
        return bytes(whole)

    def _receive(self, n: int, flags: int = 0) -> bytes:
        """Up to n bytes from the client, at least one."""
        if self._deadline is not None:
            left = self._deadline - time.monotonic()
            if left <= 0:
                raise DeadlinePassed("the client was too slow")
            self.connection.settimeout(left)
        try:
            data = self.connection.recv(n, flags)
        except TimeoutError as error:
            raise DeadlinePassed("the client was too slow") from error
        except OSError as error:
            raise ClientGone(str(error)) from error
        if not data:
            raise ClientGone("the client closed the connection")
        return data

    def read_plain(self, n: int) -> bytes:
        """Exactly n bytes, and not one more from the socket: for what comes before TLS."""
        whole = b""
        while len(whole) < n:
            whole += self._receive(n - len(whole))
        return whole

    def encrypt(self, context: ssl.SSLContext) -> None:
        """Shakes hands; from here on everything is encrypted."""
        try:
            self.connection = context.wrap_socket(self.connection, server_side=True)
        except (OSError, ssl.SSLError) as error:
            raise ClientGone(f"TLS handshake failed: {error}") from error
        self._whole = 0  # TLS takes no flags

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
