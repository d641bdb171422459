"""The command line: `gpudb serve | sql | load | demo | doctor`, one command a file, imported when it runs.

Imports every room; nothing imports it.
"""

from __future__ import annotations

from gpudb.cli.main import main

__all__ = ["main"]
