"""Memory that children share: what lies in it, for how long, and what happens without room."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from gpudb.errors import SqlError
from gpudb.processes.pool import ProcessPool
from gpudb.processes.shared_memory import PAGE, SharedMemory, open_shared_memory

MODULE = "tests.processes.served"


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch) -> Iterator[ProcessPool]:
    monkeypatch.setenv("PYTHONPATH", str(Path.cwd()))
    pool = ProcessPool(MODULE, most=1, shared_bytes=64 << 20)
    yield pool
    pool.close()


def is_wanted() -> None:
    """Somebody waits for as long as it takes."""


def test_regions_are_used_again() -> None:
    """A region is its holder's until nothing refers to it; those that touch become one."""
    memory = SharedMemory(4 * PAGE)
    held = [memory.allocate(PAGE) for _ in range(4)]
    assert [each[0] for each in held if each] == [0, PAGE, 2 * PAGE, 3 * PAGE]
    assert memory.allocate(1) is None
    assert memory.used == 4 * PAGE
    view = held[1][1][10:20]  # type: ignore[index]
    del held[1:3]
    assert memory.used == 3 * PAGE
    del view
    found = memory.allocate(2 * PAGE)
    assert found is not None
    assert found[0] == PAGE
    del held, found
    assert memory.used == 0
    whole = memory.allocate(4 * PAGE)
    assert whole is not None
    assert not whole[1].any(), "pages that were given back are empty"


def test_results_lie_in_it(pool: ProcessPool) -> None:
    """Arrow's buffers of a result, and of arguments that are results already; they outlive the call."""
    array = pa.array(np.arange(1_000_000))
    (made,) = pool.call("repeat", ([array], 1), is_wanted)
    assert made == array
    assert pool.holds(memoryview(made.buffers()[1]))
    assert not pool.holds(memoryview(array.buffers()[1]))
    again = pool.call("repeat", ([made], 2), is_wanted)
    del array
    assert again == [made, made]
    memory = pool._shared
    assert memory is not None
    assert memory.used >= 16_000_000
    del made, again
    assert memory.used == 0


def test_without_room_they_are_sent(pool: ProcessPool) -> None:
    """More than the memory holds is sent through the pipe."""
    array = pa.array(np.arange(10_000_000))
    (made,) = pool.call("repeat", ([array], 1), is_wanted)
    assert made == array
    assert not pool.holds(memoryview(made.buffers()[1]))


def test_a_call_that_fails_holds_none(pool: ProcessPool) -> None:
    """What a call had goes with it, also as the child ends."""
    array = pa.array(np.arange(1_000_000))
    for name in ("fail", "end"):
        with pytest.raises(SqlError):
            pool.call(name, (array,) if name == "fail" else (), is_wanted)
    assert pool.call("add", (1, 1), is_wanted) == 2
    assert pool._shared is not None
    assert pool._shared.used == 0


def test_large_questions(pool: ProcessPool) -> None:
    """What a child asks amid a call lies there too."""
    seen: list[np.ndarray[tuple[int], np.dtype[np.int64]]] = []

    def answer(question: np.ndarray[tuple[int], np.dtype[np.int64]]) -> int:
        seen.append(question)
        return int(question.sum())

    assert pool.call("ask_large", (3, 100_000), is_wanted, answer) == sum(range(100_000)) * 3
    assert all(pool.holds(memoryview(each)) for each in seen)
    assert len(seen) == 3


def test_no_file_has_a_name(pool: ProcessPool) -> None:
    """The memory is gone with its processes, however they end."""
    pool.call("get_pid", (), is_wanted)
    assert pool._shared is not None
    name = Path(f"/proc/self/fd/{pool._shared.descriptor}").readlink()
    assert str(name).endswith("(deleted)")


@pytest.mark.parametrize("error", [OSError(38, "Function not implemented"), ValueError("no")])
def test_where_the_system_refuses_it(monkeypatch: pytest.MonkeyPatch, pool: ProcessPool, error: Exception) -> None:
    """There is none, and buffers are sent."""

    def refuse(*_: object) -> int:
        raise error

    monkeypatch.setattr("os.memfd_create", refuse)
    assert open_shared_memory(PAGE) is None
    array = pa.array(np.arange(100_000))
    assert pool.call("repeat", ([array], 1), is_wanted) == [array]
    assert pool._shared is None


def test_a_size_that_cannot_be_mapped() -> None:
    """More than addresses reach leaves no descriptor behind."""
    before = _list_memories()
    assert open_shared_memory(1 << 62) is None
    assert _list_memories() <= before


def _list_memories() -> set[int]:
    """The inodes of the memory files that this process has open; other threads may close theirs meanwhile."""
    found = set()
    for each in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            if "memfd:gpudb" in str(each.readlink()):
                found.add(each.stat().st_ino)
    return found


def test_a_forked_process_gives_nothing_back() -> None:
    """It drops what it holds of the memory, and the parent's bytes stay."""
    memory = SharedMemory(4 * PAGE)
    held = memory.allocate(PAGE)
    assert held is not None
    held[1][:] = 7
    child = os.fork()
    if child == 0:
        del held
        os._exit(0 if memory.used == PAGE and memory.allocate(1) is None else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert (held[1] == 7).all()
    assert memory.used == PAGE
    del held
    assert memory.used == 0
