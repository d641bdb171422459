"""Table expressions that stand for a query over their argument's columns: DESCRIBE, SUMMARIZE, PIVOT and UNPIVOT.

Each module makes the parse tree of that query. Imports sql.bind.base, scope and the rooms below sql.bind.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.query.table_expressions.describe import describe
from gpudb.sql.bind.query.table_expressions.pivot import pivot
from gpudb.sql.bind.query.table_expressions.source import Source
from gpudb.sql.bind.query.table_expressions.summarize import summarize
from gpudb.sql.bind.query.table_expressions.unpivot import unpivot
from gpudb.sql.bind.scope import Scope
from gpudb.sql.parse.friendly.describe import DESCRIBE, SUMMARIZE
from gpudb.sql.parse.friendly.pivot import PIVOT
from gpudb.sql.parse.friendly.unpivot import UNPIVOT
from gpudb.sql.parse.parser import inner, kind, strings

_EXPANSIONS: dict[str, Callable[[Source], Any]] = {
    DESCRIBE: describe,
    SUMMARIZE: summarize,
    PIVOT: pivot,
    UNPIVOT: unpivot,
}


def expand_table_expression(binder: Binder, scope: Scope, node: Any) -> Any | None:
    """Returns the RangeSubselect message that a RangeFunction message of one of these stands for; None for others."""
    part = inner(node.functions[0]).items[0] if len(node.functions) == 1 else None
    if part is None or kind(part) != "func_call" or len(inner(part).funcname) != 1:
        return None
    call = inner(part)
    expand = _EXPANSIONS.get(strings(call.funcname)[0])
    if expand is None:
        return None
    level = Scope(parent=scope.parent, ctes=scope.ctes, entries=scope.entries)
    query = expand(Source(binder, level, call))
    if binder.expansions is not None:
        binder.expansions.queries[call.SerializeToString(deterministic=True)] = query
    result = type(part)().range_subselect
    result.subquery.select_stmt.CopyFrom(query)
    if node.HasField("alias"):
        result.alias.CopyFrom(node.alias)
    return result
