"""Network addresses: their text, parts and arithmetic (PostgreSQL's network.c)."""

from __future__ import annotations

from collections.abc import Callable

from gpudb.duckdb.udf.registry import FunctionRegistry
from gpudb.errors import NumericOutOfRange, SqlError
from gpudb.types import SqlType
from gpudb.values.inet import (
    abbreviate,
    decode_address,
    encode_address,
    format_host,
    format_network,
    make_mask,
    parse_macaddr,
    parse_macaddr8,
    parse_network_key,
)

_INET, _CIDR = SqlType("inet"), SqlType("cidr")


def register(registry: FunctionRegistry) -> None:
    """Registers the functions."""
    registry.add_scalar("pg_inet_in", "VARCHAR", "BLOB", lambda text: parse_network_key(_INET, text))
    registry.add_scalar("pg_cidr_in", "VARCHAR", "BLOB", lambda text: parse_network_key(_CIDR, text))
    registry.add_scalar("pg_macaddr_in", "VARCHAR", "VARCHAR", parse_macaddr)
    registry.add_scalar("pg_inet_text", "BLOB", "VARCHAR", lambda key: format_network(_INET, key))
    registry.add_scalar("pg_cidr_text", "BLOB", "VARCHAR", lambda key: format_network(_CIDR, key))
    registry.add_scalar("pg_inet_host", "BLOB", "VARCHAR", format_host)
    registry.add_scalar("pg_inet_masklen", "BLOB", "INTEGER", lambda key: decode_address(key)[2])
    registry.add_scalar("pg_inet_low", "BLOB BOOLEAN", "BLOB", _lowest_key)
    registry.add_scalar("pg_inet_high", "BLOB", "BLOB", _highest_key)
    registry.add_scalar("pg_inet_set_masklen", "BLOB INTEGER", "BLOB", _set_masklen)
    registry.add_scalar("pg_inet_merge", "BLOB BLOB", "BLOB", _merge)
    registry.add_scalar("pg_inet_plus", "BLOB BIGINT", "BLOB", _add)
    registry.add_scalar("pg_inet_minus", "BLOB BIGINT", "BLOB", lambda key, by: _add(key, -by))
    registry.add_scalar("pg_inet_difference", "BLOB BLOB", "BIGINT", _subtract)
    registry.add_scalar("pg_inet_and", "BLOB BLOB", "BLOB", _combine("AND", lambda a, b: a & b))
    registry.add_scalar("pg_inet_or", "BLOB BLOB", "BLOB", _combine("OR", lambda a, b: a | b))
    for name, change in _CHANGES.items():
        registry.add_scalar(f"pg_inet_{name}", "BLOB", "BLOB", _key_function(change))
    registry.add_scalar("pg_cidr_abbrev", "BLOB", "VARCHAR", abbreviate)
    registry.add_scalar("pg_macaddr8_in", "VARCHAR", "VARCHAR", parse_macaddr8)
    registry.add_scalar("pg_mac_not", "VARCHAR", "VARCHAR", lambda mac: _format_mac(~_parse_mac(mac), len(mac)))
    registry.add_scalar(
        "pg_mac_and", "VARCHAR VARCHAR", "VARCHAR", lambda a, b: _format_mac(_parse_mac(a) & _parse_mac(b), len(a))
    )
    registry.add_scalar(
        "pg_mac_or", "VARCHAR VARCHAR", "VARCHAR", lambda a, b: _format_mac(_parse_mac(a) | _parse_mac(b), len(a))
    )
    registry.add_scalar("pg_mac_short", "VARCHAR", "VARCHAR", _to_macaddr)


Change = Callable[[int, int, int], tuple[int, int]]


def _key_function(change: Change) -> Callable[[bytes], bytes]:
    def run(key: bytes) -> bytes:
        width, address, length = decode_address(key)
        address, length = change(width, address, length)
        return encode_address(width, address & make_mask(width, 8 * width), length)

    return run


# From an address's width in bytes, address and mask length to the new address and mask length.
_CHANGES: dict[str, Change] = {
    "network": lambda width, address, length: (address & make_mask(width, length), length),
    "broadcast": lambda width, address, length: (address | ~make_mask(width, length), length),
    "netmask": lambda width, _, length: (make_mask(width, length), 8 * width),
    "hostmask": lambda width, _, length: (~make_mask(width, length), 8 * width),
    "not": lambda _, address, length: (~address, length),
}


def _lowest_key(key: bytes, strict: bool) -> bytes:
    """Returns the least key that a network contains; with `strict` the network itself excluded."""
    width, address, length = decode_address(key)
    network = address & make_mask(width, length)
    return key[:1] + network.to_bytes(width, "big") + bytes([length + strict]) + bytes(width)


def _highest_key(key: bytes) -> bytes:
    """Returns a key above every key that a network contains."""
    width, address, length = decode_address(key)
    last = address | (make_mask(width, 8 * width) & ~make_mask(width, length))
    return key[:1] + last.to_bytes(width, "big") + b"\xff" * (width + 1)


def _set_masklen(key: bytes, length: int) -> bytes:
    width, address, _ = decode_address(key)
    if not -1 <= length <= 8 * width:
        raise SqlError.of("invalid_parameter_value", f"invalid mask length: {length}")
    return encode_address(width, address, 8 * width if length == -1 else length)


def _merge(one: bytes, other: bytes) -> bytes:
    """Returns the smallest network that contains both."""
    (width, first, length), (other_width, second, other_length) = decode_address(one), decode_address(other)
    if width != other_width:
        raise SqlError.of("invalid_parameter_value", "cannot merge addresses from different families")
    common = min(length, other_length, 8 * width - (first ^ second).bit_length())
    return encode_address(width, first & make_mask(width, common), common)


def _combine(word: str, combine: Callable[[int, int], int]) -> Callable[[bytes, bytes], bytes]:
    def run(one: bytes, other: bytes) -> bytes:
        (width, first, length), (other_width, second, other_length) = decode_address(one), decode_address(other)
        if width != other_width:
            raise SqlError.of("invalid_parameter_value", f"cannot {word} inet values of different sizes")
        return encode_address(width, combine(first, second), max(length, other_length))

    return run


def _add(key: bytes, by: int) -> bytes:
    width, address, length = decode_address(key)
    if not 0 <= address + by < 1 << 8 * width:
        raise NumericOutOfRange("result is out of range")
    return encode_address(width, address + by, length)


def _subtract(one: bytes, other: bytes) -> int:
    (width, first, _), (other_width, second, _) = decode_address(one), decode_address(other)
    if width != other_width:
        raise SqlError.of("invalid_parameter_value", "cannot subtract inet values of different sizes")
    if not -(2**63) <= first - second < 2**63:
        raise NumericOutOfRange("result is out of range")
    return first - second


def _parse_mac(mac: str) -> int:
    return int(mac.replace(":", ""), 16)


def _format_mac(bits: int, length: int) -> str:
    """Formats a macaddr or macaddr8 by the length of its text."""
    width = (length + 1) // 3
    return (bits & ((1 << 8 * width) - 1)).to_bytes(width, "big").hex(":")


def _to_macaddr(mac: str) -> str:
    if mac[9:14] != "ff:fe":
        raise NumericOutOfRange("macaddr8 data out of range to convert to macaddr", hint=_SHORT_HINT)
    return f"{mac[:8]}:{mac[15:]}"


_SHORT_HINT = (
    "Only addresses that have FF and FE as values in the 4th and 5th bytes from the left, for example"
    " xx:xx:xx:ff:fe:xx:xx:xx, are eligible to be converted from macaddr8 to macaddr."
)
