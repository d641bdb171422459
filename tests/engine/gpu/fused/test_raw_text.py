"""Unencoded texts: LIKE over their bytes, packing, and queries."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudb.engine.gpu.fused.codegen.building_blocks import load_headers
from gpudb.engine.gpu.fused.codegen.kernel import generate_kernel
from gpudb.engine.gpu.fused.columns import packed_column, text_columns, zones
from gpudb.engine.gpu.fused.cuda import nvrtc
from gpudb.engine.gpu.fused.numpy_backend import like
from gpudb.engine.gpu.fused.packed_cache import packed_tables
from gpudb.engine.gpu.fused.packed_cache.packed_tables import PackedTables
from gpudb.engine.gpu.fused.packed_cache.zone_pruning import slice_column
from gpudb.engine.gpu.fused.planning import matching
from gpudb.plan.physical.exchange_planning import Costs
from tests.support.fused import corpus
from tests.support.fused.recording import Recording
from tests.support.gpu import local_stages
from tests.support.gpu.comparison import embedded, outcome
from tests.support.lab import Lab

ANY_SIZE = Costs(scan=0)
FALLS_BACK = {"SELECT count(*), count(t) FROM x WHERE t <> 'a' AND t IS NOT NULL"}
"""Queries that return text values: they need codes."""
SOME = st.text(alphabet="ab%_\\é日😀A", max_size=9)


def _like(text: str, pattern: str) -> bool:
    """LIKE by its definition."""
    if not pattern:
        return not text
    head, rest = pattern[0], pattern[1:]
    if head == "%":
        return any(_like(text[place:], rest) for place in range(len(text) + 1))
    if head == "\\":
        head, rest = rest[0], rest[1:]
    elif head == "_":
        return bool(text) and _like(text[1:], rest)
    return text[:1] == head and _like(text[1:], rest)


@given(st.lists(SOME, max_size=8), SOME)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_patterns_match_as_like_is_defined(some: list[str], pattern: str) -> None:
    made = like.encode_pattern(pattern)
    if re.search(r"(?<!\\)(\\\\)*\\$", pattern):
        assert made is None
        return
    assert made is not None
    found = like.match_texts([each.encode() for each in some], made, fold=False)
    assert found.tolist() == [_like(each, pattern) for each in some]
    plain = [each.encode() for each in some if each.isascii()]
    folded = like.lowercase(made)
    assert (folded is None) == (not pattern.isascii())
    if folded is not None:
        found = like.match_texts(plain, folded, fold=True)
        assert found.tolist() == [_like(each.decode().lower(), pattern.lower()) for each in plain]


@given(st.lists(st.lists(st.none() | SOME, min_size=1, max_size=90), min_size=1, max_size=4), st.integers(0, 1))
@settings(max_examples=20, deadline=None, derandomize=True)
def test_texts_are_packed_and_cut(parts: list[list[str | None]], cut: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_columns, "GROUP_ROWS", 32)
        patch.setattr(text_columns, "_CONVERTED_ROWS", 64)
        made = []
        for part in parts:
            held = [(each or "").encode() for each in part]
            ends = np.cumsum([len(each) for each in held]).astype(np.int64)
            valid = np.array([each is not None for each in part])
            data = np.frombuffer(b"".join(held), np.uint8)
            made.append(
                packed_column.pack_texts(
                    text_columns.raw_text_from_offsets(ends, data), len(part), None if valid.all() else valid
                )
            )
        whole = packed_column.concatenate(made)
        wanted = [each for part in parts for each in part]
        first = min(64 * cut, len(wanted))
        some = slice_column(whole, first, len(wanted))
        assert some.texts is not None
        found = some.texts.to_list(0, some.rows)
        there = some.decode()[1]
        assert found == [(each or "").encode() for each in wanted[first:]]
        nulls = [False] * len(found) if there is None else (~there).tolist()
        assert nulls == [each is None for each in wanted[first:]]
        assert some.texts.ascii == all((each or "").isascii() for each in wanted)


@pytest.fixture(scope="module", params=[1, 4, 5, 7])
def lab(request: pytest.FixtureRequest) -> Iterator[Lab]:
    made = Lab()
    corpus.fill(made, request.param)
    corpus.fill_texts(made, request.param)
    yield made
    made.close()


@pytest.mark.timeout(300)
def test_queries_over_texts_answer_as_the_embedded_engine(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(matching, "MANY_ROWS", -1)
    monkeypatch.setattr(packed_tables, "DISTINCT_SAMPLE", (-1.0, 100))
    monkeypatch.setattr(zones, "ZONE_ROWS", 128)
    tables = PackedTables(2**28, raw_text_rows=0)
    cut = False
    some = bool(embedded(lab, lab.request("SELECT 1 FROM x")))
    for query in corpus.TEXTS:
        request = lab.request(query)
        wanted = outcome(lambda r=request: embedded(lab, r))
        for workers in (1, 3):
            kernels = Recording(tables)
            found = outcome(
                lambda r=request, k=kernels, w=workers: local_stages.rows(r, w, lab.database.cpu, ANY_SIZE, kernels=k)
            )
            assert found == wanted, query
        # A worker whose files are all skipped runs nothing.
        for prepared in (each for each in kernels.prepared if each.segments):
            columns = [column for segment in prepared.segments for column in segment.columns]
            cut |= any(column.texts is not None and column.texts.skip > 0 for column in columns)
            assert bool(prepared.raw_fields) == (some and query not in FALLS_BACK), query
            kernel = generate_kernel(prepared.pipeline)
            made = nvrtc.compile_source(kernel.source, load_headers(), "sm_90", folder=tmp_path)
            assert made.spilled < 64
        assert kernels.prepared or not some, query
    assert cut == (len(embedded(lab, lab.request("SELECT 1 FROM x"))) > 300)


def test_columns_of_few_texts_keep_their_dictionary(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "MANY_ROWS", -1)
    lab.run("CREATE TABLE IF NOT EXISTS few AS SELECT 'n' || i % 3 AS t, 'n' || i AS u FROM generate_series(1, 900) i")
    for column, texts_are in (("t", False), ("u", True)):
        kernels = Recording(PackedTables(2**28, raw_text_rows=0))
        request = lab.request(f"SELECT count(*) FROM few WHERE {column} LIKE '%2'")
        assert local_stages.rows(request, 1, lab.database.cpu, ANY_SIZE, kernels=kernels) == embedded(lab, request)
        (prepared,) = kernels.prepared
        assert bool(prepared.raw_fields) == texts_are
    # Without permission no texts are stored unencoded.
    kernels = Recording(PackedTables(2**28))
    assert local_stages.rows(request, 1, lab.database.cpu, ANY_SIZE, kernels=kernels) == embedded(lab, request)
    assert not kernels.prepared[0].raw_fields


def test_case_is_ignored_in_ascii_alone(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "MANY_ROWS", -1)
    monkeypatch.setattr(packed_tables, "DISTINCT_SAMPLE", (-1.0, 100))
    lab.run("CREATE TABLE IF NOT EXISTS odd AS SELECT 'É' || i AS t FROM generate_series(1, 9) i")
    request = lab.request("SELECT count(*) FROM odd WHERE t ILIKE 'é_'")
    kernels = Recording(PackedTables(2**28, raw_text_rows=0))
    assert local_stages.rows(request, 1, lab.database.cpu, ANY_SIZE, kernels=kernels) == embedded(lab, request)
    assert not any(prepared.raw_fields for prepared in kernels.prepared)


def test_slices_keep_their_place() -> None:
    held = text_columns.raw_text_from_offsets(np.arange(1, 200, dtype=np.int64), np.full(199, 97, np.uint8))
    assert replace(held, skip=64).to_list(0, 2) == [b"a", b"a"]
