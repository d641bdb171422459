"""The fast path of roles and resource groups with a limit: what may be long with other parameters is admitted first."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from gpudb.engine.gpu.coordinator.fast_path import FastPath
from gpudb.engine.gpu.fastpath.pool import FastPathPool
from gpudb.engine.gpu.rpc.messages import FastPathUse


@pytest.mark.parametrize(
    ("group", "most", "short", "parameters", "taken"),
    [
        (None, 0, False, b"other", True),
        ("group", 0, False, b"other", False),
        (None, 1, False, b"other", False),
        ("group", 1, True, b"other", True),
        ("group", 1, False, b"measured", True),
    ],
)
def test_a_limited_role_takes_it_with_measured_parameters(
    group: str | None, most: int, short: bool, parameters: bytes, taken: bool
) -> None:
    pool, asked = FastPathPool(b"secret"), list[bool]()

    def list_heartbeats() -> list[Any]:
        asked.append(True)
        return []  # no worker answers: staged execution follows

    cluster = SimpleNamespace(fast_path_pool=pool, size=1, heartbeats=list_heartbeats)
    pool.enable(b"digest", b"measured", FastPathUse.BOUND | FastPathUse.SHORT, 8)
    planned = SimpleNamespace(digest=b"digest", chunks=1, two_phase=None, cost=SimpleNamespace(short=short))
    request = SimpleNamespace(settings=SimpleNamespace(group=group, max_running=most))
    assert FastPath(cast("Any", cluster)).try_run(cast("Any", planned), cast("Any", request), parameters) is None
    assert bool(asked) == taken
