"""Digests of keys: numbers that are equal for equal keys, and that differ for different ones.

A key of one integer, date or time is its own digest. Any other has 128 bits, of which no two keys share all: texts are
hashed by the interpreter's keyed hash, twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gpudb.types import SqlType

Words = npt.NDArray[np.uint64]
_INTEGERS = frozenset({"int2", "int4", "int8", "date", "timestamp", "timestamptz"})
_TEXTS = frozenset({"text", "varchar", "bpchar"})
_PIECE = 1 << 15
"""Texts that are hashed while the interpreter is held."""
_SECOND = "\x00second"
_ODD = np.uint64(0x9E3779B97F4A7C15)
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@dataclass(frozen=True, slots=True)
class KeyDigests:
    """The digests of the keys of rows: `first`, and `second` if one word does not tell keys apart.

    `rows` are the numbers of the rows that have them; rows with a NULL in their key are left out.
    """

    first: Words
    second: Words | None
    rows: npt.NDArray[np.int64]

    def __len__(self) -> int:
        """Returns the number of keys."""
        return len(self.first)

    def to_list(self) -> list[object]:
        """Returns each key's digest as one hashable value."""
        if self.second is None:
            return list(self.first.tolist())
        return list(zip(self.first.tolist(), self.second.tolist(), strict=True))


def family(kind: SqlType) -> tuple[str, int] | None:
    """Returns what two types share whose equal values have equal digests; None for a type whose values have none."""
    if kind.item is not None or kind.fields or kind.is_carried or kind.labels:
        return None
    if kind.name in _INTEGERS:
        return ("int" if kind.name.startswith("int") else kind.name), 0
    if kind.name in _TEXTS:
        return "text", 0
    if kind.name == "uuid":
        return "uuid", 0
    if kind.name == "numeric":
        return "numeric", kind.numeric_digits[1]
    return None


def make_digests(kinds: Sequence[SqlType], arrays: Sequence[pa.Array]) -> KeyDigests:
    """Returns the digests of keys of types that have a `family`; `arrays` are their columns in stored form."""
    rows = np.arange(len(arrays[0]), dtype=np.int64)
    if any(array.null_count for array in arrays):
        valid = np.logical_and.reduce([array.is_valid().to_numpy(zero_copy_only=False) for array in arrays])
        rows = rows[valid]
        picked = pa.array(rows)
        arrays = [array.take(picked) for array in arrays]
    words = [_read_words(kind, array) for kind, array in zip(kinds, arrays, strict=True)]
    if len(words) == 1 and kinds[0].name in _INTEGERS:
        return KeyDigests(words[0][0], None, rows)
    first = second = np.zeros(len(rows), np.uint64)
    for one, other in words:
        first = _mix(first * _ODD + one + _ODD)
        second = _mix((second ^ _MIX_2) * _MIX_1 + other)
    return KeyDigests(first, second, rows)


def _mix(words: Words) -> Words:
    """Returns 64 bits for 64 bits, one to one."""
    words = (words ^ (words >> np.uint64(30))) * _MIX_1
    words = (words ^ (words >> np.uint64(27))) * _MIX_2
    return words ^ (words >> np.uint64(31))


def _read_words(kind: SqlType, array: pa.Array) -> tuple[Words, Words]:
    """Returns two words of each value; none is NULL."""
    if kind.name in _INTEGERS:
        width = 32 if pa.types.is_date32(array.type) else array.type.bit_width
        plain = array.view(pa.int32() if width == 32 else pa.int64()) if not pa.types.is_integer(array.type) else array
        values: Words = plain.to_numpy(zero_copy_only=False).astype(np.int64).view(np.uint64)
        return values, _mix(values + _ODD)
    if kind.name in _TEXTS:
        return _hash_texts(array)
    storage = array.storage if isinstance(array, pa.ExtensionArray) else array
    data = storage.buffers()[1]
    assert data is not None or not len(storage)
    whole = np.frombuffer(data, np.uint64) if data is not None else np.zeros(0, np.uint64)
    pairs = whole[: 2 * (storage.offset + len(storage))].reshape(-1, 2)[storage.offset :]
    return _mix(pairs[:, 0] ^ _mix(pairs[:, 1] + _ODD)), _mix(pairs[:, 1] + _mix(pairs[:, 0] ^ _ODD))


def _hash_texts(array: pa.Array) -> tuple[Words, Words]:
    first, second = np.empty(len(array), np.int64), np.empty(len(array), np.int64)
    for start in range(0, len(array), _PIECE):
        texts = array.slice(start, _PIECE).to_pylist()
        first[start : start + len(texts)] = np.fromiter(map(hash, texts), np.int64, len(texts))
        salted = map(hash, [text + _SECOND for text in texts])
        second[start : start + len(texts)] = np.fromiter(salted, np.int64, len(texts))
    return first.view(np.uint64), second.view(np.uint64)


_WORD = (1 << 64) - 1


def digest_plain(kinds: Sequence[SqlType], columns: Sequence[Sequence[object]]) -> list[object]:
    """Returns the digests of keys of plain values, as `KeyDigests.to_list` does; rows with a NULL are left out."""
    if len(kinds) == 1 and kinds[0].name in PLAIN_INTEGERS:
        return [each & _WORD for each in columns[0] if each is not None]  # type: ignore[operator]
    found: list[object] = []
    for key in zip(*columns, strict=True):
        if None not in key:
            first = second = 0
            for kind, value in zip(kinds, key, strict=True):
                if kind.name in _TEXTS:
                    one, other = hash(value) & _WORD, hash(value + _SECOND) & _WORD
                else:
                    one = value & _WORD
                    other = _mix_word(one + _ODD_WORD)
                first = _mix_word(first * _ODD_WORD + one + _ODD_WORD)
                second = _mix_word((second ^ _MIX_WORD_2) * _MIX_WORD_1 + other)
            found.append((first, second))
    return found


def from_plain(digests: Sequence[object]) -> KeyDigests:
    """Returns digests of `digest_plain` as those of as many rows."""
    rows = np.arange(len(digests), dtype=np.int64)
    if not isinstance(digests[0], tuple):
        return KeyDigests(np.array(digests, np.uint64), None, rows)
    words = np.array(digests, np.uint64)
    return KeyDigests(words[:, 0], words[:, 1], rows)


PLAIN_INTEGERS = frozenset({"int2", "int4", "int8"})
"""Types of integers whose plain values are digested."""
_ODD_WORD, _MIX_WORD_1, _MIX_WORD_2 = int(_ODD), int(_MIX_1), int(_MIX_2)


def _mix_word(word: int) -> int:
    """Does for one number what `_mix` does."""
    word &= _WORD
    word = (word ^ (word >> 30)) * _MIX_WORD_1 & _WORD
    word = (word ^ (word >> 27)) * _MIX_WORD_2 & _WORD
    return word ^ (word >> 31)


def has_plain_digest(kind: SqlType) -> bool:
    """Returns whether plain values of a type can be digested one by one."""
    return kind.name in PLAIN_INTEGERS or kind.name in {"text", "varchar"}
