"""inet, cidr, macaddr and macaddr8.

An inet or cidr is represented inside the engine as bytes in PostgreSQL's order: 2 or 3 for the family, the network (the
address without its host bits), the length of the mask, the whole address. Outside it is its canonical text. A macaddr
or macaddr8 is its canonical text everywhere.

Source: PostgreSQL 16's network.c, inet_net_pton.c, inet_net_ntop.c, mac.c and mac8.c.
"""

from __future__ import annotations

import ipaddress
import re
import struct
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from gpudb.errors import FeatureNotSupported, InvalidText, NumericOutOfRange, SqlError
from gpudb.types import SqlType
from gpudb.values.numbers import SPACE

_FAMILIES = {4: 2, 16: 3}  # bytes of an address → PostgreSQL's family number

Address = tuple[int, int, int]
"""Bytes of the address (4 or 16), the address as an integer, the length of the mask."""


def encode_address(width: int, address: int, length: int) -> bytes:
    """Returns the bytes that represent an address."""
    network = address & make_mask(width, length)
    return bytes([_FAMILIES[width]]) + network.to_bytes(width, "big") + bytes([length]) + address.to_bytes(width, "big")


def decode_address(key: bytes) -> Address:
    """The inverse of `encode_address`."""
    width = 4 if key[0] == 2 else 16
    return width, int.from_bytes(key[2 + width :], "big"), key[1 + width]


def make_mask(width: int, length: int) -> int:
    """Returns an integer whose first `length` bits are set."""
    bits = 8 * width
    return ((1 << length) - 1) << (bits - length)


# ---- text


def parse_network(type_: SqlType, text: str) -> str:
    """Returns the canonical text of an inet or cidr; 22P02."""
    return format_network(type_, parse_network_key(type_, text))


def parse_network_key(type_: SqlType, text: str) -> bytes:
    """Parses an inet or cidr to its bytes; 22P02."""
    cidr = type_.name == "cidr"
    parse = _parse_ipv6 if ":" in text else _parse_cidr_ipv4 if cidr else _parse_ipv4
    parsed = parse(text)
    if parsed is None:
        raise InvalidText(f'invalid input syntax for type {type_.name}: "{text}"')
    width, address, length = parsed
    if cidr and address & ~make_mask(width, length):
        raise InvalidText(f'invalid cidr value: "{text}"', detail="Value has bits set to right of mask.")
    return encode_address(*parsed)


_IPV4 = re.compile(r"(\d+(?:\.\d+)*\.?)(?:/(\d+))?", re.ASCII)
_HEXADECIMAL = re.compile(r"0[xX]([0-9a-fA-F]+)(?:/(\d+))?")


def _parse_octets(text: str) -> list[int] | None:
    numbers = [int(octet[:9]) for octet in text.split(".") if octet]
    return numbers if len(numbers) <= 4 and all(number <= 255 for number in numbers) else None


def _parse_ipv4(text: str) -> Address | None:
    match = _IPV4.fullmatch(text)
    octets = _parse_octets(match[1]) if match is not None else None
    if match is None or octets is None:
        return None
    length = 32 if match[2] is None else int(match[2][:9])
    if (match[2] is None and len(octets) != 4) or length > 32 or length // 8 > len(octets):
        return None
    return 4, _join_octets(octets), length


def _join_octets(octets: list[int]) -> int:
    return int.from_bytes(bytes(octets).ljust(4, b"\0"), "big")


def _parse_cidr_ipv4(text: str) -> Address | None:
    """Parses an IPv4 address; trailing octets are optional, and without a length the network's class determines it."""
    if (match := _HEXADECIMAL.fullmatch(text)) is not None:
        digits = match[1] + "0" * (len(match[1]) % 2)
        octets: list[int] | None = list(bytes.fromhex(digits))
    else:
        match = _IPV4.fullmatch(text)
        octets = _parse_octets(match[1]) if match is not None and match[1][-1] != "." else None
    if match is None or octets is None or len(octets) > 4:
        return None
    if match[2] is not None:
        length = int(match[2][:9])
        return (4, _join_octets(octets), length) if length <= 32 else None
    first = octets[0]
    length = next(size for minimum, size in ((240, 32), (224, 8), (192, 24), (128, 16), (0, 8)) if first >= minimum)
    length = max(length, 8 * len(octets))
    return 4, _join_octets(octets), 4 if length == 8 and first == 224 else length


# PostgreSQL accepts fewer than four IPv4 octets at the end of an IPv6 address.
_SHORT_TAIL = re.compile(r".*:(\d+(?:\.\d+){1,2})", re.ASCII)


def _parse_ipv6(text: str) -> Address | None:
    address, slash, bits = text.partition("/")
    if slash and (not re.fullmatch(r"0|[1-9]\d{0,2}", bits, re.ASCII) or int(bits) > 128):
        return None
    try:
        if "%" in address:
            return None
        if (short_tail := _SHORT_TAIL.fullmatch(address)) is not None:
            address += ".0" * (3 - short_tail[1].count("."))
        return 16, int(ipaddress.IPv6Address(address)), int(bits) if slash else 128
    except ValueError:
        return None


def format_network(type_: SqlType, key: bytes) -> str:
    """Formats an address as the output function does: without the mask's length for the inet of a host."""
    width, _, length = decode_address(key)
    is_host = type_.name != "cidr" and length == 8 * width
    return format_host(key) if is_host else f"{format_host(key)}/{length}"


def format_host(key: bytes) -> str:
    """Formats the address without its mask."""
    width, address, _ = decode_address(key)
    octets = address.to_bytes(width, "big")
    return ".".join(map(str, octets)) if width == 4 else _format_ipv6(octets)


def _format_ipv6(octets: bytes) -> str:
    words = [int.from_bytes(octets[at : at + 2], "big") for at in range(0, 16, 2)]
    start, count = _find_longest_zeros(words)
    embedded = start == 0 and (count == 6 or (count == 5 and words[5] == 0xFFFF))
    parts = [f"{word:x}" for word in words]
    if embedded:
        parts[6:] = [".".join(map(str, octets[12:]))]
    if count < 2:
        return ":".join(parts)
    return ":".join(parts[:start]) + "::" + ":".join(parts[start + count :])


def _find_longest_zeros(words: list[int]) -> tuple[int, int]:
    """Returns start and length of the first longest run of zeros."""
    best = (0, 0)
    at = 0
    while at < len(words):
        end = at
        while end < len(words) and words[end] == 0:
            end += 1
        if end - at > best[1]:
            best = at, end - at
        at = max(end, at + 1)
    return best


_PAIR = r"\s*([0-9a-fA-F]{1,2}+)"
_MACADDR = tuple(
    re.compile(form + rf"[{SPACE}]*", re.ASCII)
    for form in (
        ":".join([r"\s*([0-9a-fA-F]+)"] * 6),
        "-".join([r"\s*([0-9a-fA-F]+)"] * 6),
        *(
            mark.join([_PAIR * size] * (6 // size))
            for size, mark in ((3, ":"), (3, "-"), (2, r"\."), (2, "-"), (6, ""))
        ),
    )
)


def parse_macaddr(text: str) -> str:
    """Returns the canonical text of a macaddr; 22P02, 22003."""
    for pattern in _MACADDR:
        if (match := pattern.fullmatch(text)) is not None:
            octets = [int(digits, 16) for digits in match.groups()]
            if any(octet > 255 for octet in octets):
                raise NumericOutOfRange(f'invalid octet value in "macaddr" value: "{text}"')
            return ":".join(f"{octet:02x}" for octet in octets)
    raise InvalidText(f'invalid input syntax for type macaddr: "{text}"')


def parse_macaddr8(text: str) -> str:
    """Returns the canonical text of a macaddr8; six bytes get ff:fe in the middle. 22P02."""
    octets: list[str] = []
    match = _MACADDR8.fullmatch(text)
    if match is not None and len({*match[1].translate(_NO_DIGITS)}) <= 1:
        octets = [digits.lower() for digits in re.findall("[0-9a-fA-F]{2}", match[1])]
    if len(octets) not in {6, 8}:
        raise InvalidText(f'invalid input syntax for type macaddr8: "{text}"')
    return to_macaddr8(":".join(octets)) if len(octets) == 6 else ":".join(octets)


# Pairs of digits, each followed by an optional separator; PostgreSQL ignores one character at the end.
_MACADDR8 = re.compile(rf"[{SPACE}]*((?:[0-9a-fA-F]{{2}}[:.-]?){{6,8}})(?:[{SPACE}]+|.)?", re.ASCII)
_NO_DIGITS = str.maketrans("", "", "0123456789abcdefABCDEF")


def to_macaddr8(mac: str) -> str:
    """Converts a macaddr to a macaddr8."""
    return f"{mac[:8]}:ff:fe:{mac[9:]}"


def abbreviate(key: bytes) -> str:
    """Abbreviates a cidr by the zeros beyond its mask: `10.1/16`."""
    width, address, length = decode_address(key)
    octets = address.to_bytes(width, "big")
    if width == 4:
        return ".".join(map(str, octets[: max(1, -(-length // 8))])) + f"/{length}"
    raise FeatureNotSupported("abbrev(cidr) of an IPv6 network is not supported")


# ---- binary


def parse_network_binary(type_: SqlType, data: bytes) -> str:
    """Reads inet_recv's and cidr_recv's form; 22P03."""
    name = type_.name
    family, length, _, size = struct.unpack_from("!4B", data)
    width = {2: 4, 3: 16}.get(family)
    if width is None:
        raise _malformed_error(f'invalid address family in external "{name}" value')
    if length > 8 * width:
        raise _malformed_error(f'invalid bits in external "{name}" value')
    if size != width:
        raise _malformed_error(f'invalid length in external "{name}" value')
    if len(data) - 4 < width:
        raise SqlError.of("protocol_violation", "insufficient data left in message")
    if len(data) - 4 > width:
        raise _malformed_error("incorrect binary data format")
    address = int.from_bytes(data[4:], "big")
    if name == "cidr" and address & ~make_mask(width, length):
        message = 'invalid external "cidr" value'
        raise SqlError.of("invalid_binary_representation", message, detail="Value has bits set to right of mask.")
    return format_network(type_, encode_address(width, address, length))


def _malformed_error(message: str) -> SqlError:
    return SqlError.of("invalid_binary_representation", message)


def parse_macaddr_binary(_: SqlType, data: bytes) -> str:
    """Reads macaddr_recv's form."""
    if len(data) != 6:
        raise _malformed_error("incorrect binary data format")
    return data.hex(":")


def parse_macaddr8_binary(_: SqlType, data: bytes) -> str:
    """Reads macaddr8_recv's form, which also accepts six bytes."""
    if len(data) not in {6, 8}:
        raise _malformed_error("incorrect binary data format")
    return to_macaddr8(data.hex(":")) if len(data) == 6 else data.hex(":")


def encode_network(type_: SqlType, key: bytes) -> bytes:
    """Encodes as inet_send and cidr_send do."""
    width, address, length = decode_address(key)
    return bytes([_FAMILIES[width], length, type_.name == "cidr", width]) + address.to_bytes(width, "big")


# ---- columns


def map_distinct(column: pa.Array, convert: Callable[[Any], object], kind: pa.DataType) -> pa.Array:
    """Converts a column of bytes or texts, each distinct one once."""
    encoded = column.dictionary_encode()
    return pa.array([convert(key) for key in encoded.dictionary.to_pylist()], kind).take(encoded.indices)


def format_network_column(type_: SqlType, column: pa.Array) -> pa.StringArray:
    """Formats a column as PostgreSQL does."""
    return map_distinct(column, lambda key: format_network(type_, key), pa.string())
