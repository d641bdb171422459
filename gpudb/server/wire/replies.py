"""Messages to clients: every message of protocol 3.0 built as bytes.

Source: PostgreSQL 16's protocol.sgml.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from gpudb.errors import GpudbError
from gpudb.lru import IdentityKey, LruCache
from gpudb.server.wire.messages import PROTOCOL_3_0
from gpudb.session.mailbox import Notification
from gpudb.session.results import Notice, ResultColumn
from gpudb.types import SqlType, get_type_length
from gpudb.values.credentials import hide_credentials

FATAL, ERROR = "FATAL", "ERROR"


def build_message(kind: bytes, payload: bytes = b"") -> bytes:
    """Builds a message: type, length, payload."""
    return kind + (len(payload) + 4).to_bytes(4, "big") + payload


AUTHENTICATION_OK = build_message(b"R", struct.pack("!i", 0))
BIND_COMPLETE = build_message(b"2")
CLOSE_COMPLETE = build_message(b"3")
COPY_DONE = build_message(b"c")
EMPTY_QUERY = build_message(b"I")
NO_DATA = build_message(b"n")
PARSE_COMPLETE = build_message(b"1")
PORTAL_SUSPENDED = build_message(b"s")

FUNCTION_CALL_NULL = build_message(b"V", struct.pack("!i", -1))

_READY = {status: build_message(b"Z", status.encode()) for status in "ITE"}


def ready_for_query(status: str) -> bytes:
    """ReadyForQuery with the transaction status I, T or E."""
    return _READY[status]


def authentication_sasl(mechanisms: Iterable[str]) -> bytes:
    """AuthenticationSASL."""
    names = b"".join(name.encode() + b"\0" for name in mechanisms)
    return build_message(b"R", struct.pack("!i", 10) + names + b"\0")


def authentication_sasl_continue(data: bytes) -> bytes:
    """AuthenticationSASLContinue."""
    return build_message(b"R", struct.pack("!i", 11) + data)


def authentication_sasl_final(data: bytes) -> bytes:
    """AuthenticationSASLFinal."""
    return build_message(b"R", struct.pack("!i", 12) + data)


def backend_key_data(process_id: int, key: int) -> bytes:
    """BackendKeyData: the process id and secret key for cancel requests."""
    return build_message(b"K", struct.pack("!iI", process_id, key))


def negotiate_protocol_version(options: Sequence[str]) -> bytes:
    """NegotiateProtocolVersion: 3.0, and the unknown `_pq_.` options."""
    names = b"".join(option.encode() + b"\0" for option in options)
    return build_message(b"v", struct.pack("!ii", PROTOCOL_3_0, len(options)) + names)


def parameter_status(name: str, value: str) -> bytes:
    """ParameterStatus."""
    return build_message(b"S", _encode_text(name) + _encode_text(value))


@lru_cache(maxsize=256)
def command_complete(tag: str) -> bytes:
    """CommandComplete."""
    return build_message(b"C", _encode_text(tag))


def parameter_description(types: Sequence[SqlType]) -> bytes:
    """ParameterDescription."""
    return build_message(b"t", struct.pack(f"!H{len(types)}I", len(types), *(type_.oid for type_ in types)))


_descriptions: LruCache[tuple[IdentityKey[tuple[ResultColumn, ...]], tuple[int, ...]], bytes] = LruCache(1000)


def row_description(columns: tuple[ResultColumn, ...], formats: tuple[int, ...]) -> bytes:
    """RowDescription; the formats are by column."""
    # Cached by identity: a statement's columns are always the same object, and hashing them costs more than all else.
    key = IdentityKey(columns), formats
    cached = _descriptions.get(key)
    if cached is not None:
        return cached
    fields = [struct.pack("!H", len(columns))]
    for column, format_code in zip(columns, formats):
        type_ = column.type
        numbers = (column.table_oid, column.number, type_.oid, get_type_length(type_.name), type_.typmod, format_code)
        fields.append(_encode_text(column.name) + struct.pack("!IhIhih", *numbers))
    encoded = build_message(b"T", b"".join(fields))
    _descriptions.put(key, encoded)
    return encoded


def copy_in_response(binary: bool, width: int) -> bytes:
    """CopyInResponse: rows of `width` columns are expected."""
    return build_message(b"G", _build_copy_format(binary, width))


def copy_out_response(binary: bool, width: int) -> bytes:
    """CopyOutResponse: rows of `width` columns follow."""
    return build_message(b"H", _build_copy_format(binary, width))


def _build_copy_format(binary: bool, width: int) -> bytes:
    return struct.pack(f"!bH{width}h", binary, width, *([int(binary)] * width))


def copy_data_header(size: int) -> bytes:
    """Builds the head of a CopyData message whose `size` bytes follow."""
    return b"d" + (size + 4).to_bytes(4, "big")


_OBJECT_FIELDS = {"schema": "s", "table": "t", "column": "c", "datatype": "d", "constraint": "n"}


def error_response(error: GpudbError, severity: str = ERROR) -> bytes:
    """ErrorResponse."""
    fields = {
        "S": severity,
        "V": severity,
        "C": error.sqlstate,
        "M": error.message,
        "D": error.detail,
        "H": error.hint,
        "P": str(error.position) if error.position else None,
        "W": error.where,
        "R": error.routine,
    }
    fields |= {_OBJECT_FIELDS[kind]: name for kind, name in error.objects.items()}
    return build_message(b"E", _build_report(fields))


def notification_response(notification: Notification) -> bytes:
    """NotificationResponse."""
    strings = (notification.channel.encode(), b"\0", notification.payload.encode(), b"\0")
    return build_message(b"A", notification.process_id.to_bytes(4, "big") + b"".join(strings))


def notice_response(notice: Notice) -> bytes:
    """NoticeResponse."""
    fields = {
        "S": notice.severity,
        "V": notice.severity,
        "C": notice.sqlstate,
        "M": notice.message,
        "D": notice.detail,
        "H": notice.hint,
    }
    return build_message(b"N", _build_report(fields))


def _build_report(fields: Mapping[str, str | None]) -> bytes:
    """Builds the fields of a report, whose texts tell no credentials."""
    texts = {
        code: hide_credentials(text) if code in _TEXTS else text for code, text in fields.items() if text is not None
    }
    return b"".join(code.encode() + _encode_text(text) for code, text in texts.items()) + b"\0"


_TEXTS = frozenset("MDHW")


def _encode_text(text: str) -> bytes:
    return text.replace("\0", "").encode(errors="replace") + b"\0"
