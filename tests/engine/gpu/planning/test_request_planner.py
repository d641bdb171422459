"""Cached plans: reused while tables have the same files and settings are equal, and only then."""

from __future__ import annotations

import time
from dataclasses import replace
from types import SimpleNamespace

import pytest

from gpudb.engine.gpu.planning.request_planner import CHUNKED_SECONDS, Planner
from gpudb.engine.protocol import Settings
from gpudb.plan.physical.exchange_planning import Costs
from tests.support.lab import Lab

SETUP = "CREATE TABLE kept (a int4, b int4); INSERT INTO kept SELECT g, g % 3 FROM generate_series(1, 50) g"
SQL = "SELECT b, sum(a) FROM kept GROUP BY b"


def test_a_plan_is_found_again_until_its_tables_change(lab: Lab) -> None:
    planner = Planner(lab.database.cpu, Costs(workers=1), fuse=True)
    request = lab.request(SQL)
    assert planner.cached_plan(request) is None
    made = planner.plan(request)
    assert planner.cached_plan(request) is made
    assert planner.cached_plan(lab.request(SQL)) is None  # bound anew, it is another query
    assert planner.cached_plan(replace(request, settings=Settings(fused=False))) is None
    lab.run("INSERT INTO kept VALUES (1, 1)")
    later = replace(request, snapshot=lab.request(SQL).snapshot)
    assert planner.cached_plan(later) is None
    grown = planner.plan(later)
    assert planner.cached_plan(later) is grown is not made
    assert planner.cached_plan(request) is None


def test_what_depends_on_the_request_is_planned_each_time(lab: Lab) -> None:
    planner = Planner(lab.database.cpu, Costs(workers=1))
    request = lab.request("SELECT sum(a) FROM kept WHERE b < extract(hour FROM '2001-01-01 00:00+00'::timestamptz)")
    planner.plan(request)
    assert planner.cached_plan(request) is None


def test_chunks_that_were_asked_for_are_kept_for_a_while(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    planner = Planner(lab.database.cpu, Costs(workers=1))
    request = lab.request(SQL)
    made = planner.plan(request, chunks=2)
    assert planner.cached_plan(request) is made
    later = SimpleNamespace(monotonic=lambda: time.monotonic() + CHUNKED_SECONDS)
    monkeypatch.setattr("gpudb.engine.gpu.planning.request_planner.time", later)
    assert planner.cached_plan(request) is None


def test_what_takes_a_gpu_little_is_short_there(lab: Lab) -> None:
    lab.run("CREATE TABLE larger AS SELECT g AS a, g % 3 AS b FROM generate_series(1, 400000) g")
    request = lab.request("SELECT max(n) FROM (SELECT rank() OVER (PARTITION BY b ORDER BY a) AS n FROM larger) ranked")
    host, gpu = (Planner(lab.database.cpu, Costs(workers=1), gpu=gpu).plan(request).cost for gpu in (False, True))
    assert (host.short, gpu.short) == (False, True)
    assert host.bytes == gpu.bytes
    assert gpu.seconds == pytest.approx(host.seconds / 100)


def test_what_a_gpu_leaves_to_its_host_is_as_long_as_there(lab: Lab) -> None:
    request = lab.request("SELECT max(md5(a::text)) FROM kept")
    host, gpu = (Planner(lab.database.cpu, Costs(workers=1), gpu=gpu) for gpu in (False, True))
    assert gpu.plan(request).cost == host.plan(request).cost
    assert any(gpu.host_functions(request).values())


def test_a_plan_knows_the_bodies_that_it_calls(lab: Lab) -> None:
    lab.run("CREATE EXTENSION IF NOT EXISTS plcuda")
    lab.run("CREATE FUNCTION most_add(a int, b int) RETURNS int STRICT LANGUAGE plcuda AS 'return max(a, b);'")
    lab.run("CREATE AGGREGATE most(int) (SFUNC = most_add, STYPE = int, COMBINEFUNC = most_add)")
    planner = Planner(lab.database.cpu, Costs(workers=1), fuse=True)
    assert planner.plan(lab.request(SQL)).device_functions == ()
    (called,) = planner.plan(lab.request("SELECT b, most(a) FROM kept GROUP BY b")).device_functions
    assert ".most(" in called
    (called,) = planner.plan(lab.request("SELECT most_add(a, b) FROM kept")).device_functions
    assert ".most_add(" in called
