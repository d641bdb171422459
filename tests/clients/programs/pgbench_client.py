"""pgbench: its tables and its own transactions, in all protocols, a script."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from scenario import check, same, version


def pgbench(*options: str) -> str:
    """What pgbench prints."""
    done = subprocess.run(["pgbench", *options], capture_output=True, text=True, timeout=200)
    if done.returncode:
        raise AssertionError((done.stderr or done.stdout).strip().splitlines()[-1])
    return done.stdout + done.stderr


version(re.search(r"[\d.]+", pgbench("--version"))[0])
with check("connect", "initialized"):
    pgbench("-i", "-s", "1", "-q")
with check("migrations", "with foreign keys, on the server's side"):
    pgbench("-i", "-s", "1", "-q", "--foreign-keys", "-I", "dtGvpf")
for protocol in ("simple", "extended", "prepared"):
    with check("prepared" if protocol != "simple" else "queries", f"select only, {protocol}"):
        same(
            "transactions actually processed: 40/40" in pgbench("-S", "-c", "2", "-t", "20", "-M", protocol, "-n"), True
        )
with check("transactions", "TPC-B, tried again after conflicts"):
    same("transactions actually processed: 20/20" in pgbench("-c", "2", "-t", "10", "--max-tries=50", "-n"), True)
with check("queries", "a script with variables and \\gset"):
    Path("script.sql").write_text("\\set a random(1, 100)\nSELECT :a + 1 AS b \\gset\nSELECT :b;\n")
    same("transactions actually processed: 20/20" in pgbench("-f", "script.sql", "-t", "20", "-n"), True)
