"""LIKE over texts as they are: patterns as bytes that no UTF-8 has for wildcards, and what they mean, on the host.

kernels/text.cuh has the same for one row on a GPU.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

ONE, ANY = 0xFE, 0xFF
"""One character, and any number of them."""


def encoded(pattern: str) -> bytes | None:
    """A LIKE pattern as bytes, with the backslash as its escape; None for one that ends with its escape."""
    made = bytearray()
    place = 0
    while place < len(pattern):
        each = pattern[place]
        if each == "\\":
            place += 1
            if place == len(pattern):
                return None
            made += pattern[place].encode()
        elif each == "%":
            if not made or made[-1] != ANY:
                made.append(ANY)
        elif each == "_":
            made.append(ONE)
        else:
            made += each.encode()
        place += 1
    return bytes(made)


CALLS: Mapping[str, tuple[str, bool, bool]] = {
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
"""Functions of a text and a constant: what the constant is, whether case is ignored, whether the answer is negated."""


def pattern_of(how: str, text: str, *, fold: bool) -> bytes | None:
    """The pattern of such a function; None where there is none."""
    made = encoded(text) if how == "like" else literal(text) + (bytes([ANY]) if how == "begins" else b"")
    return lowered(made) if fold and made is not None else made


def literal(text: str) -> bytes:
    """The pattern that is one text alone."""
    return text.encode()


def lowered(pattern: bytes) -> bytes | None:
    """A pattern of ASCII in lower case; None for another."""
    if any(128 <= each < ONE for each in pattern):
        return None
    return bytes(each + 32 if 65 <= each <= 90 else each for each in pattern)


def matched(texts: Sequence[bytes], pattern: bytes, *, fold: bool) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which of some texts are like a pattern."""
    pieces = {ANY: b".*", ONE: b"(?:[\x00-\x7f]|[\xc0-\xff][\x80-\xbf]*)"}
    made = b"".join(pieces.get(each) or re.escape(bytes([each])) for each in pattern)
    like = re.compile(made, re.S).fullmatch
    found = (like(each.lower() if fold else each) is not None for each in texts)
    return np.fromiter(found, bool, len(texts))
