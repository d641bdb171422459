"""Time slices of threads: set where the system has them, for threads that answer clients alone."""

from __future__ import annotations

import os
import struct
import threading
from collections.abc import Callable

import pytest

from gpudb.engine import scheduling
from gpudb.engine.scheduling import answer_soon, compute_long, end_long

_GET = {314: 315, 274: 275}


def slice_of_this_thread() -> int:
    assert scheduling._LIBC is not None
    assert scheduling._SYSTEM_CALL is not None
    size = scheduling._ATTRIBUTES.size
    buffer = bytearray(size)
    found = (scheduling.ctypes.c_char * size).from_buffer(buffer)
    assert scheduling._LIBC.syscall(_GET[scheduling._SYSTEM_CALL], 0, found, size, 0) == 0
    return int(struct.unpack_from("=Q", buffer, 24)[0])


def in_a_thread(work: Callable[[], list[int]]) -> list[int]:
    found: list[list[int]] = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    thread.join(10)
    return found[0]


def has_slices() -> bool:
    if scheduling._LIBC is None or tuple(map(int, os.uname().release.split(".")[:2])) < (6, 12):
        return False

    def probe() -> list[int]:
        scheduling._set_slice(300_000)
        return [slice_of_this_thread()]

    return in_a_thread(probe) == [300_000]


@pytest.mark.skipif(not has_slices(), reason="this system has no slices of threads")
def test_a_client_thread_has_short_slices_but_for_long_statements() -> None:
    def work() -> list[int]:
        answer_soon()
        first = slice_of_this_thread()
        compute_long()
        second = slice_of_this_thread()
        end_long()
        return [first, second, slice_of_this_thread()]

    short, long, again = in_a_thread(work)
    assert short == again < long


@pytest.mark.skipif(not has_slices(), reason="this system has no slices of threads")
def test_other_threads_keep_theirs() -> None:
    def work() -> list[int]:
        before = slice_of_this_thread()
        compute_long()
        end_long()
        return [before, slice_of_this_thread()]

    before, after = in_a_thread(work)
    assert before == after


def test_a_system_without_them_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduling, "_LIBC", None)
    assert in_a_thread(lambda: [answer_soon() or 0, compute_long() or 0, end_long() or 0]) == [0, 0, 0]
