"""What the logs of a server have of one client's statements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from gpudb.server.wire.audit_log import AuditLog
from gpudb.server.wire.hba.matching import ConnectionRequest
from gpudb.server.wire.recording import ExecutedStatement
from gpudb.server.wire.statement_log import StatementLog
from gpudb.session.interfaces import DatabaseInterface


class LogServices(Protocol):
    """The logs of a server; None where it has none."""

    database: DatabaseInterface
    statement_log: StatementLog | None
    audit_log: AuditLog | None


def choose_statement_log(
    server: LogServices, request: ConnectionRequest, process_id: int
) -> Callable[[ExecutedStatement], None] | None:
    """Returns the function that logs the statements of a client's session; None without logs."""
    log, audit_log = server.statement_log, server.audit_log
    if log is None and audit_log is None:
        return None
    role = server.database.role(request.user, request.database)
    audits_everything = role is not None and role.settings.get("gpudb.audit") == "all"

    def log_statement(statement: ExecutedStatement) -> None:
        if log is not None:
            log.write(request.user, process_id, statement)
        if audit_log is not None:
            audit_log.log_statement(request, process_id, statement, everything=audits_everything)

    return log_statement
