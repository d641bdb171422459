"""The column cache: the least recently used columns are evicted first, pinned ones stay, and its figures are right."""

from __future__ import annotations

from gpudb.engine.gpu.cache.column_cache import CachedColumnInfo, ColumnCache


def _three() -> ColumnCache[str, int]:
    made: ColumnCache[str, int] = ColumnCache()
    for number, key in enumerate("abc"):
        made.put(key, number, 10, 100 + number // 2, "x")
    return made


def test_the_least_recently_used_goes_first() -> None:
    kept = _three()
    assert kept.get("a") == 0
    kept.shrink(20)
    assert [kept.get(key) for key in "abc"] == [0, None, 2]
    kept.shrink(0, least=1)
    assert kept.bytes == 10


def test_pinned_ones_stay_until_they_are_evicted() -> None:
    kept = _three()
    kept.pinned.add(100)
    kept.shrink(0)
    assert kept.bytes == 20
    assert kept.describe("plain") == [CachedColumnInfo(100, "x", "plain", 2, 20, 0, True)]
    assert kept.evict(100) == 20
    assert kept.bytes == 0
    assert not kept.pinned


def test_what_is_put_again_keeps_its_hits() -> None:
    kept = _three()
    kept.get("c")
    kept.put("c", 7, 30, 101, "x")
    assert kept.describe("packed")[-1] == CachedColumnInfo(101, "x", "packed", 1, 30, 1, False)
    kept.discard_where(lambda key: key != "c")
    assert kept.bytes == 30


def test_looking_whether_one_is_there_is_no_use_of_it() -> None:
    kept = _three()
    assert kept.contains("a")
    assert not kept.contains("d")
    assert sum(each.hits for each in kept.describe("plain")) == 0
    kept.shrink(20)
    assert [kept.contains(key) for key in "abc"] == [False, True, True]
