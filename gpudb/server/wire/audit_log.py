"""The audit log: JSON lines of logins, failed logins, disconnects, and changes of roles and objects.

Statements that read or write rows are logged too for roles with `ALTER ROLE … SET "gpudb.audit" = 'all'`.
"""

from __future__ import annotations

from gpudb.errors import GpudbError
from gpudb.observe.redaction import redact_credentials
from gpudb.server.wire.hba.matching import ConnectionRequest
from gpudb.server.wire.json_lines import JsonLines
from gpudb.server.wire.recording import ExecutedStatement
from gpudb.server.wire.statement_classes import DDL, ROLE, classify_statements

_ALWAYS = frozenset({DDL, ROLE})


class AuditLog(JsonLines):
    """The audit log in a file, without passwords."""

    def log_login(self, request: ConnectionRequest, process_id: int, method: str) -> None:
        """Logs a client that has authenticated by a method and whose session is open."""
        self.write_line("login", **_describe(request), process_id=process_id, method=method)

    def log_failed_login(self, request: ConnectionRequest, error: GpudbError) -> None:
        """Logs a client that was not let in, and why."""
        self.write_line("login_failed", **_describe(request), sqlstate=error.sqlstate, message=error.message)

    def log_disconnect(self, request: ConnectionRequest, process_id: int, seconds: float) -> None:
        """Logs the end of a session that lasted for `seconds`."""
        self.write_line("disconnect", **_describe(request), process_id=process_id, duration_s=round(seconds, 3))

    def log_reload(self, *, succeeded: bool) -> None:
        """Logs that the rules of connections were loaded again."""
        self.write_line("reload", succeeded=succeeded)

    def log_statement(
        self, request: ConnectionRequest, process_id: int, statement: ExecutedStatement, *, everything: bool
    ) -> None:
        """Logs a statement if it changes roles or objects; with `everything`, any statement."""
        classes = classify_statements(statement.sql)
        if not everything and _ALWAYS.isdisjoint(classes):
            return
        self.write_line(
            "statement",
            **_describe(request),
            process_id=process_id,
            classes=classes,
            sqlstate=statement.sqlstate,
            rows=statement.rows,
            statement=redact_credentials(statement.sql, failed=statement.sqlstate != "00000"),
        )


def _describe(request: ConnectionRequest) -> dict[str, object]:
    described: dict[str, object] = {
        "user": request.user,
        "database": request.database,
        "address": request.host,
        "encrypted": request.encrypted,
    }
    return described if request.common_name is None else {**described, "certificate": request.common_name}
