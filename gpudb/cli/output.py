"""Output of commands: human-readable sizes and times."""

from __future__ import annotations


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
