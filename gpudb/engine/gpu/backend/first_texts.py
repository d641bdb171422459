"""Selection of the rows that come first by a text, without sorting the texts: by eight of their bytes at a time.

Written over an array module, so that the same code runs with NumPy and with CuPy. Texts are ordered by their bytes,
which is the order of their characters in UTF-8; a NUL is in no text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

_WORD = 8
"""Bytes that are compared at a time, as an integer."""
_MOST_WORDS = 32
"""Words after which texts count as equal: a common prefix as long is rare, and all its rows are kept."""


@dataclass(frozen=True, slots=True)
class TextArrays:
    """Texts: their `bytes` (uint8), the rows' `offsets` (integers, one more than rows), and their validity, if any."""

    bytes: Any
    offsets: Any
    valid: Any | None


def select_first(xp: Any, texts: TextArrays, count: int, *, descending: bool, nulls_first: bool) -> Any:
    """Returns the numbers of rows (int64, ascending) that have the first `count` of an order by text among them.

    Rows whose texts equal the last of these belong to them too, so that other keys decide between them.
    """
    rows = len(texts.offsets) - 1
    chosen = []
    if texts.valid is None:
        places = xp.arange(rows, dtype=xp.int64)
    else:
        places, nulls = xp.flatnonzero(texts.valid), xp.flatnonzero(~texts.valid)
        if nulls_first or len(places) < count:
            chosen.append(nulls)
            count -= len(nulls) if nulls_first else 0
    if count > 0 and len(places):
        chosen += _select_among(xp, texts, places, count, descending)
    return xp.sort(xp.concatenate([xp.empty(0, xp.int64), *chosen]))


def _select_among(xp: Any, texts: TextArrays, places: Any, count: int, descending: bool) -> list[Any]:
    """Returns parts of the places, of rows without NULL, that have the first `count` among them."""
    chosen = []
    for number in range(_MOST_WORDS):
        if len(places) <= count:
            break
        words = _read_words(xp, texts, places, number * _WORD)
        words = ~words if descending else words
        last = xp.partition(words, count - 1)[count - 1]
        before = places[words < last]
        chosen.append(before)
        count -= len(before)
        tied = words == last
        is_ended = bool((words[tied][:1] if not descending else ~words[tied][:1]) % 256 == 0)
        places = places[tied]
        if is_ended:  # the word ends with a NUL, and so these texts do: they are equal
            break
    return [*chosen, places]


def _read_words(xp: Any, texts: TextArrays, places: Any, skipped: int) -> Any:
    """Returns eight bytes of each text from `skipped` on as an integer in the order of bytes; NULs follow its end."""
    starts, ends = texts.offsets[places].astype(xp.int64) + skipped, texts.offsets[places + 1]
    words = xp.zeros(len(places), xp.uint64)
    last = max(len(texts.bytes) - 1, 0)
    for byte in range(_WORD):
        at = starts + byte
        found = xp.where(at < ends, texts.bytes[xp.minimum(at, last)], 0) if len(texts.bytes) else 0
        words = (words << xp.uint64(8)) | xp.asarray(found, dtype=xp.uint64)
    return words
