"""LIKE over raw text: encodes patterns as bytes, with bytes that UTF-8 never uses as wildcards, and matches them.

kernels/text.cuh matches one row on a GPU.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

ANY_CHARACTER, ANY_SEQUENCE = 0xFE, 0xFF
"""Wildcards for one character, and for any number of them."""


def encode_pattern(pattern: str) -> bytes | None:
    """Encodes a LIKE pattern, whose escape is the backslash; None if it ends with its escape."""
    made = bytearray()
    position = 0
    while position < len(pattern):
        each = pattern[position]
        if each == "\\":
            position += 1
            if position == len(pattern):
                return None
            made += pattern[position].encode()
        elif each == "%":
            if not made or made[-1] != ANY_SEQUENCE:
                made.append(ANY_SEQUENCE)
        elif each == "_":
            made.append(ANY_CHARACTER)
        else:
            made += each.encode()
        position += 1
    return bytes(made)


LIKE_FUNCTIONS: Mapping[str, tuple[str, bool, bool]] = {
    "textlike": ("like", False, False),
    "like": ("like", False, False),
    "textnlike": ("like", False, True),
    "notlike": ("like", False, True),
    "texticlike": ("like", True, False),
    "texticnlike": ("like", True, True),
    "texteq": ("same", False, False),
    "textne": ("same", False, True),
    "starts_with": ("begins", False, False),
}
"""Functions of a text and a constant: the constant's kind, whether case is ignored, whether the result is negated."""


def encode_constant(how: str, text: str, *, fold: bool) -> bytes | None:
    """Encodes the pattern of such a function; None where it cannot be encoded."""
    made = (
        encode_pattern(text)
        if how == "like"
        else encode_literal(text) + (bytes([ANY_SEQUENCE]) if how == "begins" else b"")
    )
    return lowercase(made) if fold and made is not None else made


def encode_literal(text: str) -> bytes:
    """Encodes the pattern that matches one text."""
    return text.encode()


def lowercase(pattern: bytes) -> bytes | None:
    """Lowercases an ASCII pattern; None for another."""
    if any(128 <= each < ANY_CHARACTER for each in pattern):
        return None
    return bytes(each + 32 if 65 <= each <= 90 else each for each in pattern)


def match_texts(texts: Sequence[bytes], pattern: bytes, *, fold: bool) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Returns which texts match a pattern."""
    pieces = {ANY_SEQUENCE: b".*", ANY_CHARACTER: b"(?:[\x00-\x7f]|[\xc0-\xff][\x80-\xbf]*)"}
    made = b"".join(pieces.get(each) or re.escape(bytes([each])) for each in pattern)
    like = re.compile(made, re.S).fullmatch
    found = (like(each.lower() if fold else each) is not None for each in texts)
    return np.fromiter(found, bool, len(texts))
