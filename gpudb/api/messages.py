"""Errors and notices as text in psql's form, an error with its place in the statement."""

from __future__ import annotations

from gpudb.errors import GpudbError, point_at
from gpudb.session.results import Notice


def format_error(error: GpudbError, statement: str | None = None) -> str:
    """Returns an error in psql's form, with its position in the statement if it is known."""
    lines = [f"ERROR:  {error.sqlstate}: {error.message}"]
    if statement is not None and error.position and error.position <= len(statement) + 1:
        lines += point_at(statement, error.position)
    if error.detail:
        lines.append(f"DETAIL:  {error.detail}")
    if error.hint:
        lines.append(f"HINT:  {error.hint}")
    if error.where:
        lines.append(f"CONTEXT:  {error.where}")
    return "\n".join(lines)


def format_notice(notice: Notice) -> str:
    """Returns a notice in psql's form."""
    lines = [f"{notice.severity}:  {notice.message}"]
    if notice.detail:
        lines.append(f"DETAIL:  {notice.detail}")
    if notice.hint:
        lines.append(f"HINT:  {notice.hint}")
    return "\n".join(lines)
