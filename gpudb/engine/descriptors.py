"""Hands file descriptors, such as those of a GPU's memory, to other processes of this host's user.

A descriptor's key is known to those who were told it. The socket lies in a folder that only this user may enter.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import socket
import tempfile
import threading
from pathlib import Path

_KEY_BYTES = 32
_PREFIX = "gpudb-descriptors-"
_SECONDS = 10.0
"""How long either side waits for the other's bytes."""


class DescriptorServer:
    """Hands out descriptors by key until they are withdrawn; thread-safe. It listens from the first one on."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._descriptors: dict[bytes, int] = {}
        self._listening: socket.socket | None = None
        self._folder = ""

    def offer(self, descriptor: int) -> tuple[str, str]:
        """Hands out a descriptor, which belongs to the server now; returns the socket's path and the key.

        OSError where there can be no socket: then it is closed.
        """
        key = secrets.token_bytes(_KEY_BYTES)
        with self._lock:
            try:
                if self._listening is None:
                    self._listen()
            except OSError:
                os.close(descriptor)
                raise
            self._descriptors[key] = descriptor
        return str(Path(self._folder) / "descriptors"), key.hex()

    def withdraw(self, key: str) -> None:
        """Hands it out no more; those who have it keep it."""
        with self._lock:
            descriptor = self._descriptors.pop(bytes.fromhex(key), None)
        if descriptor is not None:
            os.close(descriptor)

    def close(self) -> None:
        """Withdraws all, and ends."""
        for key in list(self._descriptors):
            self.withdraw(key.hex())
        with self._lock:
            listening, self._listening = self._listening, None
        if listening is not None:
            with contextlib.suppress(OSError):
                listening.shutdown(socket.SHUT_RDWR)  # wakes the thread
            listening.close()
            shutil.rmtree(self._folder, ignore_errors=True)

    def _listen(self) -> None:
        _remove_stale_folders()
        self._folder = tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-")
        listening = socket.socket(socket.AF_UNIX)
        try:
            listening.bind(str(Path(self._folder) / "descriptors"))
            listening.listen()
        except OSError:
            listening.close()
            shutil.rmtree(self._folder, ignore_errors=True)
            raise
        self._listening = listening
        threading.Thread(target=self._serve, args=[listening], name="descriptors", daemon=True).start()

    def _serve(self, listening: socket.socket) -> None:
        while True:
            try:
                asking, _ = listening.accept()
            except OSError:
                return
            # One that asks for nothing keeps no other waiting.
            threading.Thread(target=self._answer, args=[asking], name="descriptor", daemon=True).start()

    def _answer(self, asking: socket.socket) -> None:
        with asking, contextlib.suppress(OSError):
            asking.settimeout(_SECONDS)
            key = _receive_key(asking)
            with self._lock:
                descriptor = self._descriptors.get(key)
                if descriptor is not None:
                    socket.send_fds(asking, [b"1"], [descriptor])


def _remove_stale_folders() -> None:
    """Removes the folders of processes that were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        try:
            os.kill(int(folder.name.removeprefix(_PREFIX).partition("-")[0]), 0)
        except ProcessLookupError:
            shutil.rmtree(folder, ignore_errors=True)
        except (ValueError, PermissionError):
            continue


def _receive_key(asking: socket.socket) -> bytes:
    key = b""
    while len(key) < _KEY_BYTES and (more := asking.recv(_KEY_BYTES - len(key))):
        key += more
    return key


def receive_descriptor(path: str, key: str) -> int:
    """Returns an own copy of the descriptor that a process of this host hands out at `path` under a key.

    OSError where there is none, or it is another user's.
    """
    with socket.socket(socket.AF_UNIX) as asking:
        asking.settimeout(_SECONDS)
        asking.connect(path)
        asking.sendall(bytes.fromhex(key))
        _, descriptors, _, _ = socket.recv_fds(asking, 1, 1)
    if not descriptors:
        raise OSError("the memory is not there any more")
    return descriptors[0]
