"""Frames of results: a byte of the kind, four of the payload's length (little-endian), the payload.

`J` is an event in JSON, `A` a piece of an Arrow IPC stream.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from gpudb.errors import GpudbError
from gpudb.session.mailbox import Notification
from gpudb.session.results import Notice, ResultColumn
from gpudb.types import SqlType

CONTENT_TYPE = "application/x-gpudb-results"


def frame_event(event: Mapping[str, object]) -> bytes:
    """Returns the frame of an event."""
    payload = json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")
    return b"J" + len(payload).to_bytes(4, "little") + payload


def frame_arrow(size: int) -> bytes:
    """Returns the head of a frame of so many bytes of Arrow."""
    return b"A" + size.to_bytes(4, "little")


def describe_columns(columns: tuple[ResultColumn, ...]) -> list[dict[str, object]]:
    """Returns what an event says of the columns of a result."""
    return [
        {
            "name": column.name,
            "type": str(column.type),
            "oid": column.type.oid,
            "align": "right" if _is_number(column.type) else "left",
        }
        for column in columns
    ]


def _is_number(type_: SqlType) -> bool:
    return type_.category == "N" and not type_.name.startswith("reg")


def describe_error(error: GpudbError) -> dict[str, object]:
    """Returns the fields of an error: `position` is a 1-based character of the text, None without one."""
    return {
        "severity": "ERROR",
        "sqlstate": error.sqlstate,
        "message": error.message,
        "detail": error.detail,
        "hint": error.hint,
        "position": error.position or None,
    }


def describe_notice(notice: Notice) -> dict[str, object]:
    """Returns the fields of a notice."""
    return {
        "severity": notice.severity,
        "sqlstate": notice.sqlstate,
        "message": notice.message,
        "detail": notice.detail,
        "hint": notice.hint,
    }


def describe_notification(notification: Notification) -> dict[str, object]:
    """Returns the fields of a notification."""
    return {
        "pid": notification.process_id,
        "channel": notification.channel,
        "payload": notification.payload,
    }
