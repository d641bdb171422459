"""Where workers compute each documented function and operator: generates `functions/WORKERS.md`.

*lowered*: an operation on columns, which a GPU computes. *host*: the embedded engine's function, over columns that are
copied to the host and back (`lower.expressions.host_fallback`). *once*: evaluated before the statement runs.
*embedded*: a statement with it runs whole on the embedded engine, for a stated reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Literal

from gpudb.duckdb.system_relations import reads_system_catalog
from gpudb.engine.gpu.lower.functions.registry import find_lowering
from gpudb.engine.gpu.lower.groups import percentiles
from gpudb.engine.gpu.lower.groups.aggregates import unsupported_reason
from gpudb.engine.gpu.lower.windows.windows import LOWERED
from gpudb.functions.manual import README, Entry, list_entries
from gpudb.functions.registry import Function, get_implementation
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.plan.tree.nodes import column
from gpudb.sql import bound

Place = Literal["lowered", "host", "once", "embedded"]

PAGE = README.with_name("WORKERS.md")

_HEAD = """\
# Where workers compute each function

Where a statement that runs on workers evaluates each function, operator and aggregate of [the list](README.md).
*lowered*: as an operation on columns, which a GPU runs. *host*: by the embedded engine's function, over columns that
are copied to the host and back, once for each distinct row; `EXPLAIN` names it under *On Host*. *once*: before the
statement runs. *embedded*: the whole statement runs on the embedded engine, for the stated reason.

A lowered function also runs on the host if an operand requires it: a pattern that is not constant, a field of a date
that is not lowered, an aggregate's DISTINCT. Intervals, enums, money, networks, bit strings and `bytea` compare by
their columns. Arrays, records, ranges and `jsonb` have a sort key beside their value: bytes that compare as the value
does, so that they group, join and sort as any other type.

`python -m gpudb.engine.gpu.support_matrix` generates this page; no line of it is written by hand.
"""


def locate(entry: Entry) -> tuple[Place, str]:
    """Returns where a function or operator is computed, and the reason if not on workers."""
    assert entry.target is not None
    function = entry.target if isinstance(entry.target, Function) else entry.target.function
    if function.kind == "w":
        return ("lowered" if function.name in LOWERED else "host"), ""
    if function.kind == "a":
        args = tuple(column(number, kind) for number, kind in enumerate(function.args))
        return _aggregate(bound.Aggregate(function, args, function.result))
    if function.returns_set:
        return "embedded", "returns a set of rows"
    if function.volatile:
        return "embedded", "volatile"
    try:
        find_lowering(function)
    except NotSupportedOnWorkers:
        pass
    else:
        return "lowered", ""
    how = get_implementation(function)
    if how.session is not None:
        return "once", ""
    if how.duckdb is None or (isinstance(how.duckdb, str) and reads_system_catalog(how.duckdb)):
        return "embedded", "reads the system catalog"
    return "host", ""


def _aggregate(call: bound.Aggregate) -> tuple[Place, str]:
    if call.function.ordered_set:
        lowered = call.function.name in percentiles.LOWERED and call.function.args[0].element is None
        return ("lowered" if lowered and call.function.args[1].name != "interval" else "host"), ""
    return ("lowered" if unsupported_reason(call) is None else "host"), ""


def _locate_all() -> Iterator[tuple[Entry, Place, str]]:
    for entry in list_entries():
        if entry.target is not None and entry.mark != "not yet":
            yield entry, *locate(entry)


def render_page() -> str:
    """Returns the text of the page."""
    located = list(_locate_all())
    count = Counter(where for _, where, _ in located)
    summary = ", ".join(f"{count[where]} {where}" for where in ("lowered", "host", "once", "embedded"))
    parts = [_HEAD, f"Of {len(located)} functions, operators and aggregates: {summary}.", ""]
    parts += ["| section | name | overloads | where |", "|---|---|---|---|"]
    rows: dict[tuple[str, str, str], list[str]] = {}
    for entry, where, why in located:
        place = f"{where}: {why}" if why else where
        rows.setdefault((entry.section, entry.name, place), []).append(entry.signature)
    for (section, name, place), signatures in rows.items():
        listed = ", ".join(_code(each) for each in signatures)
        parts.append(f"| {section} | {_code(name)} | {listed} | {place} |")
    return "\n".join(parts) + "\n"


def _code(text: str) -> str:
    return "`" + text.replace("|", "\\|") + "`"


if __name__ == "__main__":
    PAGE.write_text(render_page(), encoding="utf-8")
