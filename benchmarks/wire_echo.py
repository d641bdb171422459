"""The least that a server in Python can take: it receives a message and sends the bytes of a fixed answer.

    python -m benchmarks.wire_echo threads|loop

`threads` has a thread for each connection, `loop` one thread for all. Both take each message in one system call and
send its answer in another one, as gpudb does; they parse, look up and record nothing.
"""

from __future__ import annotations

import select
import socket
import sys
import threading

_GREETING = b"R\0\0\0\x08\0\0\0\0" + b"Z\0\0\0\x05I"
_DESCRIPTION = b"T\0\0\0\x21\0\x01?column?\0" + b"\0\0\0\0\0\0\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0"
_ANSWER = _DESCRIPTION + b"D\0\0\0\x0b\0\x01\0\0\0\x011" + b"C\0\0\0\rSELECT 1\0" + b"Z\0\0\0\x05I"
"""What PostgreSQL answers to SELECT 1."""


def serve_by_threads(listener: socket.socket) -> None:
    """Serves each connection in a thread."""
    sys.setswitchinterval(0.0005)  # as gpudb's server does

    def serve(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(_GREETING)
        while connection.recv(65536):
            connection.sendall(_ANSWER)

    while True:
        connection = listener.accept()[0]
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=serve, args=(connection,), daemon=True).start()


def serve_in_loop(listener: socket.socket) -> None:
    """Serves all connections in this thread."""
    poll = select.epoll()
    poll.register(listener, select.EPOLLIN)
    connections: dict[int, socket.socket] = {}
    while True:
        for number, _ in poll.poll():
            connection = connections.get(number)
            if connection is None:
                connection = listener.accept()[0]
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                connection.recv(65536)
                connection.send(_GREETING)
                connection.setblocking(False)
                connections[connection.fileno()] = connection
                poll.register(connection, select.EPOLLIN)
            elif connection.recv(65536):
                connection.send(_ANSWER)
            else:
                poll.unregister(connection)
                del connections[number]
                connection.close()


def main() -> None:
    """Listens on a free port, prints it, and serves until it is ended."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    print(listener.getsockname()[1], flush=True)
    {"threads": serve_by_threads, "loop": serve_in_loop}[sys.argv[1]](listener)


if __name__ == "__main__":
    main()
