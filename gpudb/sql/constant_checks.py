"""Evaluation of constant expressions at plan time, which raises their errors even without any row.

`CASE WHEN x > 0 THEN 1 / 0 ELSE 1 END` raises 22012 over any x. What earlier constants exclude is not evaluated: a
branch of CASE whose condition is known to be false, arguments behind FALSE in AND or TRUE in OR, and arguments of
COALESCE behind a value (PostgreSQL's eval_const_expressions).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpudb.sql import bound
from gpudb.sql.rewrite import rewrite_checked
from gpudb.sql.traverse import children, replace_nodes, walk
from gpudb.types import BOOL
from gpudb.types.facts import EXACT_NUMBERS, FLOATS

Evaluate = Callable[[Sequence[bound.Expr]], Sequence[object]]
"""Evaluates expressions without columns, and raises their errors. Results are tested by `is` alone."""

_TEXTS = {"text", "varchar", "bpchar"}
_DATETIMES = {"date", "timestamp", "interval"}
_PLAIN = _TEXTS | _DATETIMES | EXACT_NUMBERS | FLOATS | {"bool"}
_PURE = (
    bound.Call,
    bound.Cast,
    bound.InList,
    bound.Choice,
    bound.DistinctFrom,
    bound.AnyArray,
    bound.BoolOp,
    bound.Test,
)
_QUERIES = (bound.Select, bound.SetOperation, bound.Values)


def check_constants(query: bound.Query, evaluate: Evaluate) -> None:
    """Raises the error of a constant expression of a query, if there is one."""
    if named := list(dict.fromkeys(filter(_is_named_object, walk(query)))):
        evaluate(named)
    if isinstance(query, bound.Select) and query == bound.Select(query.columns, query.targets):
        return  # of one row, which is computed anyway
    finding = _Finder(evaluate)
    finding.look(rewrite_checked(query))
    if finding.found:
        evaluate(finding.found)


def _is_named_object(node: Any) -> bool:
    """Whether a node is a literal name of an object, `'t'::regclass`: PostgreSQL looks it up where it is read."""
    return (
        isinstance(node, bound.Cast)
        and node.type.name.startswith("reg")
        and isinstance(node.arg, bound.Constant)
        and node.arg.type.name == "unknown"
        and node.arg.value is not None
    )


class _Finder:
    """Collects in `found` the largest constant expressions that are reachable."""

    def __init__(self, evaluate: Evaluate) -> None:
        self._evaluate = evaluate
        self.found: list[bound.Expr] = []

    def look(self, query: bound.Query) -> None:
        """Visits a query, and those of its WITH queries that are read."""
        read = {node.cte for node in walk(query) if isinstance(node, bound.CteScan)}
        for each in children(query):
            if not isinstance(each, bound.Cte):
                self._add_if(each)
            elif each.number in read:
                self.look(each.query)

    def _add_if(self, node: Any) -> None:
        self._add(self._constant(node))

    def _add(self, constant: bound.Expr | None) -> None:
        if constant is not None and not isinstance(constant, bound.Constant):
            self.found.append(constant)

    def _value(self, constant: bound.Expr) -> object:
        return constant.value if isinstance(constant, bound.Constant) else self._evaluate([constant])[0]

    def _constant(self, node: Any) -> bound.Expr | None:
        """Returns a constant node, reduced; collects the constant parts of any other and returns None."""
        if isinstance(node, bound.Constant):
            return node
        if isinstance(node, _QUERIES):
            self.look(node)
        elif isinstance(node, bound.Exists):
            self._exists(node.query)
        elif isinstance(node, bound.Case):
            return self._case(node)
        elif isinstance(node, bound.Choice) and node.op == "COALESCE":
            return self._coalesce(node)
        elif isinstance(node, bound.BoolOp) and node.op != "NOT":
            return self._chain(node)
        elif isinstance(node, _PURE) and _is_immutable(node):
            return self._pure(node)
        elif not isinstance(node, bound.Let | bound.Fold):
            for each in children(node):
                self._add_if(each)
        return None

    def _pure(self, node: Any) -> bound.Expr | None:
        parts = children(node)
        result = [self._constant(part) for part in parts]
        if None in result:
            for each in result:
                self._add(each)
            return None
        changed = {id(part): new for part, new in zip(parts, result, strict=True) if new is not part}
        constant: bound.Expr = replace_nodes(node, lambda each: changed.get(id(each))) if changed else node
        return constant

    def _exists(self, query: bound.Query) -> None:
        for each in children(query):
            if not isinstance(query, bound.Select) or each not in query.targets:
                self._add_if(each)

    def _case(self, node: bound.Case) -> bound.Expr | None:
        """Visits branches up to the first whose condition is always true, except those that are never taken."""
        certain = True
        for test, value in (*node.branches, (bound.Constant(True, BOOL), node.default)):
            known = self._constant(test)
            holds = None if known is None else self._value(known)
            if known is not None and holds is not True:
                continue
            result = self._constant(value)
            if known is not None and certain:
                return result
            self._add(result)
            if known is not None:
                return None
            certain = False
        return None

    def _coalesce(self, node: bound.Choice) -> bound.Expr | None:
        certain = True
        for arg in node.args:
            known = self._constant(arg)
            if known is None:
                certain = False
            elif self._value(known) is not None:
                if certain:
                    return known
                self._add(known)
                return None
        return bound.Constant(None, node.type) if certain else None

    def _chain(self, node: bound.BoolOp) -> bound.Expr | None:
        """Visits arguments of AND up to the first FALSE, of OR up to the first TRUE."""
        last = node.op == "OR"
        values: set[object] = set()
        certain = True
        for arg in node.args:
            known = self._constant(arg)
            if known is None:
                certain = False
                continue
            values.add(self._value(known))
            if last in values:
                return bound.Constant(last, BOOL)
        return bound.Constant(None if None in values else not last, BOOL) if certain else None


def _is_immutable(expr: Any) -> bool:
    """Whether an expression over constants has the same value under all settings."""
    if isinstance(expr, bound.Call) and (not expr.function.immutable or expr.function.returns_set):
        return False
    # Settings decide on time zones and on how text reads as a date
    if expr.type.name not in _PLAIN:
        return False
    return not (isinstance(expr, bound.Cast) and expr.arg.type.name in _TEXTS and expr.type.name in _DATETIMES)
