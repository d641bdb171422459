"""The LRU cache: bounds by entries and weight, order of eviction, identity keys, threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from gpudb.lru import IdentityKey, LruCache


def test_evicts_the_least_recently_used() -> None:
    evicted: list[tuple[str, int]] = []
    cache: LruCache[str, int] = LruCache(2, on_evict=lambda key, value: evicted.append((key, value)))
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.get("a") == 1
    cache.put("c", 3)
    assert cache.items() == [("a", 1), ("c", 3)]
    assert evicted == [("b", 2)]
    assert cache.get("b") is None
    assert "a" in cache
    assert cache.pop("a") == 1
    assert cache.pop("a") is None
    assert evicted == [("b", 2)]
    cache.clear()
    assert len(cache) == 0


def test_bounds_the_weight_but_for_the_last_entry() -> None:
    cache: LruCache[str, bytes] = LruCache(10, weigh=len, limit=4)
    cache.put("a", b"12")
    cache.put("b", b"34")
    assert cache.weight == 4
    cache.put("a", b"123")
    assert cache.values() == [b"123"]
    assert cache.weight == 3
    cache.put("c", b"123456")
    assert cache.values() == [b"123456"]
    cache.put("d", b"1")
    assert cache.values() == [b"1"]
    assert cache.weight == 1
    cache.clear()
    assert cache.weight == 0


def test_identity_keys_hold_their_objects() -> None:
    cache: LruCache[IdentityKey[list[int]], str] = LruCache(1000)
    for number in range(100):
        cache.put(IdentityKey([number % 2]), str(number))
    assert len(cache) == 100
    (key, value), *_ = cache.items()
    assert cache.get(IdentityKey(key.value)) == value
    assert cache.get(IdentityKey(list(key.value))) is None
    assert IdentityKey(key.value) != key.value


def test_threads_share_a_cache() -> None:
    cache: LruCache[int, int] = LruCache(50, weigh=lambda value: value % 7, limit=100)

    def use(start: int) -> None:
        for number in range(start, start + 2000):
            cache.put(number % 97, number)
            cache.get(number % 89)
            cache.pop(number % 83)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(use, range(8)))
    assert len(cache) <= 50
    assert cache.weight == sum(value % 7 for value in cache.values()) <= 100
