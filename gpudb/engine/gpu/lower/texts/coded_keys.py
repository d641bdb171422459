"""Keys of groups as codes of dictionaries, in place of texts."""

from __future__ import annotations

from dataclasses import replace

from gpudb.engine.gpu.backend.dictionary import Dictionary
from gpudb.engine.gpu.lower.expressions.lowered_frame import Frame, LoweringContext
from gpudb.engine.gpu.lower.expressions.text_codes import use_codes
from gpudb.engine.gpu.lower.groups.aggregates import unsupported_reason
from gpudb.plan.tree import nodes


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
