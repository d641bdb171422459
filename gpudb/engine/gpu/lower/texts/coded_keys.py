"""Keys of joins and groups as codes of dictionaries, in place of texts."""

from __future__ import annotations

from dataclasses import replace

from gpudb.engine.gpu.backend.dictionary import Dictionary
from gpudb.engine.gpu.lower.expressions.expressions import ExpressionLowering
from gpudb.engine.gpu.lower.expressions.lowered_frame import Frame, LoweringContext
from gpudb.engine.gpu.lower.expressions.text_codes import CodedTexts, is_coded, translated, use_codes
from gpudb.engine.gpu.lower.groups.aggregates import unsupported_reason
from gpudb.engine.gpu.lower.values import Value
from gpudb.plan.tree import nodes
from gpudb.sql import bound


def join_values(
    left: bound.Expr,
    first: ExpressionLowering,
    mine: CodedTexts,
    right: bound.Expr,
    second: ExpressionLowering,
    theirs: CodedTexts,
) -> tuple[Value, Value]:
    """Returns the values of a pair of join keys: codes of one dictionary where both are coded."""
    if not (is_coded(left, mine) and is_coded(right, theirs)):
        return first.value(left), second.value(right)
    assert isinstance(left, bound.Column)
    assert isinstance(right, bound.Column)
    one, other = mine[left.index], theirs[right.index]
    if len(one.values) < len(other.values):
        return translated(left, one, other), translated(right, other, other)
    return translated(left, one, one), translated(right, other, one)


def group_codes(
    frame: Frame, node: nodes.Aggregate, context: LoweringContext
) -> tuple[Frame, nodes.Aggregate, dict[int, Dictionary]]:
    """Returns the frame of an aggregate's input, the aggregate over codes in place of texts, and its coded keys."""
    if any(unsupported_reason(call) is not None for call in node.calls):
        return context.decode(frame), node, {}
    keys, texts = use_codes(node.keys, frame.texts)
    calls = tuple(
        replace(call, args=use_codes(call.args, frame.texts)[0]) if call.function.name == "count" else call
        for call in node.calls
    )
    return frame, replace(node, keys=keys, calls=calls), texts
