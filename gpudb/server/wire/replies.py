"""Messages to clients: every message of protocol 3.0 built as bytes.

Source: PostgreSQL 16's protocol.sgml.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache

from gpudb import pgdata
from gpudb.errors import GpudbError
from gpudb.lru import IdentityKey, LruCache
from gpudb.server.wire.messages import PROTOCOL_3_0
from gpudb.session.results import Notice, ResultColumn
from gpudb.types import SqlType

FATAL, ERROR = "FATAL", "ERROR"


def message(kind: bytes, payload: bytes = b"") -> bytes:
    """Builds a message: type, length, payload."""
    return kind + (len(payload) + 4).to_bytes(4, "big") + payload


AUTHENTICATION_OK = message(b"R", struct.pack("!i", 0))
BIND_COMPLETE = message(b"2")
CLOSE_COMPLETE = message(b"3")
COPY_DONE = message(b"c")
EMPTY_QUERY = message(b"I")
NO_DATA = message(b"n")
PARSE_COMPLETE = message(b"1")
PORTAL_SUSPENDED = message(b"s")

_READY = {status: message(b"Z", status.encode()) for status in "ITE"}


def ready_for_query(status: str) -> bytes:
    """ReadyForQuery with the transaction status I, T or E."""
    return _READY[status]


def authentication_sasl(mechanisms: Iterable[str]) -> bytes:
    """AuthenticationSASL."""
    names = b"".join(name.encode() + b"\0" for name in mechanisms)
    return message(b"R", struct.pack("!i", 10) + names + b"\0")


def authentication_sasl_continue(data: bytes) -> bytes:
    """AuthenticationSASLContinue."""
    return message(b"R", struct.pack("!i", 11) + data)


def authentication_sasl_final(data: bytes) -> bytes:
    """AuthenticationSASLFinal."""
    return message(b"R", struct.pack("!i", 12) + data)


def backend_key_data(process_id: int, key: int) -> bytes:
    """BackendKeyData: the process id and secret key for cancel requests."""
    return message(b"K", struct.pack("!iI", process_id, key))


def negotiate_protocol_version(options: Sequence[str]) -> bytes:
    """NegotiateProtocolVersion: 3.0, and the unknown `_pq_.` options."""
    names = b"".join(option.encode() + b"\0" for option in options)
    return message(b"v", struct.pack("!ii", PROTOCOL_3_0, len(options)) + names)


def parameter_status(name: str, value: str) -> bytes:
    """ParameterStatus."""
    return message(b"S", _text(name) + _text(value))


@lru_cache(maxsize=256)
def command_complete(tag: str) -> bytes:
    """CommandComplete."""
    return message(b"C", _text(tag))


def parameter_description(types: Sequence[SqlType]) -> bytes:
    """ParameterDescription."""
    return message(b"t", struct.pack(f"!H{len(types)}I", len(types), *(type_.oid for type_ in types)))


_descriptions: LruCache[tuple[IdentityKey[tuple[ResultColumn, ...]], tuple[int, ...]], bytes] = LruCache(1000)


def row_description(columns: tuple[ResultColumn, ...], formats: tuple[int, ...]) -> bytes:
    """RowDescription; the formats are by column."""
    # Cached by identity: a statement's columns are always the same object, and hashing them costs more than all else.
    key = IdentityKey(columns), formats
    cached = _descriptions.get(key)
    if cached is not None:
        return cached
    fields = [struct.pack("!H", len(columns))]
    for column, form in zip(columns, formats):
        type_ = column.type
        numbers = (column.table_oid, column.number, type_.oid, _type_length(type_.name), type_.typmod, form)
        fields.append(_text(column.name) + struct.pack("!IhIhih", *numbers))
    encoded = message(b"T", b"".join(fields))
    _descriptions.put(key, encoded)
    return encoded


@cache
def _type_length(name: str) -> int:
    return next((int(row["typlen"]) for row in pgdata.table("type") if row["typname"] == name), -1)


def copy_in_response(binary: bool, width: int) -> bytes:
    """CopyInResponse: rows of `width` columns are expected."""
    return message(b"G", _copy_format(binary, width))


def copy_out_response(binary: bool, width: int) -> bytes:
    """CopyOutResponse: rows of `width` columns follow."""
    return message(b"H", _copy_format(binary, width))


def _copy_format(binary: bool, width: int) -> bytes:
    return struct.pack(f"!bH{width}h", binary, width, *([int(binary)] * width))


def copy_data_header(size: int) -> bytes:
    """Builds the head of a CopyData message whose `size` bytes follow."""
    return b"d" + (size + 4).to_bytes(4, "big")


_OBJECTS = {"schema": "s", "table": "t", "column": "c", "datatype": "d", "constraint": "n"}


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
    fields |= {_OBJECTS[kind]: name for kind, name in error.objects.items()}
    return message(b"E", _report(fields))


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
    return message(b"N", _report(fields))


def _report(fields: Mapping[str, str | None]) -> bytes:
    return b"".join(code.encode() + _text(text) for code, text in fields.items() if text is not None) + b"\0"


def _text(text: str) -> bytes:
    return text.replace("\0", "").encode(errors="replace") + b"\0"
