"""A client's socket as two streams: messages in, with an optional deadline; buffered bytes out."""

from __future__ import annotations

import contextlib
import fcntl
import select
import socket
import ssl
import struct
import termios
import threading
import time
from typing import Any

from gpudb.server.wire.buenavista_classes import BVBuffer
from gpudb.server.wire.messages import ClientDisconnected, check_length

_READ_BUFFER = 1 << 16
_WRITE_BUFFER = 1 << 16
_CHUNK = 1 << 20
_DRAIN_S = 1.0
_RESET_AT_CLOSE = struct.pack("ii", 1, 0)


class DeadlinePassed(ClientDisconnected):
    """The client missed the deadline."""


class Stream(BVBuffer):
    """buenavista's buffer over a socket: reads are exact (or ClientGone), writes are buffered.

    Bytes received beyond those requested are kept, so that messages sent together cost one system call. Both directions
    are counted, without encryption.
    """

    def __init__(self, connection: socket.socket, deadline: float | None = None) -> None:
        super().__init__()
        self.connection = connection
        self._stopped = threading.Event()
        self._in = b""
        self._at = 0
        self._out = bytearray()
        self._flags: int = socket.MSG_WAITALL  # one call for a long message, however it arrives
        self._write_started = 0.0
        self._stall = (0.0, 0), 0.0
        self.is_aborted = False
        self.received_bytes = self.sent_bytes = 0
        self.set_deadline(deadline)

    def set_deadline(self, deadline: float | None) -> None:
        """Deadline of all reads (`time.monotonic`); None for none."""
        self._deadline = deadline
        if deadline is None:
            self.connection.settimeout(None)

    def read_message(self) -> tuple[int, bytes] | None:
        """Returns type and payload of the next message, if it has been received whole; 08P01 for an invalid head."""
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
        """Reads exactly n bytes; memory grows as they arrive, not as they are announced."""
        at, end = self._at, self._at + n
        received = self._in
        if len(received) >= end:
            self._at = end
            return received[at:end]
        received = received[at:]
        if n < _READ_BUFFER:
            while len(received) < n:
                received += self._receive(_READ_BUFFER)
            self._in, self._at = received, n
            return received[:n]
        self._in, self._at = b"", 0
        if n <= _CHUNK:
            while len(received) < n:
                received += self._receive(n - len(received), self._flags)
            return received
        message = bytearray(received)
        while len(message) < n:
            message += self._receive(min(n - len(message), _CHUNK), self._flags)
        return bytes(message)

    def wait_message(self) -> tuple[int, bytes]:
        """Returns type and payload of the next message, whenever it comes; 08P01 for an invalid head."""
        if self._at == len(self._in):
            self._in, self._at = self._receive(_READ_BUFFER), 0
            message = self.read_message()
            if message is not None:
                return message
        head = self.read_bytes(5)
        return head[0], self.read_bytes(check_length(head[0], int.from_bytes(head[1:], "big")))

    def _receive(self, n: int, flags: int = 0) -> bytes:
        """Reads up to n bytes from the client, at least one."""
        if self._deadline is not None:
            remaining = self._deadline - time.monotonic()
            if remaining <= 0:
                raise DeadlinePassed("the client was too slow")
            self.connection.settimeout(remaining)
        try:
            data = self.connection.recv(n, flags)
        except TimeoutError as error:
            raise DeadlinePassed("the client was too slow") from error
        except OSError as error:
            raise ClientDisconnected(str(error)) from error
        if not data:
            raise ClientDisconnected("the client closed the connection")
        self.received_bytes += len(data)
        return data

    def read_plain(self, n: int) -> bytes:
        """Reads exactly n bytes and none more from the socket, as needed before TLS."""
        received = b""
        while len(received) < n:
            received += self._receive(n - len(received))
        return received

    def encrypt(self, context: ssl.SSLContext) -> None:
        """Performs the TLS handshake; from here on everything is encrypted."""
        try:
            # first the socket, so that `stop_reading` ends a handshake too
            self.connection = encrypted = context.wrap_socket(
                self.connection, server_side=True, do_handshake_on_connect=False
            )
            encrypted.do_handshake()
        except (OSError, ssl.SSLError) as error:
            raise ClientDisconnected(f"TLS handshake failed: {error}") from error
        self._flags = 0  # TLS accepts no flags

    @property
    def is_encrypted(self) -> bool:
        """Whether TLS encrypts the connection."""
        return isinstance(self.connection, ssl.SSLSocket)

    def get_common_name(self) -> str | None:
        """Returns the common name of the client's certificate, which TLS has verified; None without one."""
        certificate = self.connection.getpeercert() if isinstance(self.connection, ssl.SSLSocket) else None
        subject: Any = (certificate or {}).get("subject", ())
        names = [value for part in subject for name, value in part if name == "commonName"]
        return names[0] if names and "\0" not in names[0] else None

    @property
    def has_received(self) -> bool:
        """Whether bytes of the client have been received and not been read."""
        if len(self._in) > self._at:
            return True
        return isinstance(self.connection, ssl.SSLSocket) and self.connection.pending() > 0

    def wait_for_more(self, seconds: float) -> bool:
        """Returns whether bytes of the client are there, or come within some seconds."""
        if self.has_received:
            return True
        poll = select.poll()
        poll.register(self.connection, select.POLLIN)
        return bool(poll.poll(seconds * 1000))

    def pause(self, seconds: float) -> None:
        """Waits; `stop_reading` ends the wait."""
        self._stopped.wait(seconds)

    def send(self, data: bytes | memoryview) -> None:
        """Buffers bytes, to be written by `flush` at the latest."""
        if len(data) >= _WRITE_BUFFER:
            self.flush()
            self._write(data)
            return
        self._out += data
        if len(self._out) >= _WRITE_BUFFER:
            self.flush()

    def flush(self) -> None:
        """Writes the buffered bytes."""
        if self._out:
            out, self._out = self._out, bytearray()
            self._write(out)

    def _write(self, data: bytes | bytearray | memoryview) -> None:
        self._write_started = time.monotonic()
        self.sent_bytes += len(data)
        try:
            self.connection.sendall(data)
        except OSError as error:
            raise ClientDisconnected(str(error)) from error
        finally:
            self._write_started = 0.0

    def limit_writes(self) -> None:
        """Limits each further write, so that a client that takes nothing cannot hold up the end."""
        self._deadline = None
        with contextlib.suppress(OSError):
            self.connection.settimeout(_DRAIN_S)

    def measure_stall(self, now: float) -> float:
        """Returns the seconds for which a write has waited while the client took no bytes; 0 if none waits.

        Called again and again, from another thread: the time counts from the first call that saw the same bytes wait.
        """
        started = self._write_started
        if not started:
            return 0.0
        try:
            (unsent,) = struct.unpack("i", fcntl.ioctl(self.connection.fileno(), termios.TIOCOUTQ, b"\0\0\0\0"))
        except (OSError, ValueError):  # closed meanwhile
            return 0.0
        if self._stall[0] != (started, unsent):
            self._stall = (started, unsent), now
        return now - self._stall[1]

    def is_left(self) -> bool:
        """Returns whether the client has closed its side; from any thread, without reading what it has sent."""
        poll = select.poll()
        try:
            poll.register(self.connection, select.POLLRDHUP)
            return bool(poll.poll(0))
        except (OSError, ValueError):  # closed meanwhile
            return False

    def abort(self) -> None:
        """Ends the connection at once, from any thread: a write that waits fails, and unsent bytes are dropped."""
        self.is_aborted = True
        with contextlib.suppress(OSError):
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_AT_CLOSE)
            socket.socket.shutdown(self.connection, socket.SHUT_RDWR)

    def stop_reading(self) -> None:
        """Ends a waiting read, from any thread; buffered bytes can still be written."""
        self._stopped.set()
        with contextlib.suppress(OSError):
            # not SSLSocket's own shutdown, after which it would write in the clear
            socket.socket.shutdown(self.connection, socket.SHUT_RD)

    def _end_encryption(self) -> None:
        """Sends TLS's close_notify, without which a client that waits for the end (of a cancel request) sees a
        failure.
        """
        if isinstance(self.connection, ssl.SSLSocket):
            self.connection.settimeout(_DRAIN_S)
            with contextlib.suppress(OSError):
                self.connection.unwrap()

    def close(self) -> None:
        """Closes, after a moment for the client to read the last bytes."""
        with contextlib.suppress(OSError, ClientDisconnected, ValueError):
            if self.is_aborted:
                raise ClientDisconnected("the connection was aborted")
            self.limit_writes()
            self.flush()
            self._end_encryption()
            socket.socket.shutdown(self.connection, socket.SHUT_WR)
            # unread data would make the kernel discard what the client has not read yet
            end = time.monotonic() + _DRAIN_S
            while (remaining := end - time.monotonic()) > 0:
                self.connection.settimeout(remaining)
                if not self.connection.recv(_READ_BUFFER):
                    break
        with contextlib.suppress(OSError):
            self.connection.close()
