"""SELECTs that no worker runs, by construct: `gpudb/plan/NOT_ON_WORKERS.md`, which `test_case_files` generates."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import gpudb

PAGE = Path(gpudb.__file__).parent / "plan" / "NOT_ON_WORKERS.md"
_HEAD = """\
# What workers do not support

The SELECTs over tables among the differential suite's cases, by the construct that workers do not support. Such a
statement runs whole on the embedded engine; a NOTICE and EXPLAIN name the construct as this page does. The
[list of functions](../functions/WORKERS.md) shows where workers compute each function.

This page is made by `python -m tests.engine.gpu.test_case_files`, which compares every other statement on 1, 2 and 4 workers
with the embedded engine. A test compares the page's constructs with those that it finds.
"""
_ROW = re.compile(r"^\| ([^|]+) \| \d+ \| `", re.M)


def write(found: Mapping[str, list[str]]) -> None:
    """Writes the page from names of statements by construct; "" is the construct of statements that workers run."""
    total, supported = sum(map(len, found.values())), len(found[""])
    lines = [_HEAD, f"Of {total} statements {supported} run on workers ({100 * supported / total:.1f}%).", ""]
    lines += ["| construct | statements | such as |", "|---|---|---|"]
    rest = sorted(((names, each) for each, names in found.items() if each), key=lambda one: (-len(one[0]), one[1]))
    lines += [f"| {_escaped(each)} | {len(names)} | `{names[0]}` |" for names, each in rest]
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def listed() -> set[str]:
    """The constructs of the page."""
    return {each.replace("&#124;", "|") for each in _ROW.findall(PAGE.read_text(encoding="utf-8"))}


def _escaped(construct: str) -> str:
    return construct.replace("|", "&#124;")
