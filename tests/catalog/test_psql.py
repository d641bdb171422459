"""psql's backslash commands: the same output as against PostgreSQL."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tests.support import catalog_differences
from tests.support.catalog_sides import Side

PSQL = shutil.which("psql")
pytestmark = pytest.mark.skipif(PSQL is None, reason="psql is not installed")

COMMANDS = (
    r"\d", r"\d customers", r"\d+ customers", r"\d orders", r"\d parts", r"\d+ parts", r"\d parts_by_m", r"\d v_cust", r"\d sales.regions", r"\d nothing", r"\d+",
    r"\dt", r"\dt+", r"\dt sales.*", r"\dn", r"\dn+", r"\du", r"\l", r"\df", r"\df+ upper", r"\df pg_catalog.array_*",
    r"\dv", r"\di", r"\dT", r"\dT+", r"\dT+ sales.*", r"\d moods", r"\d domained", r"\d sales.place", r"\d sales.placed", r"\d numbered", r"\d sales.summed", r"\dm+ sales.*", r"\d numbered_s_seq", r"\d numbered_id_seq", r"\d sales.loose", r"\ds+ sales.*", r"\dD+", r"\dD sales.*", r"\dT pg_catalog.*", r"\ds", r"\dp", r"\dC", r"\dd", r"\db", r"\dE", r"\dm", r"\dD",
    r"\d measured", r"\d+ measured", r"\d measured_20", r"\d+ measured_20", r"\d+ measured_21", r"\d+ measured_21a", r"\d+ measured_21d", r"\d+ measured_old", r"\d measured_pkey", r"\d+ measured_by_peak", r"\d measured_20_pkey", r"\dP", r"\dP+", r"\dPtn", r"\d+ sales.hashed", r"\d+ sales.ranged", r"\d+ sales.ranged_1", r"\d+ sales.ranged_2", r"\d+ sales.ranged_3", r"\d+ sales.ranged_4", r"\d+ sales.ranged_d", r"\d+ sales.listed", r"\d+ sales.listed_1", r"\d+ sales.listed_2", r"\d+ sales.listed_d",
    r"\do pg_catalog.+", r"\da pg_catalog.*", r"\dA", r"\dc", r"\des", r"\det", r"\dew", r"\dF", r"\dFd", r"\dFp",
    r"\dg", r"\dL", r"\dO pg_catalog.*", r"\dRp", r"\dRs", r"\dX", r"\dy", r"\dconfig max_index_keys",
)  # fmt: skip

# Patterns of lines that may differ.
_UNLIKE = ("Access method", "iceberg", "heap", "Size", " bytes|", "kB|", "=CTc/")


def _printed(side: Side, command: str) -> list[str]:
    assert PSQL is not None
    done = subprocess.run(
        [PSQL, "-X", "-A", "-q", "-d", side.dsn, "-c", command], capture_output=True, text=True, timeout=60
    )
    lines = (done.stdout + done.stderr).splitlines()
    kept = [line for line in lines if not any(pattern.search(line) for pattern in catalog_differences.ROWS)]
    shown = [line.replace(catalog_differences.BOOTSTRAP, "gpudb") for line in kept if not line.startswith("(")]
    return [line for line in shown if not any(word in line for word in _UNLIKE)]


@pytest.mark.parametrize("command", COMMANDS)
def test_same_as_postgresql(command: str, postgresql: Side, gpudb: Side) -> None:
    """psql's output by lines, apart from what `catalog_differences` lists."""
    expected, actual = _printed(postgresql, command), _printed(gpudb, command)
    if command in (r"\du", r"\dg"):
        # gpudb's user on one side is the bootstrap superuser, which has every attribute.
        assert [line.split("|")[0] for line in actual] == [line.split("|")[0] for line in expected]
        return
    assert actual == expected
