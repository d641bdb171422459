"""PostgreSQL's hash functions (Bob Jenkins' lookup3): the same values for text and integers, of 32 and 64 bits."""

from __future__ import annotations

_MASK = 0xFFFFFFFF
_START = 0x9E3779B9 + 3923095
State = tuple[int, int, int]


def hash_bytes(value: bytes) -> int:
    """Returns the hash of bytes as a signed integer of 32 bits."""
    return _signed(_hash_bytes(value, 0)[2], 32)


def hash_bytes_extended(value: bytes, seed: int) -> int:
    """Returns the hash of bytes and a signed seed of 64 bits as a signed integer of 64 bits."""
    return _join(_hash_bytes(value, seed))


def hash_integer(value: int) -> int:
    """Returns the hash of an integer of up to 64 bits as a signed one of 32; equal integers of all types hash alike."""
    return _signed(_hash_integer(value, 0)[2], 32)


def hash_integer_extended(value: int, seed: int) -> int:
    """Returns the hash of an integer of up to 64 bits and a signed seed as a signed integer of 64 bits."""
    return _join(_hash_integer(value, seed))


def _hash_bytes(value: bytes, seed: int) -> State:
    state = _begin(len(value), seed)
    whole = len(value) // 12 * 12
    for start in range(0, whole, 12):
        state = _mix(*_add(state, value[start : start + 12]))
    rest = value[whole:]
    # The last word's lowest byte is kept for the length
    return _final(*_add(state, rest[:8] + b"\0" + rest[8:]))


def _hash_integer(value: int, seed: int) -> State:
    low, high = value & _MASK, value >> 32 & _MASK
    # Those of 32 bits or fewer stay as they are
    low ^= high if value >= 0 else ~high & _MASK
    a, b, c = _begin(4, seed)
    return _final(a + low & _MASK, b, c)


def _begin(length: int, seed: int) -> State:
    start = _START + length & _MASK
    if seed == 0:
        return start, start, start
    return _mix(start + (seed >> 32 & _MASK) & _MASK, start + (seed & _MASK) & _MASK, start)


def _add(state: State, value: bytes) -> State:
    """Adds up to twelve bytes as three words."""
    a, b, c = (
        number + int.from_bytes(value[at : at + 4], "little") & _MASK
        for number, at in zip(state, (0, 4, 8), strict=True)
    )
    return a, b, c


def _mix(a: int, b: int, c: int) -> State:
    a, c = (a - c & _MASK) ^ _rotate(c, 4), c + b & _MASK
    b, a = (b - a & _MASK) ^ _rotate(a, 6), a + c & _MASK
    c, b = (c - b & _MASK) ^ _rotate(b, 8), b + a & _MASK
    a, c = (a - c & _MASK) ^ _rotate(c, 16), c + b & _MASK
    b, a = (b - a & _MASK) ^ _rotate(a, 19), a + c & _MASK
    c, b = (c - b & _MASK) ^ _rotate(b, 4), b + a & _MASK
    return a, b, c


def _final(a: int, b: int, c: int) -> State:
    c = (c ^ b) - _rotate(b, 14) & _MASK
    a = (a ^ c) - _rotate(c, 11) & _MASK
    b = (b ^ a) - _rotate(a, 25) & _MASK
    c = (c ^ b) - _rotate(b, 16) & _MASK
    a = (a ^ c) - _rotate(c, 4) & _MASK
    b = (b ^ a) - _rotate(a, 14) & _MASK
    c = (c ^ b) - _rotate(b, 24) & _MASK
    return a, b, c


def _rotate(value: int, bits: int) -> int:
    return (value << bits | value >> 32 - bits) & _MASK


def _join(state: State) -> int:
    return _signed(state[1] << 32 | state[2], 64)


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> bits - 1 else value
