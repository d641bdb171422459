"""Which parts of a plan become a kernel: rows that come out are few, and want no dictionary of many texts."""

from __future__ import annotations

import pytest

from gpudb.engine.gpu.fused import match
from gpudb.engine.gpu.planning import Planner
from gpudb.plan.fused import Fused
from gpudb.plan.placing import Costs
from gpudb.plan.traversal import walk_nodes
from tests.engine.conftest import Lab


def test_rows_come_out_of_a_kernel_unless_their_texts_may_be_many(monkeypatch: pytest.MonkeyPatch) -> None:
    lab = Lab()
    try:
        lab.run("CREATE TABLE f (a int, t text, c char(4))")
        lab.run("INSERT INTO f SELECT i, 'x' || i, 'ab' FROM generate_series(1, 1000) i")

        def is_fused(sql: str, scan: int = 0) -> bool:
            stages = Planner(lab.database.cpu, Costs(workers=1, scan=scan), fuse=True).planned(lab.request(sql)).stages
            return any(isinstance(node, Fused) for stage in stages for node in walk_nodes(stage.root))

        assert is_fused("SELECT a, t FROM f WHERE a < 5")
        assert not is_fused("SELECT a, t FROM f WHERE a < 5", scan=1001)
        assert not is_fused("SELECT a, t FROM f WHERE a > 5")
        monkeypatch.setattr(match, "MANY", 999)
        assert is_fused("SELECT a, c FROM f WHERE a < 5")
        assert is_fused("SELECT a FROM f ORDER BY a LIMIT 3")
        assert is_fused("SELECT t, count(*) FROM f GROUP BY t")
        for sql in ("SELECT a, t FROM f WHERE a < 5", "SELECT a, t FROM f ORDER BY a LIMIT 3"):
            assert not is_fused(sql)
    finally:
        lab.close()
