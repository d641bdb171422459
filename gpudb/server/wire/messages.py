"""Messages from clients: every message of protocol 3.0 parsed from bytes.

Every bound is checked: a malformed message is `ProtocolViolation` (08P01), invalid UTF-8 is 22021.
Source: PostgreSQL 16's protocol.sgml and pqformat.c.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from gpudb.errors import GpudbError
from gpudb.values.binary import decode_utf8

PROTOCOL_3_0 = 196608
CANCEL_REQUEST = 80877102
SSL_REQUEST = 80877103
GSSENC_REQUEST = 80877104

SMALL_MESSAGE = 10_000
LARGE_MESSAGE = (1 << 30) - 1
PASSWORD_MESSAGE = 65_535
_MAX_LENGTHS = {**dict.fromkeys(b"CDEHScX", SMALL_MESSAGE), **dict.fromkeys(b"QFBPdf", LARGE_MESSAGE)}
_INT16, _INT32, _UINT32, _COUNT = (struct.Struct(f"!{layout}") for layout in "hiIH")


class ProtocolViolation(GpudbError):
    """08P01: a message that the protocol does not allow. `fatal` if no later message can be trusted."""

    condition = "protocol_violation"

    def __init__(self, message: str, fatal: bool = False) -> None:
        super().__init__(message)
        self.fatal = fatal


class ClientDisconnected(Exception):
    """The connection ended, or authentication timed out: no client is left to inform."""


class Reader:
    """Reader of one message's payload, with few calls for short statements."""

    __slots__ = ("_at", "_data")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def read_bytes(self, count: int) -> bytes:
        """Reads a number of bytes."""
        end = self._at + count
        if count < 0 or end > len(self._data):
            raise ProtocolViolation("insufficient data left in message")
        self._at, start = end, self._at
        return self._data[start:end]

    def read_integer(self, layout: struct.Struct) -> int:
        """Reads an integer in a struct format of one field."""
        try:
            (value,) = layout.unpack_from(self._data, self._at)
        except struct.error:
            raise ProtocolViolation("insufficient data left in message") from None
        self._at += layout.size
        return int(value)

    def read_array(self, item_format: str) -> tuple[int, ...]:
        """Reads big-endian integers of one format after their count."""
        count = self.read_integer(_COUNT)
        if not count:
            return ()
        item_format = f"!{count}{item_format}"
        return struct.unpack(item_format, self.read_bytes(struct.calcsize(item_format)))

    def read_string(self) -> str:
        """Reads UTF-8 text and the NUL that ends it."""
        start = self._at
        end = self._data.find(b"\0", start)
        if end == -1:
            raise ProtocolViolation("invalid string in message")
        self._at = end + 1
        return decode_utf8(self._data[start:end]) if end > start else ""

    def rest(self) -> bytes:
        """Reads the rest."""
        return self.read_bytes(len(self._data) - self._at)

    def check_end(self) -> None:
        """Checks that everything has been read."""
        if self._at != len(self._data):
            raise ProtocolViolation("invalid message format")


@dataclass(frozen=True, slots=True)
class Parse:
    """Parse: a statement to prepare; OID 0 leaves a parameter's type to be inferred."""

    name: str
    sql: str
    oids: tuple[int, ...]


class Bind(NamedTuple):
    """Bind: parameters for a prepared statement. None is NULL, format 1 is binary."""

    portal: str
    statement: str
    formats: tuple[int, ...]
    values: tuple[bytes | None, ...]
    result_formats: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Target:
    """The object that Describe and Close name: kind S (statement) or P (portal)."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Execute:
    """Execute: a portal to run; limit 0 requests all rows."""

    portal: str
    limit: int


class FunctionCall(NamedTuple):
    """FunctionCall: a function's OID, and its arguments as Bind has parameters; `result_format` is one code."""

    oid: int
    formats: tuple[int, ...]
    values: tuple[bytes | None, ...]
    result_format: int


@dataclass(frozen=True, slots=True)
class Startup:
    """The first message: the protocol's code and the rest."""

    code: int
    rest: bytes


def check_length(kind: int, length: int) -> int:
    """Returns the payload's size for the length field `length`; fatal 08P01 for an invalid one."""
    limit = _MAX_LENGTHS.get(kind)
    if limit is None:
        raise ProtocolViolation(f"invalid frontend message type {kind}", fatal=True)
    if not 4 <= length <= limit:
        raise ProtocolViolation("invalid message length", fatal=True)
    return length - 4


def parse_query(payload: bytes) -> str:
    """Parses a simple query; returns its text."""
    end = len(payload) - 1
    if end >= 0 and payload.find(b"\0") == end:
        return decode_utf8(payload[:end])
    reader = Reader(payload)
    sql = reader.read_string()
    reader.check_end()
    return sql


def parse_parse(payload: bytes) -> Parse:
    """Parses Parse."""
    reader = Reader(payload)
    name, sql = reader.read_string(), reader.read_string()
    oids = reader.read_array("I")
    reader.check_end()
    return Parse(name, sql, oids)


def parse_bind(payload: bytes) -> Bind:
    """Parses Bind."""
    plain = _parse_valid_bind(payload)
    if plain is not None:
        return plain
    reader = Reader(payload)
    portal, statement = reader.read_string(), reader.read_string()
    formats = reader.read_array("h")
    count = reader.read_integer(_COUNT)
    if len(formats) > 1 and len(formats) != count:
        raise ProtocolViolation(f"bind message has {len(formats)} parameter formats but {count} parameters")
    values: list[bytes | None] = []
    for _ in range(count):
        size = reader.read_integer(_INT32)
        values.append(None if size == -1 else reader.read_bytes(size))
    result_formats = reader.read_array("h")
    reader.check_end()
    return Bind(portal, statement, formats, tuple(values), result_formats)


def _parse_valid_bind(payload: bytes) -> Bind | None:
    """Parses a Bind in fewer calls; None for an invalid one."""
    middle = payload.find(b"\0")
    end = payload.find(b"\0", middle + 1)
    if middle < 0 or end < 0:
        return None
    values: list[bytes | None] = []
    try:
        (count,) = _COUNT.unpack_from(payload, end + 1)
        formats: tuple[int, ...] = struct.unpack_from(f"!{count}h", payload, end + 3) if count else ()
        at = end + 3 + 2 * count
        (supplied,) = _COUNT.unpack_from(payload, at)
        at += 2
        for _ in range(supplied):
            (size,) = _INT32.unpack_from(payload, at)
            at += 4
            if size >= 0:
                values.append(payload[at : at + size])
                at += size
            elif size == -1:
                values.append(None)
            else:
                return None
        (count,) = _COUNT.unpack_from(payload, at)
        results: tuple[int, ...] = struct.unpack_from(f"!{count}h", payload, at + 2) if count else ()
    except struct.error:
        return None
    if at + 2 + 2 * count != len(payload) or (len(formats) > 1 and len(formats) != supplied):
        return None
    names = decode_utf8(payload[:middle]), decode_utf8(payload[middle + 1 : end])
    return Bind(*names, formats, tuple(values), results)


@lru_cache(maxsize=256)  # mostly the unnamed one
def parse_target(payload: bytes, message_name: str) -> Target:
    """Parses Describe or Close; `message_name` is `DESCRIBE` or `CLOSE`."""
    reader = Reader(payload)
    kind = reader.read_bytes(1).decode("latin-1")
    name = reader.read_string()
    reader.check_end()
    if kind not in ("S", "P"):
        raise ProtocolViolation(f"invalid {message_name} message subtype {ord(kind)}")
    return Target(kind, name)


@lru_cache(maxsize=256)
def parse_execute(payload: bytes) -> Execute:
    """Parses Execute; a negative limit means no limit."""
    reader = Reader(payload)
    portal, limit = reader.read_string(), reader.read_integer(_INT32)
    reader.check_end()
    return Execute(portal, max(limit, 0))


def parse_function_call(payload: bytes) -> FunctionCall:
    """Parses FunctionCall."""
    reader = Reader(payload)
    oid, formats = reader.read_integer(_UINT32), reader.read_array("h")
    count = reader.read_integer(_COUNT)
    if len(formats) > 1 and len(formats) != count:
        text = f"function call message contains {len(formats)} argument formats but {count} arguments"
        raise ProtocolViolation(text)
    values: list[bytes | None] = []
    for _ in range(count):
        size = reader.read_integer(_INT32)
        if size < -1:
            raise ProtocolViolation(f"invalid argument size {size} in function call message")
        values.append(None if size == -1 else reader.read_bytes(size))
    result_format = reader.read_integer(_INT16)
    reader.check_end()
    return FunctionCall(oid, formats, tuple(values), result_format)


def parse_startup(packet: bytes) -> Startup:
    """Parses a start-up packet without its length."""
    reader = Reader(packet)
    return Startup(reader.read_integer(_UINT32), reader.rest())


def parse_cancel(rest: bytes) -> tuple[int, int]:
    """Parses (process id, secret key) of a cancel request."""
    reader = Reader(rest)
    process_id, key = reader.read_integer(_INT32), reader.read_integer(_UINT32)
    reader.check_end()
    return process_id, key


def parse_parameters(rest: bytes) -> dict[str, str]:
    """Parses the parameters of a start-up packet, the last of equal names; fatal 08P01 without their closing NUL."""
    reader = Reader(rest)
    parameters: dict[str, str] = {}
    try:
        while name := reader.read_string():
            parameters[name] = reader.read_string()
        reader.check_end()
    except ProtocolViolation:
        message = "invalid startup packet layout: expected terminator as last byte"
        raise ProtocolViolation(message, fatal=True) from None
    return parameters


def parse_sasl_initial(payload: bytes) -> tuple[str, bytes]:
    """Parses (mechanism, the client's first message) of SASLInitialResponse."""
    reader = Reader(payload)
    mechanism = reader.read_string()
    size = reader.read_integer(_INT32)
    data = b"" if size == -1 else reader.read_bytes(size)
    reader.check_end()
    return mechanism, data
