"""The statement log: a JSON line each, with time, user, process id, duration, rows, SQLSTATE and text."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from types import TracebackType
from typing import TextIO

import structlog

from gpudb.server.wire.conversation import ExecutedStatement

_PASSWORD = re.compile(r"(\bpassword\s+)e?'(?:[^'\\]|''|\\.)*'", re.IGNORECASE)


class StatementLog:
    """A log in a file, or in a stream that the caller owns; passwords are removed. Thread-safe."""

    def __init__(self, target: Path | TextIO) -> None:
        self._owned = isinstance(target, Path)
        self._file = target.open("a", encoding="utf-8") if isinstance(target, Path) else target
        self._lock = threading.Lock()
        self._logger = structlog.wrap_logger(
            structlog.WriteLogger(self._file),
            processors=[
                structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
                structlog.processors.JSONRenderer(ensure_ascii=False),
            ],
            wrapper_class=structlog.BoundLogger,
        )

    def write(self, user: str, process_id: int, statement: ExecutedStatement) -> None:
        """Logs one statement."""
        with self._lock:
            if self._file.closed:
                return
            self._logger.msg(
                "statement",
                user=user,
                process_id=process_id,
                duration_ms=round(statement.seconds * 1000, 3),
                rows=statement.rows,
                sqlstate=statement.sqlstate,
                statement=_PASSWORD.sub(r"\1'…'", statement.sql),
            )
            self._file.flush()

    def close(self) -> None:
        """Closes the file."""
        with self._lock:
            if self._owned:
                self._file.close()

    def __enter__(self) -> StatementLog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
