"""Settings of what is observed: counted, logged and traced statements."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from gpudb.config.fields import Within


@dataclass(frozen=True)
class ObserveSettings:
    """What the database reads for its query log, and the server for traces and logs."""

    track_statements: bool = True
    """Whether finished statements are counted: for metrics, `pg_stat_statements` and `gpudb_query_log`."""
    query_log_rows: Annotated[int, Within(ge=0, le=10_000_000)] = 100_000
    """How many statements `gpudb_query_log` keeps, also over restarts; 0 is none."""
    query_log_min_duration: Annotated[float, Within(ge=0)] = 0.01
    """Seconds that a statement takes at least to be kept in `gpudb_query_log`; those that fail are always. 0 is all."""
    trace_endpoint: str | None = None
    """Address of a collector that takes OpenTelemetry's traces by OTLP over HTTP, such as
    `http://127.0.0.1:4318/v1/traces`. The default is none: nothing is traced. Needs the extra `otel`."""
    trace_ratio: Annotated[float, Within(ge=0, le=1)] = 0.01
    """Share of statements that are traced, of those without a `traceparent` in a comment."""
    trace_limit: Annotated[int, Within(ge=0)] = 5
    """Statements a second that are traced at most, of those without a `traceparent`; 0 for any number."""
    statement_log: Path | None = None
    """File to which each statement is written with its time, duration and SQLSTATE."""
    audit_log: Path | None = None
    """File to which logins, failed logins, disconnects, and statements on roles and objects are written as JSON."""

    def check_observe(self) -> None:
        """Raises ValueError for settings that do not go together."""
        if self.trace_endpoint is not None and not self.track_statements:
            raise ValueError("trace_endpoint goes with track_statements")
