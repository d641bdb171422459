"""Where workers compute each documented function and operator: generates `functions/WORKERS.md`.

*lowered*: an operation on columns, which a GPU computes. *host*: the embedded engine's function, over columns that are
copied to the host and back (`lower.host_fallback`). *once*: evaluated before the statement runs. *embedded*: a
statement with it runs whole on the embedded engine, for a stated reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Literal

from gpudb.duckdb.system_relations import reads_system_catalog
from gpudb.engine.gpu.lower import percentiles
from gpudb.engine.gpu.lower.aggregates import unsupported_reason
from gpudb.engine.gpu.lower.registry import find_lowering
from gpudb.engine.gpu.lower.windows import LOWERED
from gpudb.functions.manual import README, Entry, entries
from gpudb.functions.registry import Function, implementation
from gpudb.plan.errors import NotCarried
from gpudb.plan.tree.nodes import column
from gpudb.sql import bound

Place = Literal["lowered", "host", "once", "embedded"]

PAGE = README.with_name("WORKERS.md")

_HEAD = """\
# Where workers compute each function

Every function, operator and aggregate of [the list](README.md) that there is, by where a statement that runs on
workers has it computed. *lowered*: an operation on columns, which a GPU computes. *host*: the embedded engine's
function, over columns that are copied to the host and back; `EXPLAIN` names it under *On Host*. *once*: worked out
before the statement runs. *embedded*: the whole statement runs on the embedded engine, for the reason beside it.

A lowered function goes to the host too where an operand asks for it: a pattern that is no constant, a field of a date
that is not one of the plain ones, an aggregate's DISTINCT. Operators of intervals, enums, money, networks, bit strings
and `bytea` compare on their columns; arrays, records, ranges and `jsonb` lie beside a key of bytes that compares as
they do, so that they group, join and sort as any other type.

This page is made by `python -m gpudb.engine.gpu.support_matrix`; no line of it is written by hand.
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
        return "embedded", "gives a set of rows"
    if function.volatile:
        return "embedded", "another value each time"
    try:
        find_lowering(function)
    except NotCarried:
        pass
    else:
        return "lowered", ""
    how = implementation(function)
    if how.session is not None:
        return "once", ""
    if how.duckdb is None or (isinstance(how.duckdb, str) and reads_system_catalog(how.duckdb)):
        return "embedded", "looks into the system catalog"
    return "host", ""


def _aggregate(call: bound.Aggregate) -> tuple[Place, str]:
    if call.function.ordered_set:
        lowered = call.function.name in percentiles.LOWERED and call.function.args[0].element is None
        return ("lowered" if lowered and call.function.args[1].name != "interval" else "host"), ""
    return ("lowered" if unsupported_reason(call) is None else "host"), ""


def _placed() -> Iterator[tuple[Entry, Place, str]]:
    for entry in entries():
        if entry.target is not None and entry.mark != "not yet":
            yield entry, *locate(entry)


def render_page() -> str:
    """Returns the text of the page."""
    every = list(_placed())
    count = Counter(where for _, where, _ in every)
    told = ", ".join(f"{count[where]} {where}" for where in ("lowered", "host", "once", "embedded"))
    parts = [_HEAD, f"Of {len(every)} functions, operators and aggregates: {told}.", ""]
    parts += ["| section | name | overloads | where |", "|---|---|---|---|"]
    rows: dict[tuple[str, str, str], list[str]] = {}
    for entry, where, why in every:
        said = f"{where}: {why}" if why else where
        rows.setdefault((entry.section, entry.name, said), []).append(entry.signature)
    for (section, name, said), signatures in rows.items():
        listed = ", ".join(_code(each) for each in signatures)
        parts.append(f"| {section} | {_code(name)} | {listed} | {said} |")
    return "\n".join(parts) + "\n"


def _code(text: str) -> str:
    return "`" + text.replace("|", "\\|") + "`"


if __name__ == "__main__":
    PAGE.write_text(render_page(), encoding="utf-8")
