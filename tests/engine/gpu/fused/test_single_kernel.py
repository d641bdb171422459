"""One kernel's groups, finalized without frames: the rows that frames return, and a fallback to frames."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from gpudb.engine.gpu.backend.base import ComputedFrame
from gpudb.engine.gpu.cache.partition import WHOLE, Partition
from gpudb.engine.gpu.cache.strings import MAX_BYTES, SHORT_BYTES, StringCache
from gpudb.engine.gpu.exchange.result_codec import to_batch
from gpudb.engine.gpu.exchange.state_codec import decode_states, encode_states
from gpudb.engine.gpu.fastpath.single_kernel import match_single_kernel
from gpudb.engine.gpu.finalize.host import FinalResult
from gpudb.engine.gpu.finalize.merge import (
    MAX_MERGED_ROWS,
    KernelStates,
    MergedGroups,
    NotMergeable,
    StateColumn,
    _number_groups,
)
from gpudb.engine.gpu.fused.packed_cache.packed_tables import PackedTables
from gpudb.engine.gpu.fused.runner import NumpyRunner
from gpudb.engine.gpu.fused.translate.result_columns import ResultColumn
from gpudb.engine.gpu.fused.translate.typed_values import Dictionary
from gpudb.engine.gpu.planning.request_planner import Planner
from gpudb.engine.gpu.stage.stage_executor import StageTask, execute_stage
from gpudb.plan.physical.exchange_planning import Costs
from tests.support.fused.fast_path import JOIN
from tests.support.gpu import local_stages
from tests.support.gpu.comparison import sorted_rows
from tests.support.lab import Lab

ROWS = """
CREATE TABLE t AS SELECT nullif(g % 5, 4)::int2 AS k, nullif(g % 3, 0) = 1 AS b, g - 20000 AS i, g::int8 << 30 AS l,
    (g / 7.0 - 2)::numeric(9,3) AS n, CASE g % 9 WHEN 0 THEN 'NaN'::float8 WHEN 1 THEN NULL ELSE g / 4.0 END AS r,
    nullif('s' || g % 4, 's2') AS s, 'é' || g % 13 AS e, date '2001-02-03' + g % 40 AS d,
    timestamp '1999-12-31 23:59:59.5' + g % 9 * interval '1 hour' AS m FROM generate_series(1, 40000) g
"""
STRAIGHT = (
    JOIN,
    "SELECT k, count(*), count(r), sum(i), avg(i), min(n) FROM t GROUP BY k ORDER BY k DESC",
    "SELECT sum(l), avg(n), sum(r), avg(r), max(l) FROM t WHERE r = r",
    "SELECT sum(l * 70000::int8 - i), sum(n * 30000) FROM t WHERE i < 1000",
    "SELECT k, sum(CASE WHEN b THEN n ELSE 0 END), avg(CASE WHEN b THEN 1 ELSE n END) FROM t GROUP BY k ORDER BY k",
    "SELECT avg(i), sum(n), max(s), min(k), count(*) FROM t WHERE k = 77",
    "SELECT s, min(d), max(m), bool_and(b), bool_or(b), max(n), max(e) FROM t GROUP BY s ORDER BY 1 NULLS FIRST",
    "SELECT b, s, sum(n) FROM t GROUP BY s, b ORDER BY 3 DESC, b NULLS FIRST, s LIMIT 5 OFFSET 2",
    "SELECT max(r) AS h, k FROM t GROUP BY k ORDER BY h DESC NULLS LAST, k",
    "SELECT d, e, m, avg(i) FROM t GROUP BY d, e, m ORDER BY d, e, m",
    "SELECT k, stddev(n), var_pop(i), avg(i + 7), sum(i - 3), variance(n + 1) FROM t GROUP BY k ORDER BY k",
    "SELECT e, d, s, count(*) FROM t GROUP BY e, d, s ORDER BY s DESC, e, d DESC LIMIT 300",
    "SELECT d, m, b, count(*) FROM t GROUP BY d, m, b ORDER BY m DESC, d, b LIMIT 70",
    "SELECT e, s FROM t GROUP BY e, s ORDER BY e LIMIT 1 OFFSET 9000",
    "SELECT s, e, max(e) FROM t WHERE k IS NULL AND s IS NULL GROUP BY s, e ORDER BY e DESC",
)
FRAMES = ("SELECT sum(CASE WHEN r = 5 THEN 'infinity'::float8 ELSE r END) FROM t WHERE r <> 'NaN'",)
"""Statements that need frames, which is only known from the groups."""
MORE = ("SELECT k, sum(i) + 1 FROM t GROUP BY k", "SELECT i, n FROM t WHERE i = 7", "SELECT a.s FROM t a, t b LIMIT 1")


@pytest.fixture(scope="module")
def table(lab: Lab) -> Lab:
    lab.run(ROWS)
    return lab


def _ways(lab: Lab, sql: str) -> tuple[bool, list[tuple[str | None, ...]], list[tuple[str | None, ...]]]:
    """Returns whether a statement is finalized without frames, its rows once prepared, and staged execution's rows."""
    request = lab.request(sql)
    stages = Planner(lab.database.cpu, Costs(workers=1), fuse=True).plan(request).stages
    plain, kernels, key = match_single_kernel(stages), NumpyRunner(PackedTables(2**28)), "parameters"
    assert plain is not None
    given: dict[int, list[ComputedFrame]] = {}
    for stage in stages:
        task = StageTask(stage, WHOLE, request.parameters, key=key)
        given[stage.number] = execute_stage(task, local_stages.TABLES, given, local_stages.FRAMES, kernels)
    kinds = stages[-1].root.types
    (usual,) = given[stages[-1].number]
    ready = kernels.get(plain.part, key)
    assert ready is not None
    for _ in range(2):
        made = plain.run(kernels, ready, request.parameters)
    if isinstance(made, FinalResult):
        found = local_stages.as_text([made.batch], kinds)
    else:
        last = StageTask(stages[-1], WHOLE, request.parameters)
        (rest,) = execute_stage(last, local_stages.TABLES, {plain.number: [made]}, local_stages.FRAMES)
        found = local_stages.as_text([to_batch(rest.to_polars(), kinds)], kinds)
    assert kernels.take_reports()[1:] == (), "of what runs so nothing is told"
    return isinstance(made, FinalResult), found, local_stages.as_text([to_batch(usual.to_polars(), kinds)], kinds)


@pytest.mark.parametrize("sql", STRAIGHT)
def test_rows_are_those_of_frames(table: Lab, sql: str) -> None:
    finished, found, wanted = _ways(table, sql)
    assert finished
    assert found == wanted or ("ORDER" not in sql and sorted_rows(found) == sorted_rows(wanted))


@pytest.mark.parametrize("sql", FRAMES)
def test_what_takes_frames_goes_on_with_the_same_groups(table: Lab, sql: str) -> None:
    finished, found, wanted = _ways(table, sql)
    assert not finished
    assert sorted_rows(found) == sorted_rows(wanted)


@pytest.mark.parametrize("sql", MORE)
def test_what_is_more_than_a_kernels_groups(table: Lab, sql: str) -> None:
    assert (
        match_single_kernel(Planner(table.database.cpu, Costs(workers=1), fuse=True).plan(table.request(sql)).stages)
        is None
    )


@pytest.mark.parametrize("workers", [2, 3])
@pytest.mark.parametrize("sql", [sql for sql in STRAIGHT if "LIMIT" not in sql or "ORDER" in sql])
def test_groups_of_several_workers_are_put_together_by_columns(table: Lab, sql: str, workers: int) -> None:
    """Each worker has its own texts, and some lack groups that others have."""
    request = table.request(sql)
    stages = Planner(table.database.cpu, Costs(workers=1), fuse=True).plan(request).stages
    plain, kernels = match_single_kernel(stages), NumpyRunner(PackedTables(2**28))
    assert plain is not None
    given: dict[int, list[ComputedFrame]] = {}
    for stage in stages[: plain.number]:
        given[stage.number] = execute_stage(
            StageTask(stage, WHOLE, request.parameters), local_stages.TABLES, given, local_stages.FRAMES
        )
    found = []
    for share in (Partition(index, workers) for index in range(workers)):
        task = StageTask(stages[plain.number], share, request.parameters, key=share)
        execute_stage(
            replace(task, stage=replace(task.stage, output="gather")),
            local_stages.TABLES,
            given,
            local_stages.FRAMES,
            kernels,
        )
        ready = kernels.get(plain.part, share)
        assert ready is not None
        lanes = kernels.run_quietly(ready)
        assert isinstance(lanes, list)
        found.append(KernelStates(*decode_states(pickle.loads(pickle.dumps(encode_states(lanes))))))
    done = plain.final_stage.finalize(found, request.parameters)
    assert done is not None
    kinds = stages[-1].root.types
    rows, wanted = (
        local_stages.as_text([done.batch], kinds),
        local_stages.as_text(table.database.cpu.run(request), kinds),
    )
    assert rows == wanted or ("ORDER" not in sql and sorted_rows(rows) == sorted_rows(wanted))


@pytest.mark.parametrize("seed", range(30))
def test_rows_have_a_number_in_common_that_have_the_same_keys(seed: int) -> None:
    draws = np.random.default_rng(seed)
    ends = [2, 40, 2**31, 2**60, 2**63 - 1]
    columns = []
    for _ in range(int(draws.integers(0, 6))):
        end = int(draws.choice(ends))
        few = draws.integers(-end, end, int(draws.integers(1, 5)))
        values = few[draws.integers(0, len(few), 200)]
        if draws.random() < 0.2:
            values = np.array([value << 40 for value in values.tolist()], object)
        valid = draws.random(200) < 0.7 if draws.random() < 0.5 else None
        columns.append(StateColumn(values if valid is None else np.where(valid, values, 0), valid))
    keys = list(zip(*(each.to_list() for each in columns), strict=True)) or [()] * 200
    made = _number_groups(columns, 200).tolist()
    assert len(set(made)) == len(set(keys)) == len(set(zip(made, keys, strict=True)))


@pytest.mark.parametrize("few", [0, 1 << 16])
def test_texts_are_ordered_and_taken_by_their_codes(monkeypatch: pytest.MonkeyPatch, few: int) -> None:
    monkeypatch.setattr("gpudb.engine.gpu.backend.dictionary._CACHED_TEXTS", few)
    texts = ["b", "", "é", "aa", "Z", "a", "zz", "𝄞"]
    dictionary = Dictionary(pl.Series(texts))
    codes = np.array([5, 0, 7, 1, 5, 2, 4, 3, 6])
    valid = codes != 1
    taken = [texts[code] for code in codes]
    assert np.array_equal(np.argsort(dictionary.rank(codes), kind="stable"), sorted(range(9), key=taken.__getitem__))
    assert dictionary.decode_to_arrow(codes).to_pylist() == taken
    assert dictionary.decode_to_arrow(codes, valid).to_pylist() == [text or None for text in taken]
    none = Dictionary(pl.Series([], dtype=pl.String))
    assert none.decode_to_arrow(np.zeros(2, np.int64), np.zeros(2, bool)).to_pylist() == [None, None]
    assert len(none.rank(np.zeros(2, np.int64))) == 2


def _sent_texts(texts: list[str], codes: list[int], valid: list[bool] | None = None) -> KernelStates:
    """A text key as a worker sends it, and as it is received."""
    there = None if valid is None else np.array(valid)
    lane = ResultColumn(
        "k0", pl.String(), (np.array(codes, np.int64),), there, Dictionary(pl.Series(texts, dtype=pl.String))
    )
    return KernelStates(*decode_states(pickle.loads(pickle.dumps(encode_states([lane])))))


def _keys(*workers: KernelStates) -> list[str | None]:
    return MergedGroups(workers, 1).key("k0").to_list()


@pytest.mark.parametrize("long", [0, SHORT_BYTES, MAX_BYTES])
def test_texts_that_come_again_are_looked_at_once(long: int) -> None:
    """A cached column has the same texts at the same positions.

    Long texts are cached from the second time on, longer ones never.
    """
    b, c = "b" + "x" * long, "c"

    def first() -> KernelStates:
        return _sent_texts(["a", b, c], [1, 0])

    again = [first().column("k0").texts for _ in range(3)]
    assert (again[0] is again[1]) == (not long)
    assert (again[1] is again[2]) == (long < MAX_BYTES)
    for _ in range(2):
        assert sorted(_keys(first(), _sent_texts([c, b], [0, 1])), key=str) == ["a", b, c]
        assert sorted(_keys(_sent_texts([c, b], [0, 1]), first()), key=str) == ["a", b, c]
        assert sorted(_keys(first(), _sent_texts(["d", "a"], [1, 0])), key=str) == ["a", b, "d"]
        assert sorted(_keys(first(), _sent_texts(["a", b], [1, 0], [True, False])), key=str) == sorted(
            [None, "a", b], key=str
        )
        assert sorted(_keys(_sent_texts([], [0], [False]), first()), key=str) == sorted([None, "a", b], key=str)


@pytest.mark.parametrize("count", [MAX_MERGED_ROWS // 2, MAX_MERGED_ROWS // 2 + 1])
def test_many_groups_of_several_workers_are_put_together_where_their_texts_are_known(count: int) -> None:
    texts = [f"name {number * 7919 % count}" for number in range(count)]

    def workers() -> tuple[KernelStates, KernelStates]:
        return _sent_texts(texts, list(range(count))), _sent_texts(texts, list(range(count - 1, -1, -1)))

    with pytest.raises(NotMergeable):  # for the first time
        _keys(*workers())
    if 2 * count > MAX_MERGED_ROWS:
        with pytest.raises(NotMergeable):
            _keys(*workers())
        return
    for _ in range(2):
        assert sorted(filter(None, _keys(*workers()))) == sorted(texts)


def test_texts_are_kept_as_long_as_there_is_room() -> None:
    made: list[str] = []

    def make(key: str) -> str:
        made.append(key)
        return key

    kept = StringCache(make, few=10, room=25)
    assert [kept.get(key, 10) for key in "abac"] == list("abac")  # c for b
    assert [kept.get(key, 10) for key in "acb"] == list("acb")
    assert made == ["a", "b", "c", "b"]
    assert kept.get("many", 11) is None
    assert kept.get("many", 11) == kept.get("many", 11) == "many"
    assert kept.get("more", MAX_BYTES + 1) is kept.get("more", MAX_BYTES + 1) is None
    assert made == ["a", "b", "c", "b", "many"]


def test_few_texts_are_sent_whole_and_integers_are_joined_as_they_are() -> None:
    """Workers with the same texts share one dictionary, even if the groups of one lack texts of the other's."""
    texts = [f"t{number}" for number in range(9)]
    lanes = [ResultColumn("k0", pl.String(), (np.array([8, 3]),), None, Dictionary(pl.Series(texts)))]
    lanes.append(ResultColumn("a0", pl.Int128(), (np.array([2**60, -5]),)))
    lanes.append(ResultColumn("a1", pl.Float64(), (np.array([0.5, 2.0]),)))
    others = [replace(lanes[0], parts=(np.array([3, 0]),)), *lanes[1:]]
    taken_by = [
        KernelStates(*decode_states(pickle.loads(pickle.dumps(encode_states(each))))) for each in (lanes, others)
    ]
    assert taken_by[0].texts("k0") is taken_by[1].texts("k0")
    assert taken_by[0].places == {"k0": 0, "a0": 1}
    states = MergedGroups(taken_by, 1)
    assert dict(zip(states.key("k0").to_list(), states.values("a0", "sum").to_list(), strict=True)) == {
        "t0": -5, "t3": 2**60 - 5, "t8": 2**60,
    }  # fmt: skip
    assert sorted(states.values("a1", "sum").to_list()) == [0.5, 2.0, 2.5]
    more = [
        KernelStates(
            *decode_states(encode_states([lanes[0], ResultColumn("a0", pl.Int128(), (np.array([2**62, 2**62]),))]))
        )
        for _ in range(2)
    ]
    assert MergedGroups(more, 1).values("a0", "sum").to_list() == [2**63, 2**63]
