"""The operands that the calls have which stand for constructs: a call with others is refused.

The user left out a part or wrote one that cannot be there, or wrote the name of such a function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from gpudb.catalog.parse_trees import walk_messages
from gpudb.sql.parse.friendly.columns import COLUMNS
from gpudb.sql.parse.friendly.describe import DESCRIBE, SUMMARIZE
from gpudb.sql.parse.friendly.pivot import AS, GROUP, IN, ON, PIVOT, USING
from gpudb.sql.parse.friendly.sample import SAMPLE
from gpudb.sql.parse.friendly.star import CHANGES, STAR
from gpudb.sql.parse.friendly.unpivot import INTO, NULLS, UNPIVOT

_Operands = Sequence[Any]


def mentions_calls(text: str) -> bool:
    """Whether a text may have such calls."""
    return '"gpudb ' in text or 'u&"' in text.lower()


def find_malformed(message: Any) -> Iterator[tuple[str, int]]:
    """Yields what each call of a tree stands for that has other operands, and its place."""
    for each in walk_messages(message):
        check = _CHECKS.get(_get_name(each)) if each.DESCRIPTOR.name == "FuncCall" else None
        if check is None:
            continue
        clauses = each.agg_distinct or len(each.agg_order) or each.HasField("over") or each.HasField("agg_filter")
        if clauses or not check(each):
            yield _get_name(each).removeprefix("gpudb ").upper(), each.location


def _get_name(call: Any) -> str:
    return str(call.funcname[0].string.sval) if len(call.funcname) == 1 else ""


def _call(node: Any) -> str:
    """Returns the name of the function that a node calls; '' for another node."""
    return _get_name(node.func_call) if node.WhichOneof("node") == "func_call" else ""


def _is_query(nodes: _Operands) -> bool:
    return len(nodes) > 0 and nodes[0].WhichOneof("node") == "sub_link" and not nodes[0].sub_link.HasField("testexpr")


def _are_columns(nodes: _Operands) -> bool:
    return len(nodes) > 0 and all(
        each.WhichOneof("node") == "column_ref" and each.column_ref.fields[-1].WhichOneof("node") == "string"
        for each in nodes
    )


def _is_text(node: Any) -> bool:
    return bool(node.WhichOneof("node") == "a_const" and node.a_const.WhichOneof("val") == "sval")


def _is_star(call: Any) -> bool:
    changes = call.args[1:] if len(call.args) and call.args[0].WhichOneof("node") == "column_ref" else call.args
    return len(changes) > 0 and all(_call(each) in CHANGES.values() for each in changes)


def _is_columns(call: Any) -> bool:
    if call.agg_star or len(call.args) != 1:
        return bool(call.agg_star)
    return _is_text(call.args[0]) or _call(call.args[0]) == STAR


def _is_pivot(call: Any) -> bool:
    parts = [_call(each) for each in call.args[1:]]
    pivoted = [each.func_call.args for each in call.args[1:] if _call(each) == ON]
    return (
        _is_query(call.args)
        and set(parts) <= {ON, USING, GROUP}
        and parts.count(USING) <= 1
        and parts.count(GROUP) <= 1
        and len(pivoted) > 0
        and all(len(each) == 1 or [_call(rest) for rest in each[1:]] == [IN] for each in pivoted)
    )


def _is_unpivot(call: Any) -> bool:
    parts = sorted(_call(each) for each in call.args[1:] if _call(each) != NULLS)
    return _is_query(call.args) and parts == sorted((INTO, ON))


def _is_sample(call: Any) -> bool:
    if len(call.args) != 4 or any(each.WhichOneof("node") != "a_const" for each in call.args):
        return False
    size = call.args[0].a_const.WhichOneof("val")
    return size in ("ival", "fval") and all(map(_is_text, call.args[1:3]))


_CHECKS: Mapping[str, Callable[[Any], bool]] = {
    STAR: _is_star,
    CHANGES["exclude"]: lambda call: _are_columns(call.args),
    CHANGES["replace"]: lambda call: len(call.args) % 2 == 0 and _are_columns(call.args[1::2]),
    CHANGES["rename"]: lambda call: len(call.args) % 2 == 0 and _are_columns(call.args),
    COLUMNS: _is_columns,
    DESCRIBE: lambda call: len(call.args) == 1 and _is_query(call.args),
    SUMMARIZE: lambda call: len(call.args) == 1 and _is_query(call.args),
    PIVOT: _is_pivot,
    UNPIVOT: _is_unpivot,
    ON: lambda call: len(call.args) > 0,
    IN: lambda call: len(call.args) > 0,
    USING: lambda call: len(call.args) > 0,
    GROUP: lambda call: len(call.args) > 0,
    AS: lambda call: len(call.args) == 2 and (_is_text(call.args[1]) or _are_columns(call.args[1:])),
    INTO: lambda call: len(call.args) > 1 and _are_columns(call.args),
    NULLS: lambda call: not len(call.args),
    SAMPLE: _is_sample,
}
