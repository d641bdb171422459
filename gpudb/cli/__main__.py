"""`python -m gpudb.cli`."""

from __future__ import annotations

from gpudb.cli.main import main

main()
