"""Dictionaries of texts shrink with the texts: removed texts are not kept for ever."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import polars as pl
import pytest

from gpudb.engine.gpu.cache import dictionaries
from gpudb.engine.gpu.cache.partition import WHOLE
from gpudb.engine.gpu.fastpath.single_kernel import match_single_kernel
from gpudb.engine.gpu.fused.packed_cache.packed_tables import PackedTables
from gpudb.engine.gpu.fused.runner import NumpyRunner, ReadyPart
from gpudb.engine.gpu.fused.translate.result_columns import to_frame
from gpudb.engine.gpu.planning.request_planner import Planner
from gpudb.engine.gpu.stage.stage_executor import StageTask, execute_stage
from gpudb.engine.protocol import Request
from gpudb.plan.physical.exchange_planning import Costs
from tests.support.gpu import local_stages
from tests.support.gpu.comparison import EVERY, embedded, sorted_rows
from tests.support.lab import Lab

ROWS = 100
QUERY = "SELECT s, count(*), sum(n) FROM t WHERE n > 1 GROUP BY s"


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    monkeypatch.setattr(dictionaries, "SPARE_TEXTS", 10)
    made = Lab()
    made.run("CREATE TABLE t (s text, n int)")
    yield made
    made.close()


def _replaced(lab: Lab, turn: int) -> Request:
    """Runs the query over rows whose texts are all new."""
    lab.run("DELETE FROM t")
    for part in range(2):
        lab.run(f"INSERT INTO t SELECT '{turn} ' || {part} || i, i % 7 FROM generate_series(1, {ROWS // 2}) i")
    return lab.request(QUERY)


def _bound(lab: Lab, request: Request, kernels: NumpyRunner, key: int) -> ReadyPart:
    stages = Planner(lab.database.cpu, Costs(workers=1), fuse=True).plan(request).stages
    plain = match_single_kernel(stages)
    assert plain is not None
    execute_stage(StageTask(stages[0], WHOLE, key=key), local_stages.TABLES, {}, local_stages.FRAMES, kernels)
    ready = kernels.get(plain.part, key)
    assert ready is not None
    return ready


def _groups(kernels: NumpyRunner, ready: ReadyPart) -> list[object]:
    lanes = kernels.run_quietly(ready)
    assert isinstance(lanes, list)
    return sorted(to_frame(lanes).rows())


def test_texts_that_a_table_has_no_more_are_let_go(lab: Lab) -> None:
    kernels = NumpyRunner(PackedTables(2**28))
    seen: list[weakref.ref[object]] = []
    for turn in range(8):
        request = _replaced(lab, turn)
        rows = local_stages.rows(request, 1, lab.database.cpu, EVERY, kernels=kernels)
        assert sorted_rows(rows) == sorted_rows(embedded(lab, request))
        dictionary = _bound(lab, request, kernels, turn).source.facts(0).dictionary
        assert dictionary is not None
        assert len(dictionary.values) <= 3 * ROWS + dictionaries.SPARE_TEXTS
        seen.append(weakref.ref(dictionary))
        del dictionary
    gc.collect()
    assert sum(each() is not None for each in seen) < 4


def test_a_table_that_is_let_go_leaves_nothing(lab: Lab) -> None:
    tables = PackedTables(2**28)
    kernels = NumpyRunner(tables)
    request = _replaced(lab, 0)
    ready = _bound(lab, request, kernels, 0)
    dictionary = weakref.ref(ready.source.facts(0).dictionary)
    wanted = _groups(kernels, ready)
    ((table,),) = lab.run("SELECT 't'::regclass::oid")
    size = tables.bytes
    assert tables.evict(table) == size > 0
    assert tables.bytes == 0
    assert ready.source.is_stale
    assert _groups(kernels, ready) == wanted
    tables.evict(table)
    del ready
    lab.run("CREATE TABLE u (s text, n int)")
    lab.run("INSERT INTO u VALUES ('a', 5)")
    _bound(lab, lab.request(QUERY.replace("FROM t", "FROM u")), kernels, 1)
    gc.collect()
    assert dictionary() is None


def test_a_part_that_is_bound_keeps_its_codes(lab: Lab) -> None:
    """Columns of a running query may have to be packed again, after the table's are packed with another dictionary."""
    tables = PackedTables(2**28)
    kernels = NumpyRunner(tables)
    ready = _bound(lab, _replaced(lab, 0), kernels, 0)
    wanted = _groups(kernels, ready)
    others = [_bound(lab, _replaced(lab, turn), kernels, turn) for turn in range(1, 5)]
    assert ready.source.is_stale
    assert not others[-1].source.is_stale
    assert _groups(kernels, others[-1]) != wanted
    tables.columns.discard_where(lambda key: True)
    assert _groups(kernels, ready) == wanted
    assert len({_groups(kernels, each)[0] for each in others}) == len(others)


def test_codes_are_stable_where_texts_come_again() -> None:
    dictionary = dictionaries.GrowingDictionary()
    first = dictionary.encode(pl.Series(["b", "", "é", "a"]))
    assert first.tolist() == [0, 1, 2, 3]
    assert dictionary.encode(pl.Series(["a", "c", ""])).tolist() == [3, 4, 1]
    assert dictionary.encode(pl.Series(["c", "b"])).tolist() == [4, 0]
    assert dictionary.encode(pl.Series([], dtype=pl.String)).tolist() == []
    assert dictionary.dictionary.values.to_list() == ["b", "", "é", "a", "c"]


def test_texts_with_equal_hashes_have_codes_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pl.Series, "hash", lambda self: self.str.len_bytes().cast(pl.UInt64))
    dictionary = dictionaries.GrowingDictionary()
    texts = ["a", "bb", "c", "dd", "e"]
    for some in (texts[:2], texts[1:4], texts, texts[::-1]):
        codes = dictionary.encode(pl.Series(some)).tolist()
        assert [dictionary.dictionary.values[code] for code in codes] == some
    assert sorted(dictionary.dictionary.values.to_list()) == texts
