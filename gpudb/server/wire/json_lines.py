"""A log file of JSON lines, readable by its owner alone, which can be reopened after it was moved away."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from pathlib import Path
from types import TracebackType
from typing import Self, TextIO

from gpudb.errors import SqlError

_LOG = logging.getLogger(__name__)
_MODE = 0o600


class JsonLines:
    """A log in a file, or in a stream that the caller owns. Each line has the time, UTC. Thread-safe."""

    def __init__(self, target: Path | TextIO) -> None:
        self._path = target if isinstance(target, Path) else None
        self._lock = threading.Lock()
        self._use(_open(target) if isinstance(target, Path) else target)

    def _use(self, file: TextIO) -> None:
        import structlog  # only servers with a log need it

        self._file = file
        self._logger = structlog.wrap_logger(
            structlog.WriteLogger(file),
            processors=[
                structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
                structlog.processors.JSONRenderer(ensure_ascii=False),
            ],
            wrapper_class=structlog.BoundLogger,
        )

    def write_line(self, event: str, **fields: object) -> None:
        """Writes a line, unless the log is closed; a full disk is logged, and stops no statement."""
        with self._lock:
            if self._file.closed:
                return
            try:
                self._logger.msg(event, **fields)
                self._file.flush()
            except OSError as error:
                _LOG.error('could not write to log file "%s": %s', self._path, error)

    def reopen(self) -> None:
        """Opens the file of its path again: a program that rotates logs has moved the old one away."""
        with self._lock:
            if self._path is None or self._file.closed:
                return
            old = self._file
            try:
                self._use(_open(self._path))
            except SqlError as error:
                _LOG.error("%s; the old file stays open", error.message)
                return
            with contextlib.suppress(OSError):
                old.close()

    def close(self) -> None:
        """Closes the file."""
        with self._lock:
            if self._path is not None:
                with contextlib.suppress(OSError):
                    self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _open(path: Path) -> TextIO:
    """Opens a log to append to it; others lose the access that an older file may give them. F0000."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, _MODE)
    except OSError as error:
        message = f'could not open log file "{path}": {error.strerror}'
        raise SqlError.of("config_file_error", message) from error
    if os.fstat(descriptor).st_mode & 0o077 and path.is_file():
        os.fchmod(descriptor, _MODE)
    return os.fdopen(descriptor, "a", encoding="utf-8")
