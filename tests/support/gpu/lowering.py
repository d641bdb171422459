"""Assertions on where a request is computed: with the embedded engine's answer, and without host operators."""

from __future__ import annotations

import pytest

from gpudb.engine.gpu.backend.host import HostBackend
from gpudb.engine.gpu.planning.request_planner import Planner
from gpudb.engine.protocol import Request
from gpudb.plan.physical.exchange_planning import Costs
from tests.support.gpu import local_stages
from tests.support.gpu.comparison import embedded, sorted_rows
from tests.support.lab import Lab


def lowered(lab: Lab, request: Request) -> None:
    """Asserts the embedded engine's answer, with no operator planned on the host."""
    assert sorted_rows(local_stages.rows(request, 1, lab.database.cpu)) == sorted_rows(embedded(lab, request))
    planner = Planner(lab.database.cpu, Costs())
    planner.plan(request)
    assert not any(planner.host_functions(request).values())


def fetched(lab: Lab, request: Request, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Returns why rows were fetched to the host, after asserting the embedded answer on one worker and on two."""
    frames = HostBackend()
    told: list[str] = []
    fetch = frames.compute_on_host
    monkeypatch.setattr(frames, "compute_on_host", lambda lazy, why: told.append(why) or fetch(lazy, why))
    for workers in (1, 2):
        given = local_stages.rows(request, workers, lab.database.cpu, frames=frames)
        assert sorted_rows(given) == sorted_rows(embedded(lab, request))
    return told
