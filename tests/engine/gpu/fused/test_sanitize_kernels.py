"""Order of kernels for a sanitizer: the first ones together cover every kind of step, sink and column."""

from __future__ import annotations

from typing import Any

from gpudb.engine.gpu.fused.columns.packed_column import Encoding
from gpudb.engine.gpu.fused.ir.pipeline import (
    Accumulator,
    Field,
    Filter,
    GroupSink,
    Key,
    LikeMatch,
    Literal,
    Pipeline,
    RowSink,
)
from gpudb.engine.gpu.fused.numpy_backend.executor import Segment
from tests.engine.gpu.fused.sanitize_kernels import FOUND, judged, kinds, ordered

_NUMBER, _TEXT = Encoding(2), Encoding(4, is_text=True)
_VALUE = Field((0, 60_000), False, 0)
_ONE = Literal((1, 1), False, 1)


def kept(name: str, pipeline: Pipeline, rows: int = 5) -> Any:
    return name, pipeline, [Segment(rows, ())], [], []


def test_each_kind_is_met_by_the_first() -> None:
    words = (Accumulator("add", _ONE), Accumulator("add", _VALUE))
    groups = Pipeline((_NUMBER,), (), GroupSink((Key(_VALUE, 0, 9),), words, "dense"))
    hashed = Pipeline((_NUMBER,), (), GroupSink((Key(_VALUE, 0, 2**40),), words, "hash"))
    like = LikeMatch((0, 1), False, Field((0, 0), False, 1), 0, 3)
    texts = Pipeline((_NUMBER, _TEXT), (Filter(like),), RowSink((_VALUE,)), ((1, False),))
    given = [kept("a", groups), kept("b", groups), kept("c", hashed), kept("d", texts), kept("e", texts, 0)]
    found = [each[0] for each in ordered(given)]
    assert sorted(found[:3]) == ["a", "c", "d"]
    assert found[3:] == ["b"]
    assert {"Distances<1>", "load_row"} <= kinds(groups)
    assert "group_slot_together<1>" in kinds(hashed)
    assert {"like<false>", "next_place"} <= kinds(texts)


RACE = """========= Warning: Race reported between Read access at {}+0x460
=========     and Write access at {}+0x630 [32768 hazards]
"""
END = "212 of 212 kernels equal the NumPy backend\n========= RACECHECK SUMMARY: 1 hazard displayed (0 errors, 1 warning)\n"


def test_only_races_of_other_kernels_are_clean() -> None:
    theirs, ours = (RACE.format(name, name) for name in ("cupy_nonzero_kernel", "fused"))
    invalid = "========= Invalid __global__ read of size 4 bytes\n=========     at cupy_copy+0x10\n"
    assert judged(0, END)["status"] == judged(FOUND, theirs + END)["status"] == "clean"
    for said in (ours, theirs + ours, invalid, theirs + invalid, ""):
        assert judged(FOUND, said + END)["status"] == "found something", said
    assert judged(FOUND, theirs + ours + END)["found"] == [ours.strip()]
    assert judged(1, theirs + END)["status"].startswith("status 1")
