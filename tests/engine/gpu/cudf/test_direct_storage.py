"""How a server on a GPU reads files: directly where nvidia-fs counts its reads, else through the host's memory."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gpudb.engine.direct_storage import has_kernel_module
from tests.support.lab import ON_GPUS

pytestmark = ON_GPUS

COUNTERS = Path("/proc/driver/nvidia-fs/stats")
ROWS = 4_000_000


def _count_reads() -> int:
    """The reads that the kernel module has counted, if it is there."""
    found = re.search(r"^Reads\s*:\s*n=(\d+)", COUNTERS.read_text(), re.MULTILINE) if COUNTERS.exists() else None
    return int(found[1]) if found else 0


@pytest.mark.parametrize("setting", ["auto", "off"])
def test_the_way_is_the_one_that_explain_tells(tmp_path: Path, setting: str) -> None:
    import psycopg

    from gpudb.cli.program import Program

    path = tmp_path / "numbers.parquet"
    pq.write_table(pa.table({"a": range(ROWS)}), path, compression="none", use_dictionary=False)
    program: Any = Program(
        tmp_path / "data", tmp_path / "log", engine="gpu", environment={"GPUDB_DIRECT_STORAGE": setting}
    )
    try:
        with psycopg.connect(program.url, autocommit=True) as client:
            client.execute("SET gpudb.fallback = off")
            before = _count_reads()
            plan = "\n".join(line for (line,) in client.execute(f"EXPLAIN ANALYZE SELECT sum(a) FROM '{path}'"))
            assert client.execute(f"SELECT sum(a) FROM '{path}'").fetchone() == (ROWS * (ROWS - 1) // 2,)
    finally:
        program.stop()
    direct = setting == "auto" and has_kernel_module()
    # A file system may refuse direct reads, which then go through the host.
    assert f"by libcudf, {'GPUDirect Storage' if direct else 'POSIX'}" in plan
    if not direct:
        assert _count_reads() == before
