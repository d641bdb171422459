"""Recorded pipelines of the corpus with their inputs: python -m tests.engine.gpu.fused.recorded_pipelines FILE SEED … writes them.

A GPU machine then only needs NumPy, CuPy and pytest: GPUDB_KEPT=FILE pytest --noconftest test_kernels.py.
"""

from __future__ import annotations

import lzma
import pickle
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from unittest.mock import patch

Given = tuple[str, Any, Any, Any, Any]
"""A query, its pipeline, segments, lookup arrays and tables."""


def recorded(seeds: Iterable[int]) -> list[Given]:
    """Records what the NumPy backend runs for the corpus over the data of each seed."""
    from gpudb.engine.gpu.fused.columns import zones
    from gpudb.engine.gpu.fused.packed_cache import packed_tables
    from gpudb.engine.gpu.fused.packed_cache.packed_tables import PackedTables
    from gpudb.engine.gpu.fused.planning import matching
    from tests.support.fused import corpus
    from tests.support.fused.recording import Recording
    from tests.support.gpu import local_stages
    from tests.support.gpu.comparison import EVERY, outcome
    from tests.support.lab import Lab

    found: list[Given] = []
    for seed in seeds:
        lab = Lab()
        try:
            corpus.fill(lab, seed)
            corpus.fill_texts(lab, seed)
            # Texts are unencoded in tables of any size, and small zones let leading rows be skipped.
            texts = PackedTables(2**28, raw_text_rows=0)
            for query in (*corpus.QUERIES, *corpus.TEXTS):
                kernels = Recording(texts) if query in corpus.TEXTS else Recording()
                few, rows = (0, 128) if query in corpus.TEXTS else (matching.MANY_ROWS, zones.ZONE_ROWS)
                request = lab.request(query)
                engine = lab.database.cpu
                with (
                    patch.object(matching, "MANY_ROWS", few),
                    patch.object(zones, "ZONE_ROWS", rows),
                    patch.object(packed_tables, "DISTINCT_SAMPLE", (-1.0, 100)),
                ):
                    outcome(lambda r=request, e=engine, k=kernels: local_stages.rows(r, 1, e, EVERY, kernels=k))
                found += [(query, p.pipeline, p.segments, p.lookups, p.tables) for p in kernels.prepared]
        finally:
            lab.close()
    return found


def read(path: str) -> list[Given]:
    """Reads recorded pipelines from a file."""
    made: list[Given] = pickle.loads(lzma.decompress(Path(path).read_bytes()))
    return made


def main() -> None:
    """Writes the pipelines, compressed."""
    made = recorded(map(int, sys.argv[2:]))
    Path(sys.argv[1]).write_bytes(lzma.compress(pickle.dumps(made, protocol=5), preset=1))
    print(f"{len(made)} pipelines")


if __name__ == "__main__":
    main()
