"""The log of slow statements, as PostgreSQL's log_min_duration_statement and auto_explain write it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace

from gpudb.engine.protocol import Cancel, Request
from gpudb.errors import GpudbError
from gpudb.observe.redaction import redact_credentials
from gpudb.session.context import SessionState
from gpudb.session.settings.catalog import LOG_PLAN, LOG_STATEMENT, parse_optional_seconds
from gpudb.session.statements.explain import describe_plan
from gpudb.values.credentials import hide_credentials

LOG = logging.getLogger("gpudb.slow_statements")
LOG.setLevel(logging.INFO)


def log_slow(session: SessionState, text: str, seconds: float) -> None:
    """Logs a statement that took so many seconds, and the plan of its last query, each by its own setting."""
    settings = session.settings
    spent = f"duration: {1000 * seconds:.3f} ms"
    shown = redact_credentials(text)
    if seconds >= parse_optional_seconds(settings[LOG_STATEMENT]):
        LOG.info("[%d] %s  statement: %s", session.process_id, spent, shown)
    request, session.running.slow_request = session.running.slow_request, None
    if request is not None and seconds >= parse_optional_seconds(settings[LOG_PLAN]):
        lines = [f"Query Text: {shown}", *map(hide_credentials, _explain(session, request))]
        LOG.info("[%d] %s  plan:\n%s", session.process_id, spent, "\n".join(lines))


def _explain(session: SessionState, request: Request) -> Iterator[str]:
    """Yields the lines of a plan. Its files may be gone already, since its transaction has ended."""
    engine = session.database.engine
    try:
        plan = engine.explain(replace(request, cancel=Cancel()), analyze=False)
    except GpudbError as error:
        yield f"the plan is not known any more: {error.message}"
    else:
        yield from describe_plan(plan)
        yield f"Engine: {engine.name}"
