"""PostgreSQL's binary forms of vectors and queries."""

from __future__ import annotations

import struct

from gpudb.errors import SqlError
from gpudb.text_search.queries import Both, Not, Query, Word, format_query, read_query
from gpudb.text_search.vectors import Place, format_vector, merge_places, read_vector


def encode_vector(text: str) -> bytes:
    """Returns PostgreSQL's binary form of a vector."""
    vector = read_vector(text)
    parts = [struct.pack("!i", len(vector))]
    for word in sorted(vector, key=str.encode):
        parts.append(word.encode() + b"\0" + struct.pack("!H", len(vector[word])))
        parts += [struct.pack("!H", place.weight << 14 | place.position) for place in vector[word]]
    return b"".join(parts)


def decode_vector(data: bytes) -> str:
    """Returns the printed form of a vector in binary; 22P03."""
    try:
        (count,) = struct.unpack_from("!i", data)
        at, vector = 4, {}
        for _ in range(count):
            end = data.index(b"\0", at)
            (places,) = struct.unpack_from("!H", data, end + 1)
            packed = struct.unpack_from(f"!{places}H", data, end + 3)
            vector[data[at:end].decode()] = tuple(Place(each & 0x3FFF, each >> 14) for each in packed)
            at = end + 3 + 2 * places
    except (struct.error, ValueError) as error:
        raise SqlError.of("invalid_binary_representation", "invalid tsvector in binary format") from error
    return format_vector({word: merge_places(places) for word, places in vector.items()})


def encode_query(text: str) -> bytes:
    """Returns PostgreSQL's binary form of a query."""
    query = read_query(text)
    parts: list[bytes] = []

    def add(node: Query) -> None:
        match node:
            case Word():
                parts.append(struct.pack("!BBB", 1, node.weights, node.prefix) + node.lexeme.encode() + b"\0")
            case Not():
                parts.append(struct.pack("!BB", 2, 1))
                add(node.arg)
            case Both():
                code = {"&": 2, "|": 3, "<": 4}[node.op]
                parts.append(struct.pack("!BB", 2, code) + (struct.pack("!H", node.distance) if code == 4 else b""))
                add(node.right)
                add(node.left)

    if query is not None:
        add(query)
    return struct.pack("!I", len(parts)) + b"".join(parts)


def decode_query(data: bytes) -> str:
    """Returns the printed form of a query in binary; 22P03."""
    at = 4

    def take() -> Query:
        nonlocal at
        kind, code = data[at], data[at + 1]
        if kind == 1:
            end = data.index(b"\0", at + 3)
            word = Word(data[at + 3 : end].decode(), code, bool(data[at + 2]))
            at = end + 1
            return word
        at += 2
        if code == 1:
            return Not(take())
        distance = 0
        if code == 4:
            (distance,) = struct.unpack_from("!H", data, at)
            at += 2
        right, left = take(), take()
        return Both({2: "&", 3: "|", 4: "<"}[code], left, right, distance)

    try:
        (count,) = struct.unpack_from("!I", data)
        return format_query(take() if count else None)
    except (struct.error, ValueError, IndexError, KeyError) as error:
        raise SqlError.of("invalid_binary_representation", "malformed tsquery") from error
