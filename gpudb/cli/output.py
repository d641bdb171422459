"""Output of commands: errors and notices in PostgreSQL's form, human-readable sizes and rates."""

from __future__ import annotations

from gpudb.errors import GpudbError
from gpudb.session.results import Notice


def format_error(error: GpudbError, statement: str | None = None) -> str:
    """Returns an error in psql's form, with its position in the statement if it is known."""
    lines = [f"ERROR:  {error.sqlstate}: {error.message}"]
    if statement is not None and error.position is not None:
        lines += _point_at(statement, error.position)
    if error.detail:
        lines.append(f"DETAIL:  {error.detail}")
    if error.hint:
        lines.append(f"HINT:  {error.hint}")
    if error.where:
        lines.append(f"CONTEXT:  {error.where}")
    return "\n".join(lines)


def _point_at(statement: str, position: int) -> list[str]:
    before = statement[: position - 1]
    number = before.count("\n") + 1
    start = before.rfind("\n") + 1
    line = statement[start:].partition("\n")[0].replace("\t", " ")
    head = f"LINE {number}: "
    column = position - 1 - start
    if column > 60:  # long lines: only the part around the position
        line, column = "..." + line[column - 40 :], 43
    return [head + line[:100], " " * (len(head) + column) + "^"]


def format_notice(notice: Notice) -> str:
    """Returns a notice in psql's form."""
    lines = [f"{notice.severity}:  {notice.message}"]
    if notice.detail:
        lines.append(f"DETAIL:  {notice.detail}")
    if notice.hint:
        lines.append(f"HINT:  {notice.hint}")
    return "\n".join(lines)


def format_size(count: float) -> str:
    """Returns bytes in human-readable form: `3.4 GB`, in powers of 1000."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def format_duration(seconds: float) -> str:
    """Returns a time in human-readable form: `12 ms`, `3.4 s`, `2 min 5 s`."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{int(seconds // 60)} min {int(seconds % 60)} s"
