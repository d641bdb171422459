"""The final stage over groups on the host: it returns the lowering's rows, and declines what is the lowering's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from gpudb.engine.gpu.backend.base import ComputedFrame
from gpudb.engine.gpu.backend.host import HostFrame
from gpudb.engine.gpu.cache.partition import WHOLE, Partition
from gpudb.engine.gpu.exchange.result_codec import to_batch
from gpudb.engine.gpu.exchange.state_codec import EncodedStates, encode_states
from gpudb.engine.gpu.fastpath import two_phase
from gpudb.engine.gpu.finalize.merge import FrameStates
from gpudb.engine.gpu.fused.translate.result_columns import ResultColumn
from gpudb.engine.gpu.fused.translate.typed_values import Dictionary
from gpudb.engine.gpu.planning.request_planner import Planner
from gpudb.engine.gpu.stage.stage_executor import StageTask, execute_stage, finish_stage
from gpudb.errors import GpudbError
from gpudb.plan.physical.exchange_planning import Costs
from tests.support.gpu import local_stages
from tests.support.gpu.comparison import sorted_rows
from tests.support.lab import Lab

ROWS = """
CREATE TABLE t (k int2, b bool, i int4, l int8, n numeric(9,3), x numeric, r float8, s text, d date, m timestamp, z
    timestamptz, p char(3));
INSERT INTO t SELECT nullif(g % 5, 4), nullif(g % 3, 0) = 1, g - 20, g::int8 << 40, g / 7.0 - 2, (g % 7) / 8.0,
    CASE g % 9 WHEN 0 THEN 'NaN'::float8 WHEN 1 THEN NULL ELSE g / 3.0 END, nullif('s' || g % 4, 's2'),
    date '2001-02-03' + g, timestamp '1999-12-31 23:59:59.5' + g * interval '1 hour',
    timestamptz '2001-01-01 00:00+00' + g * interval '1 minute', left('ab', g % 3) FROM generate_series(1, 60) g
"""
FINISHED = (
    "SELECT k, count(*), count(i), sum(i), avg(i) FROM t GROUP BY k ORDER BY k DESC",
    "SELECT sum(l), avg(l), sum(n), avg(n), sum(x), avg(x), sum(r), avg(r) FROM t WHERE r = r",
    "SELECT avg(i), sum(n), max(s), min(x), stddev(n), var_pop(l) FROM t WHERE k = 77",
    "SELECT i, j, avg(i), avg(l * 3000) FROM t, generate_series(1, 20) j GROUP BY i, j ORDER BY i, j",
    "SELECT k, stddev(n), var_pop(i), variance(l / 1000000), stddev_pop(n) FROM t GROUP BY k ORDER BY 2 DESC, 1",
    "SELECT s, min(d), max(m), min(z), bool_and(b), bool_or(b), max(n), min(x) FROM t GROUP BY s ORDER BY 1 NULLS FIRST",
    "SELECT b, s, sum(n) FROM t GROUP BY s, b ORDER BY 3 DESC, b NULLS FIRST, s LIMIT 5 OFFSET 2",
    "SELECT max(r) AS h, k FROM t GROUP BY k ORDER BY h DESC NULLS LAST, k",
    "SELECT min(r) AS h, k FROM t WHERE i > 0 GROUP BY k ORDER BY h, k NULLS FIRST LIMIT 1 OFFSET 9",
    "SELECT max(p), min(p), every(b) FROM t",
    "SELECT d, m, z, x, count(*) FROM t GROUP BY d, m, z, x ORDER BY z DESC, d, m, x LIMIT 7",
    "SELECT d, m, z, l, count(*) FROM t, generate_series(1, 20) j GROUP BY d, m, z, l, j ORDER BY l DESC, d, 5",
    "SELECT s, b, i, j, sum(l * 3000000000::numeric) AS w, max(x) FROM t, generate_series(1, 20) j GROUP BY s, b, i, j"
    " ORDER BY w DESC, s DESC NULLS LAST, b, j LIMIT 700 OFFSET 3",
    "SELECT r, s, i, j, count(*) FROM t, generate_series(1, 20) j WHERE r IS NULL OR r <> 7 GROUP BY r, s, i, j"
    " ORDER BY r DESC NULLS LAST, s NULLS FIRST, i, j DESC",
    "SELECT zero, i, count(*) FROM (SELECT -r * (i - 20) AS zero, i FROM t) q GROUP BY zero, i ORDER BY zero, i DESC",
)
FOLDED = """
CREATE EXTENSION plcuda;
CREATE TYPE mean_state AS (total float8, n int);
CREATE FUNCTION mean_add(s mean_state, x int) RETURNS mean_state STRICT LANGUAGE plcuda AS
    's.total += x; s.n++; return s;';
CREATE FUNCTION mean_merge(a mean_state, b mean_state) RETURNS mean_state STRICT LANGUAGE plcuda AS
    'return {a.total + b.total, a.n + b.n};';
CREATE FUNCTION mean_end(s mean_state) RETURNS float8 STRICT LANGUAGE plcuda AS
    'if (s.n == 0) RETURN_NULL(); if (s.n == 13) RAISE_ERROR("22003", "thirteen"); return s.total / s.n;';
CREATE AGGREGATE mean(int) (SFUNC = mean_add, STYPE = mean_state, COMBINEFUNC = mean_merge, FINALFUNC = mean_end,
    INITCOND = '(0,0)');
CREATE FUNCTION last_add(a date, b date) RETURNS date STRICT LANGUAGE plcuda AS 'return a > b ? a : b;';
CREATE AGGREGATE last(date) (SFUNC = last_add, STYPE = date, COMBINEFUNC = last_add);
CREATE FUNCTION some_add(a bool, b bool) RETURNS bool STRICT LANGUAGE plcuda AS 'return a || b;';
CREATE AGGREGATE either(bool) (SFUNC = some_add, STYPE = bool, COMBINEFUNC = some_add, INITCOND = 'f')
"""
FOLDS = (
    "SELECT k, mean(i), count(*), last(d), either(b) FROM t GROUP BY k ORDER BY 2 DESC",
    "SELECT mean(i), last(d), either(b) FROM t WHERE i > 1000",
    "SELECT s, last(d), mean(i) FILTER (WHERE i > 30) AS m FROM t GROUP BY s ORDER BY m NULLS FIRST, s LIMIT 3",
)
LEFT = (
    "SELECT k, sum(i) + 1 FROM t GROUP BY k",
    "SELECT p FROM t GROUP BY p ORDER BY p",
    "SELECT k, sum(r) FROM t WHERE r < 3 GROUP BY k HAVING sum(r) > 1",
    "SELECT sum(r * 4e306) FROM t WHERE r <> 'NaN'",
    "SELECT k FROM t",
)


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    lab = Lab()
    lab.run(ROWS)
    lab.run(FOLDED)
    yield lab
    lab.close()


Rows = list[tuple[str | None, ...]]
IN_PARTS = Costs(workers=2, gathered=2**60, range=2**60)
"""Costs under which groups are partial, and one worker merges them."""


def _ways(lab: Lab, sql: str) -> tuple[Rows | None, Rows | Exception]:
    """Runs a statement's last stage by NumPy, and by the lowering."""
    request = lab.request(sql)
    stages = Planner(lab.database.cpu, IN_PARTS).plan(request).stages
    given: dict[int, list[ComputedFrame]] = {}
    for stage in stages[:-1]:
        task = StageTask(stage, Partition(0, 1), request.parameters)
        given[stage.number] = execute_stage(task, local_stages.TABLES, given, local_stages.FRAMES)
    task, kinds = StageTask(stages[-1], Partition(0, 1), request.parameters), stages[-1].root.types
    done = finish_stage(task, {number: given[number] for number in stages[-1].inputs})
    rows = None if done is None else local_stages.as_text([done.batch], kinds)
    try:
        (rest,) = execute_stage(task, local_stages.TABLES, given, local_stages.FRAMES)
    except Exception as error:
        return rows, error
    return rows, local_stages.as_text([to_batch(rest.to_polars(), kinds)], kinds)


@pytest.mark.parametrize("sql", FINISHED)
def test_rows_are_the_lowerings(lab: Lab, sql: str) -> None:
    found, wanted = _ways(lab, sql)
    assert found is not None
    assert found == wanted


@pytest.mark.parametrize("sql", FOLDS)
def test_results_of_folds_are_the_lowerings(lab: Lab, sql: str) -> None:
    found, wanted = _ways(lab, sql)
    assert found is not None
    assert found == wanted


def test_errors_of_folds_are_the_lowerings(lab: Lab) -> None:
    found, wanted = _ways(lab, "SELECT mean(i) FROM t WHERE i BETWEEN 1 AND 13")
    assert found is None
    assert isinstance(wanted, GpudbError)
    assert (wanted.sqlstate, wanted.message) == ("22003", "thirteen")


@pytest.mark.parametrize("sql", LEFT)
def test_the_rest_is_left_to_the_lowering(lab: Lab, sql: str) -> None:
    found, _ = _ways(lab, sql)
    assert found is None


SEVERAL = (
    "SELECT sum(l * 8192), sum(l * 1024), min(l), max(n) FROM t",
    "SELECT k, s, count(*), sum(l * 65536), avg(n), min(i), max(i), min(d), max(z) FROM t GROUP BY k, s",
    "SELECT i, count(r), min(i), bool_or(b) FROM t WHERE i > 20 GROUP BY i ORDER BY i DESC",
    "SELECT count(*), sum(n), min(k), max(m), bool_and(b), sum(r) FROM t WHERE i > 1000",
    "SELECT i, j, sum(n) FROM t, generate_series(1, 90) j GROUP BY i, j ORDER BY 3, 1, 2 LIMIT 11",
    "SELECT k, any_value(k), max(x), max(s), min(r) FROM t GROUP BY k",
    "SELECT r, count(*) FROM t GROUP BY r",
    "SELECT CASE k WHEN 0 THEN 'infinity' WHEN 1 THEN '0044-03-15 BC' ELSE m END AS t, count(*) FROM t GROUP BY t",
    "SELECT CASE k WHEN 0 THEN '-infinity' WHEN 1 THEN '0044-03-15 BC' ELSE d END AS t, min(z) FROM t GROUP BY t",
)


@pytest.mark.parametrize("workers", [1, 2, 3, 7])
def test_states_of_several_workers_are_put_together(lab: Lab, workers: int) -> None:
    """Returns the states of each worker; some lack some groups, or all rows."""
    apart = 0
    for sql in (*FINISHED, *SEVERAL):
        request = lab.request(sql)
        *above, last = Planner(lab.database.cpu, IN_PARTS).plan(request).stages
        given: dict[int, list[ComputedFrame]] = {}
        for stage in above:
            count = workers if stage.number in last.inputs else 1
            tasks = [StageTask(replace(stage, output="gather"), Partition(index, count)) for index in range(count)]
            given[stage.number] = [
                part for task in tasks for part in execute_stage(task, local_stages.TABLES, given, local_stages.FRAMES)
            ]
        received = {number: given[number] for number in last.inputs}
        if len(received) != 1:
            continue
        (parts,) = received.values()
        done = two_phase.finish_phases(
            two_phase.TwoPhasePlan((), last), {last.inputs[0]: [FrameStates(part.to_polars()) for part in parts]}, ()
        )
        assert done is not None, sql
        kinds = last.root.types
        (rest,) = execute_stage(StageTask(last, Partition(0, 1)), local_stages.TABLES, received, local_stages.FRAMES)
        found, wanted = (
            local_stages.as_text([done.batch], kinds),
            local_stages.as_text([to_batch(rest.to_polars(), kinds)], kinds),
        )
        assert sorted_rows(found) == sorted_rows(wanted), sql
        assert found == wanted or "ORDER" not in sql, sql
        apart += len(parts) > 1
    assert apart > 10 or workers == 1


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT k, b, i, l, n, x, r, s, d, m, z, p FROM t ORDER BY i",
        "SELECT s, i, x FROM t ORDER BY s DESC NULLS LAST, x, i DESC LIMIT 9 OFFSET 4",
        "SELECT r, i FROM t ORDER BY r DESC, i",
        "SELECT i, m, z FROM t WHERE k = 77 ORDER BY z",
        "SELECT x, b, i FROM t WHERE i > 3 ORDER BY b NULLS FIRST, x DESC, i LIMIT 30",
    ],
)
@pytest.mark.parametrize("workers", [2, 3])
def test_rows_of_several_workers_are_finished(lab: Lab, sql: str, workers: int) -> None:
    request = lab.request(sql)
    stage, last = Planner(lab.database.cpu, Costs(workers=workers)).plan(request).stages
    tasks = [StageTask(stage, Partition(index, workers)) for index in range(workers)]
    given = [
        FrameStates(part.to_polars())
        for task in tasks
        for part in execute_stage(task, local_stages.TABLES, {}, local_stages.FRAMES)
    ]
    done = two_phase.finish_phases(two_phase.TwoPhasePlan((stage,), last), {stage.number: given}, ())
    assert done is not None
    kinds = last.root.types
    assert local_stages.as_text([done.batch], kinds) == local_stages.as_text(lab.database.cpu.run(request), kinds)


def test_many_rows_are_the_lowerings(lab: Lab) -> None:
    request = lab.request("SELECT i, j FROM t, generate_series(1, 40) j ORDER BY i, j")
    *above, last = Planner(lab.database.cpu, Costs(workers=2)).plan(request).stages
    frame = pl.DataFrame({"c0": range(2049), "c1": range(2049)}, schema={"c0": pl.Int32, "c1": pl.Int32})
    halves = two_phase.TwoPhasePlan((above[-1],), last)
    assert two_phase.finish_phases(halves, {above[-1].number: [FrameStates(frame)]}, ()) is None
    few = two_phase.finish_phases(
        halves, {above[-1].number: [FrameStates(frame.head(1000)), FrameStates(frame.tail(1000))]}, ()
    )
    assert few is not None
    assert few.rows == 2000


def test_many_rows_are_finished_once_their_texts_have_come_before(lab: Lab) -> None:
    """Returns the states as two workers have sent them, each with its dictionaries, several times."""
    request = lab.request("SELECT s, l FROM t ORDER BY s DESC NULLS LAST, l LIMIT 5000 OFFSET 7")
    stage, last = Planner(lab.database.cpu, Costs(workers=2)).plan(request).stages
    random = np.random.default_rng(7)

    def rows(worker: int) -> EncodedStates:
        texts = Dictionary(pl.Series([f"a text of many, {worker % 2 + n * 2}" for n in range(9000)][::-1]))
        codes, valid = random.integers(0, 9000, 4000), random.integers(0, 50, 4000) > 0
        numbers = random.permutation(4000) * 2 + worker - (1 << 40)
        return encode_states(
            [ResultColumn("c0", pl.String(), (codes,), valid, texts), ResultColumn("c1", pl.Int64(), (numbers,))]
        )

    given = [rows(0), rows(1)]
    halves = two_phase.TwoPhasePlan((stage,), last)
    found = [
        two_phase.finish_phases(halves, {stage.number: list(map(two_phase.decode_output, given))}, ()) for _ in range(3)
    ]
    received = {stage.number: [HostFrame(two_phase.decode_output(each).frame) for each in given]}
    (wanted,) = execute_stage(StageTask(last, WHOLE), local_stages.TABLES, received, local_stages.FRAMES)
    kinds = last.root.types
    assert found[0] is None
    for done in found[1:]:
        assert done is not None
        assert done.rows == 5000
        assert local_stages.as_text([done.batch], kinds) == local_stages.as_text(
            [to_batch(wanted.to_polars(), kinds)], kinds
        )


def test_many_rows_of_wide_numbers_are_the_lowerings(lab: Lab) -> None:
    request = lab.request("SELECT n, l FROM t ORDER BY n, l")
    stage, last = Planner(lab.database.cpu, Costs(workers=2)).plan(request).stages
    values = np.arange(4000)
    wide = [ResultColumn("c0", pl.Int128(), (values, values), None), ResultColumn("c1", pl.Int64(), (values,))]
    plain = [ResultColumn("c0", pl.Int128(), (values,), None), ResultColumn("c1", pl.Int64(), (values,))]
    halves = two_phase.TwoPhasePlan((stage,), last)
    assert two_phase.finish_phases(halves, {stage.number: [two_phase.decode_output(encode_states(wide))]}, ()) is None
    done = two_phase.finish_phases(halves, {stage.number: [two_phase.decode_output(encode_states(plain))]}, ())
    assert done is not None
    assert done.rows == 4000
