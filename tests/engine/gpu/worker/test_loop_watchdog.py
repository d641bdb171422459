"""The loop watchdog: warnings about late loops."""

from __future__ import annotations

import asyncio
import logging
import time

import pytest

from gpudb.engine.gpu.worker import loop_watchdog
from gpudb.engine.gpu.worker.loop_watchdog import LoopWatchdog


def _hold_up(seconds: float) -> None:
    time.sleep(seconds)


def test_a_late_loop_is_told_once_with_what_held_it_up(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop_watchdog, "LATE_SECONDS", 0.3)
    monkeypatch.setattr(loop_watchdog, "EVERY_SECONDS", 0.02)

    async def work() -> None:
        watch = LoopWatchdog({"the loop": asyncio.get_running_loop(), "no loop": None})
        watch.start()
        await asyncio.sleep(0.2)
        _hold_up(1.0)
        await asyncio.sleep(0.3)
        watch.stop()
        watch._thread.join(60)
        assert not watch._thread.is_alive()

    with caplog.at_level(logging.WARNING, loop_watchdog.__name__):
        asyncio.run(work())
    late, over = (record.getMessage() for record in caplog.records)
    assert late.startswith("the loop is late by")
    assert "_hold_up" in late
    assert "time.sleep(seconds)" in late
    assert over.startswith("the loop was late by")


def test_a_loop_in_time_is_not_told(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop_watchdog, "EVERY_SECONDS", 0.02)

    async def work() -> None:
        watch = LoopWatchdog({"the loop": asyncio.get_running_loop()})
        watch.start()
        await asyncio.sleep(0.3)
        watch.stop()

    with caplog.at_level(logging.WARNING, loop_watchdog.__name__):
        asyncio.run(work())
    assert not caplog.records
