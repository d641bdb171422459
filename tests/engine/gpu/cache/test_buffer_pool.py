"""The buffer pool: it allocates on demand and stays within its limit."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from gpudb.engine.gpu.cache.buffer_pool import BLOCK_BYTES, GROUP_BYTES, BufferPool

TOGETHER = GROUP_BYTES // BLOCK_BYTES


class Memory:
    """Returns an allocator that succeeds `left` times."""

    def __init__(self, left: int) -> None:
        self.left = left
        self.asked = 0

    def __call__(self, size: int) -> tuple[int, object]:
        assert size == GROUP_BYTES
        self.asked += 1
        if self.asked > self.left:
            raise MemoryError("no more")
        return self.asked * GROUP_BYTES, object()


def _all(blocks: BufferPool) -> list[int]:
    found = []
    while (some := blocks.acquire(1)) is not None:
        found += some
    return found


def test_there_are_as_many_as_the_bound_allows_and_no_two_are_one() -> None:
    memory = Memory(9)
    blocks = BufferPool(3 * GROUP_BYTES + GROUP_BYTES // 2, memory)
    assert blocks.available == 3 * GROUP_BYTES
    assert memory.asked == 0
    found = _all(blocks)
    assert len(set(found)) == len(found) == 3 * TOGETHER
    assert all(GROUP_BYTES <= each <= 4 * GROUP_BYTES - BLOCK_BYTES and each % BLOCK_BYTES == 0 for each in found)
    assert blocks.available == 0
    blocks.release(found[:5])
    assert blocks.available == 5 * BLOCK_BYTES
    assert blocks.acquire(6) is None
    assert blocks.available == 5 * BLOCK_BYTES
    assert sorted(_all(blocks)) == sorted(found[:5])
    assert memory.asked == 3


def test_memory_that_cannot_be_had_is_asked_for_once() -> None:
    memory = Memory(1)
    blocks = BufferPool(8 * GROUP_BYTES, memory)
    assert len(_all(blocks)) == TOGETHER
    assert blocks.acquire(1) is None
    assert memory.asked == 2
    assert blocks.available == 0


@pytest.mark.parametrize("limit", [0, GROUP_BYTES - 1])
def test_there_are_none_where_there_is_no_room_for_some(limit: int) -> None:
    blocks = BufferPool(limit, Memory(1))
    assert blocks.available == 0
    assert blocks.acquire(1) is None


def test_those_that_were_had_together_go_together() -> None:
    memory = Memory(9)
    blocks = BufferPool(3 * GROUP_BYTES, memory)
    found = blocks.acquire(3 * TOGETHER)
    assert found is not None
    blocks.release(found[1:])  # except one
    blocks.shrink(1)
    assert len(blocks._holders) == 2
    blocks.shrink(9 * GROUP_BYTES)
    assert len(blocks._holders) == 1
    assert blocks.available == 3 * GROUP_BYTES - BLOCK_BYTES
    again = blocks.acquire(3 * TOGETHER - 1)
    assert again is not None
    assert len({*again, found[0]}) == 3 * TOGETHER
    assert memory.asked == 5


def test_threads_share_them() -> None:
    blocks = BufferPool(4 * GROUP_BYTES, Memory(10**6))

    def use(turn: int) -> int:
        mine = blocks.acquire(1 + turn % 7)
        assert mine is not None
        blocks.release(mine)
        if turn % 100 == 0:
            blocks.shrink(GROUP_BYTES)
        return len(set(mine)) - turn % 7

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(use, range(2000))) == {1}
    assert len(set(_all(blocks))) == 4 * TOGETHER
