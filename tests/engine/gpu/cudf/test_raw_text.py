"""Unencoded texts on a GPU: read as on the host, and LIKE over them by kernels, with the embedded engine's results."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from gpudb.engine.gpu.cache.partition import WHOLE
from gpudb.engine.gpu.fused.packed_cache import packed_tables
from gpudb.engine.gpu.fused.packed_cache.packed_tables import PackedTables
from gpudb.engine.gpu.fused.planning import matching
from tests.engine.gpu import survey
from tests.support.fused import corpus
from tests.support.gpu import local_stages
from tests.support.gpu.comparison import EVERY, embedded, outcome
from tests.support.lab import Lab

pytestmark = pytest.mark.gpu


@pytest.fixture(params=[1, 4, 5])
def lab(request: pytest.FixtureRequest) -> Any:
    made = Lab()
    corpus.fill(made, request.param)
    corpus.fill_texts(made, request.param)
    yield made
    made.close()


def test_texts_are_read_as_on_the_host(frames: Any, lab: Lab) -> None:
    import cupy

    from gpudb.engine.gpu.cudf.files.column_chunks import CudfChunkReader

    table = next(each for each in lab.request("SELECT 1").snapshot.relations.values() if each.name == "x")
    for column in table.columns[-2:]:
        found = []
        for tables in (PackedTables(2**28, raw_text_rows=0), PackedTables(2**28, CudfChunkReader(), raw_text_rows=0)):
            (run,) = tables.runs(table, WHOLE, table.files)
            packed = tables.column(table, column, run, WHOLE, True)
            assert packed.texts is not None
            texts = packed.texts
            if not isinstance(texts.data, type(cupy.zeros(0))):
                found.append((texts.to_list(0, packed.rows), packed.decode()[1], texts.ascii))
                continue
            ends, data = texts.offsets(0, packed.rows, cupy).get().tolist(), texts.data.get().tobytes()
            valid = packed.decode(xp=cupy)[1]
            held = [data[a:b] for a, b in pairwise(ends)]
            found.append((held, None if valid is None else valid.get(), texts.ascii))
        (one, there, plain), (other, known, ascii_alone) = found
        assert one == other
        assert plain == ascii_alone
        assert (there is None) == (known is None)
        assert there is None or (there == known).all()


@pytest.mark.timeout(300)
def test_queries_over_texts_answer_as_the_embedded_engine(
    frames: Any, lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matching, "MANY_ROWS", -1)
    monkeypatch.setattr(packed_tables, "DISTINCT_SAMPLE", (-1.0, 100))
    tables, kernels = survey.resident(frames, raw_text_rows=0)
    for query in corpus.TEXTS:
        request = lab.request(query)
        wanted = outcome(lambda r=request: embedded(lab, r))
        for _ in range(2):
            found = outcome(lambda r=request: local_stages.rows(r, 1, lab.database.cpu, EVERY, frames, tables, kernels))
            assert found == wanted, query
        assert kernels.declined is None, f"{query}: {kernels.declined}"
