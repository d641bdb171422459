"""What a running server loads again, on SIGHUP and by pg_reload_conf(): the rules of connections, and its log files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpudb.server.wire.audit_log import AuditLog
from gpudb.server.wire.hba.file import HbaFile
from gpudb.server.wire.statement_log import StatementLog


@dataclass(frozen=True, slots=True)
class Configuration:
    """The parts of a server's configuration that can change while it runs."""

    hba: HbaFile | None = None
    statement_log: StatementLog | None = None
    audit_log: AuditLog | None = None

    def reload(self) -> None:
        """Loads the rules again, which stay as they are if the file is not valid, and reopens the logs."""
        for log in (self.statement_log, self.audit_log):
            if log is not None:
                log.reopen()
        if self.hba is not None:
            succeeded = self.hba.reload()
            if self.audit_log is not None:
                self.audit_log.log_reload(succeeded=succeeded)

    def read_hba_rows(self) -> Sequence[Mapping[str, object]]:
        """Returns the rows of pg_hba_file_rules; F0000 if the file cannot be read."""
        return [] if self.hba is None else self.hba.read_rows()
