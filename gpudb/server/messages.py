"""Every message of protocol 3.0 as a plain function on bytes: parsing what comes, building what goes.

Every bound is checked: a malformed message is `ProtocolViolation` (08P01), text that is no UTF-8 is 22021.
Source: PostgreSQL 16's protocol.sgml and pqformat.c.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from gpudb import pgdata
from gpudb.errors import GpudbError
from gpudb.session.results import Notice, ResultColumn
from gpudb.types import SqlType
from gpudb.values.binary import decode_utf8

PROTOCOL_3_0 = 196608
CANCEL_REQUEST = 80877102
SSL_REQUEST = 80877103
GSSENC_REQUEST = 80877104

SMALL_MESSAGE = 10_000
LARGE_MESSAGE = (1 << 30) - 1
_SMALL = frozenset(b"CDEHScX")
_LARGE = frozenset(b"QFBPdf")
PASSWORD_MESSAGE = 65_535

FATAL, ERROR = "FATAL", "ERROR"


class ProtocolViolation(GpudbError):
    """08P01: a message that the protocol does not allow. `fatal` where nothing after it can be trusted."""

    condition = "protocol_violation"

    def __init__(self, message: str, fatal: bool = False) -> None:
        super().__init__(message)
        self.fatal = fatal


class ClientGone(Exception):
    """The connection ended, or its time for authentication is over: nobody is left to be told."""


# ---------------------------------------------------------------- what clients send


class Reader:
    """Reads the fields of one message's payload."""

    __slots__ = ("_at", "_data")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, count: int) -> bytes:
        """That many bytes."""
        end = self._at + count
        if count < 0 or end > len(self._data):
            raise ProtocolViolation("insufficient data left in message")
        self._at, start = end, self._at
        return self._data[start:end]

    def integer(self, form: str) -> int:
        """A big-endian integer of a struct format."""
        return int(struct.unpack(form, self.take(struct.calcsize(form)))[0])

    def raw_string(self) -> bytes:
        """Bytes up to a NUL, which is read too."""
        end = self._data.find(b"\0", self._at)
        if end == -1:
            raise ProtocolViolation("invalid string in message")
        self._at, start = end + 1, self._at
        return self._data[start:end]

    def string(self) -> str:
        """UTF-8 text up to a NUL."""
        return decode_utf8(self.raw_string())

    def rest(self) -> bytes:
        """All that is left."""
        return self.take(len(self._data) - self._at)

    def end(self) -> None:
        """Checks that nothing is left."""
        if self._at != len(self._data):
            raise ProtocolViolation("invalid message format")


@dataclass(frozen=True, slots=True)
class Parse:
    """A statement to prepare; OID 0 leaves a parameter's type to be inferred."""

    name: str
    sql: str
    oids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Bind:
    """Parameters for a prepared statement: None is NULL, format 1 is binary."""

    portal: str
    statement: str
    formats: tuple[int, ...]
    values: tuple[bytes | None, ...]
    result_formats: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Target:
    """What Describe and Close name: kind S (statement) or P (portal)."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Execute:
    """A portal to run; limit 0 asks for all rows."""

    portal: str
    limit: int


@dataclass(frozen=True, slots=True)
class Startup:
    """The first message: the protocol's code and what follows it."""

    code: int
    rest: bytes


def check_length(kind: int, length: int) -> int:
    """The size of the payload of a message whose length field reads `length`; fatal 08P01 for bad ones."""
    if kind not in _SMALL and kind not in _LARGE:
        raise ProtocolViolation(f"invalid frontend message type {kind}", fatal=True)
    limit = SMALL_MESSAGE if kind in _SMALL else LARGE_MESSAGE
    if not 4 <= length <= limit:
        raise ProtocolViolation("invalid message length", fatal=True)
    return length - 4


def parse_query(payload: bytes) -> str:
    """The text of a simple query."""
    reader = Reader(payload)
    sql = reader.string()
    reader.end()
    return sql


def parse_parse(payload: bytes) -> Parse:
    """Parse."""
    reader = Reader(payload)
    name, sql = reader.string(), reader.string()
    count = reader.integer("!H")
    oids = struct.unpack(f"!{count}I", reader.take(4 * count))
    reader.end()
    return Parse(name, sql, oids)


def parse_bind(payload: bytes) -> Bind:
    """Bind."""
    reader = Reader(payload)
    portal, statement = reader.string(), reader.string()
    formats = _formats(reader)
    count = reader.integer("!H")
    if len(formats) > 1 and len(formats) != count:
        raise ProtocolViolation(f"bind message has {len(formats)} parameter formats but {count} parameters")
    values: list[bytes | None] = []
    for _ in range(count):
        size = reader.integer("!i")
        values.append(None if size == -1 else reader.take(size))
    result_formats = _formats(reader)
    reader.end()
    return Bind(portal, statement, formats, tuple(values), result_formats)


def _formats(reader: Reader) -> tuple[int, ...]:
    count = reader.integer("!H")
    return struct.unpack(f"!{count}h", reader.take(2 * count))


def parse_target(payload: bytes, what: str) -> Target:
    """Describe or Close; `what` is `DESCRIBE` or `CLOSE`."""
    reader = Reader(payload)
    kind = reader.take(1).decode("latin-1")
    name = reader.string()
    reader.end()
    if kind not in ("S", "P"):
        raise ProtocolViolation(f"invalid {what} message subtype {ord(kind)}")
    return Target(kind, name)


def parse_execute(payload: bytes) -> Execute:
    """Execute; a negative limit means no limit."""
    reader = Reader(payload)
    portal, limit = reader.string(), reader.integer("!i")
    reader.end()
    return Execute(portal, max(limit, 0))


def parse_startup(packet: bytes) -> Startup:
    """A start-up packet without its length."""
    reader = Reader(packet)
    return Startup(reader.integer("!I"), reader.rest())


def parse_cancel(rest: bytes) -> tuple[int, int]:
    """(process id, secret key) of a cancel request."""
    reader = Reader(rest)
    process_id, key = reader.integer("!i"), reader.integer("!I")
    reader.end()
    return process_id, key


def parse_parameters(rest: bytes) -> dict[str, str]:
    """The parameters of a start-up packet, the last of equal names; fatal 08P01 without their closing NUL."""
    reader = Reader(rest)
    found: dict[str, str] = {}
    try:
        while name := reader.string():
            found[name] = reader.string()
        reader.end()
    except ProtocolViolation:
        message = "invalid startup packet layout: expected terminator as last byte"
        raise ProtocolViolation(message, fatal=True) from None
    return found


def parse_sasl_initial(payload: bytes) -> tuple[str, bytes]:
    """(mechanism, the client's first message) of SASLInitialResponse."""
    reader = Reader(payload)
    mechanism = reader.string()
    size = reader.integer("!i")
    data = b"" if size == -1 else reader.take(size)
    reader.end()
    return mechanism, data


# ---------------------------------------------------------------- what clients get


def message(kind: bytes, payload: bytes = b"") -> bytes:
    """A message: its type, its length, its payload."""
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
    """BackendKeyData: what a cancel request must bring."""
    return message(b"K", struct.pack("!iI", process_id, key))


def negotiate_protocol_version(options: Sequence[str]) -> bytes:
    """NegotiateProtocolVersion: 3.0, and the `_pq_.` options that are not known."""
    names = b"".join(option.encode() + b"\0" for option in options)
    return message(b"v", struct.pack("!ii", PROTOCOL_3_0, len(options)) + names)


def parameter_status(name: str, value: str) -> bytes:
    """ParameterStatus."""
    return message(b"S", _text(name) + _text(value))


def command_complete(tag: str) -> bytes:
    """CommandComplete."""
    return message(b"C", _text(tag))


def parameter_description(types: Sequence[SqlType]) -> bytes:
    """ParameterDescription."""
    return message(b"t", struct.pack(f"!H{len(types)}I", len(types), *(type_.oid for type_ in types)))


@lru_cache(maxsize=1000)
def row_description(columns: tuple[ResultColumn, ...], formats: tuple[int, ...]) -> bytes:
    """RowDescription; the formats are by column."""
    fields = [struct.pack("!H", len(columns))]
    for column, form in zip(columns, formats):
        type_ = column.type
        numbers = (column.table_oid, column.number, type_.oid, _type_length(type_.name), type_.modifier, form)
        fields.append(_text(column.name) + struct.pack("!IhIhih", *numbers))
    return message(b"T", b"".join(fields))


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
    """The head of a CopyData message of `size` bytes, which are to follow."""
    return b"d" + (size + 4).to_bytes(4, "big")


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
    }
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
