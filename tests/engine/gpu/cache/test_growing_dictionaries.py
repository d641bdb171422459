"""Growing dictionaries: stable codes, look-ups beside additions, and texts whose hashes are equal."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import polars as pl
import pytest

from gpudb.engine.gpu.cache.dictionaries import GrowingDictionary
from gpudb.engine.gpu.cache.hash_index import HashIndex


def _decoded(growing: GrowingDictionary, codes: np.ndarray) -> list[str]:
    return growing.dictionary.values[codes].to_list()


def test_codes_are_stable_as_texts_are_added() -> None:
    growing = GrowingDictionary()
    given: list[tuple[list[str], np.ndarray]] = []
    for turn in range(5):
        texts = [f"text {number}" for number in range(700 * turn, 700 * turn + 2000)][::-1]
        given.append((texts, growing.encode(pl.Series(texts))))
    assert len(growing.dictionary.values) == 4 * 700 + 2000
    assert growing.dictionary.values.n_unique() == len(growing.dictionary.values)
    for texts, codes in given:
        assert _decoded(growing, codes) == texts
        assert (growing.find(pl.Series(texts)) == codes).all()
    assert growing.find(pl.Series(["", "text 1", "none"])).tolist()[0::2] == [-1, -1]


def test_what_was_found_before_others_were_added_is_completed() -> None:
    growing = GrowingDictionary()
    growing.encode(pl.Series(["a", "b"]))
    keys = pl.Series(["c", "b", "d", "é"])
    found = growing.find(keys)
    assert (found >= 0).tolist() == [False, True, False, False]
    growing.encode(pl.Series(["d", "x"]))
    assert _decoded(growing, growing.encode(keys, found)) == keys.to_list()
    assert growing.dictionary.values.to_list() == ["a", "b", "d", "x", "c", "é"]


def test_texts_with_equal_hashes_have_codes_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pl.Series, "hash", lambda series: series.str.len_bytes().cast(pl.UInt64))
    growing = GrowingDictionary()
    for texts in (["a", "bb"], ["b", "a", "cc"], ["bb", "cc", "dd", "b"]):
        assert _decoded(growing, growing.encode(pl.Series(texts))) == texts
    assert growing.dictionary.values.to_list() == ["a", "bb", "b", "cc", "dd"]


def test_threads_look_texts_up_while_others_are_added() -> None:
    growing = GrowingDictionary()
    keys = pl.Series([f"text {number}" for number in range(30_000)])

    def look_up(turn: int) -> bool:
        found = growing.find(keys)
        known = np.flatnonzero(found >= 0)
        return _decoded(growing, found[known]) == keys[known].to_list()

    with ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(look_up, turn) for turn in range(20)]
        for first in range(0, 30_000, 3000):
            growing.encode(keys[first : first + 3000])
        assert all(each.result() for each in asked)


def test_an_index_finds_the_places_of_many_hashes_and_of_colliding_slots() -> None:
    hashes = (np.arange(5000, dtype=np.uint64) << np.uint64(32)) | np.uint64(7)
    index = HashIndex().extend(hashes[:1500]).extend(hashes[1500:1501]).extend(hashes[1501:4000])
    assert index.find(hashes).tolist() == [*range(4000), *[-1] * 1000]
    assert HashIndex().find(hashes[:3]).tolist() == [-1, -1, -1]
