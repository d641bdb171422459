"""The statement log: a JSON line each, with time, user, process id, duration, rows, SQLSTATE and text."""

from __future__ import annotations

from gpudb.observe.redaction import redact_credentials
from gpudb.server.wire.json_lines import JsonLines
from gpudb.server.wire.recording import ExecutedStatement


class StatementLog(JsonLines):
    """A log of statements, without passwords."""

    def write(self, user: str, process_id: int, statement: ExecutedStatement) -> None:
        """Logs one statement."""
        self.write_line(
            "statement",
            user=user,
            process_id=process_id,
            duration_ms=round(statement.seconds * 1000, 3),
            rows=statement.rows,
            sqlstate=statement.sqlstate,
            statement=redact_credentials(statement.sql, failed=statement.sqlstate != "00000"),
        )
