"""Pipeline and map_in_order: results in order, computed ahead only if there is more than one task."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from gpudb.storage.copy.pipeline import AgedPool, Pipeline, Stopped, map_in_order
from tests.support.sessions import wait_until


def test_results_come_in_order() -> None:
    late = threading.Event()

    def task(number: int) -> int:
        if number == 1:
            assert late.wait(60)  # the second ends after the third
        if number == 2:
            late.set()
        return number

    assert list(map_in_order(partial(task, number) for number in range(20))) == list(range(20))


def test_a_single_task_stays_in_its_thread() -> None:
    assert list(map_in_order([threading.get_ident])) == [threading.get_ident()]
    assert list(map_in_order([])) == []


def test_tasks_run_while_a_result_is_used() -> None:
    started = threading.Event()
    results = map_in_order([lambda: None, lambda: None, started.set, lambda: None, lambda: None])
    next(results)
    next(results)
    assert started.wait(60)
    results.close()


def test_no_more_tasks_are_taken_than_may_run_ahead() -> None:
    taken: list[int] = []

    def tasks() -> Iterator[Callable[[], None]]:
        for number in range(100):
            taken.append(number)
            yield lambda: None

    results = map_in_order(tasks(), ahead=3)
    next(results)
    assert taken == [0]
    next(results)
    assert len(taken) == 5
    results.close()
    assert len(taken) == 5


def test_an_error_comes_in_its_place() -> None:
    def fail() -> int:
        raise ValueError("the third")

    results = map_in_order([lambda: 1, lambda: 2, fail, lambda: 4])
    assert [next(results), next(results)] == [1, 2]
    with pytest.raises(ValueError, match="the third"):
        next(results)


def test_a_stopped_pipeline_ends_though_tasks_wait() -> None:
    """A task that `stop` cancels while the consumer waits for it raises no error."""
    running, go_on = threading.Event(), threading.Event()
    pipeline: Pipeline[None] = Pipeline(AgedPool(1))

    def held() -> None:
        running.set()
        assert go_on.wait(60)

    ended: list[type[BaseException]] = []

    def consume() -> None:
        try:
            for _ in pipeline:
                go_on.clear()
        except BaseException as error:
            ended.append(type(error))

    for _ in range(3):
        pipeline.put(held)
    assert running.wait(60)
    consumer = threading.Thread(target=consume)
    consumer.start()
    pipeline.stop()
    go_on.set()
    consumer.join(60)
    assert ended == [Stopped]


def test_tasks_of_the_oldest_pipeline_run_first() -> None:
    """Those of a later pipeline wait for the thread, though they were there before."""
    pool, running, go_on = AgedPool(1), threading.Event(), threading.Event()
    first: Pipeline[None] = Pipeline(pool)
    second: Pipeline[None] = Pipeline(pool)
    ran: list[str] = []

    def hold() -> None:
        running.set()
        assert go_on.wait(60)

    first.put(hold)
    assert running.wait(60)
    for number in range(2):
        second.put(partial(ran.append, f"second {number}"))
    first.put(partial(ran.append, "first"))
    go_on.set()
    for pipeline in (first, second):
        pipeline.end()
        list(pipeline)
    assert ran == ["first", "second 0", "second 1"]


def test_a_waiting_thread_keeps_no_result() -> None:
    """Rows are free once their consumer lets go of them, though no other task comes."""

    class Rows:
        pass

    future = AgedPool(1).submit(0, Rows)
    rows = weakref.ref(future.result(60))
    del future
    wait_until(lambda: rows() is None, "the rows are gone")
