"""PNG files: their size, and the same picture in fewer bytes. Source: the PNG specification (ISO 15948)."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def read_size(png: bytes) -> tuple[int, int]:
    """Returns the pixels across and down, which the first chunk begins with."""
    width, height = struct.unpack(">II", png[16:24])
    return width, height


def compress_png(png: bytes) -> bytes:
    """Returns the same picture with its pixels packed again at the highest level of zlib."""
    parts, packed = [_SIGNATURE], b""
    for kind, data in _iterate_chunks(png):
        if kind == b"IDAT":
            packed += data
            continue
        if kind == b"IEND":
            parts.append(_write_chunk(b"IDAT", zlib.compress(zlib.decompress(packed), 9)))
        parts.append(_write_chunk(kind, data))
    return b"".join(parts)


def _iterate_chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = len(_SIGNATURE)
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at : at + 8])
        yield kind, png[at + 8 : at + 8 + length]
        at += 12 + length


def _write_chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
