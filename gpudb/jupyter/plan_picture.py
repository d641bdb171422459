"""A plan as a picture: the operators of EXPLAIN (FORMAT json) as boxes of an SVG, rows along the lines between them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

_WIDTH, _GAP_X, _GAP_Y, _LINE, _MARGIN = 250, 24, 44, 16, 12
_DETAILS = 4
"""Details that a box shows; all are in its tooltip."""
_CHARACTERS = 36
_HIDDEN = frozenset({"Node Type", "Plans", "Plan Rows", "Plan Width", "Actual Rows", "Actual Time (ms)", "Workers"})


@dataclass(frozen=True, slots=True)
class _Box:
    """An operator: its node, its place (pixels of its upper left corner), its lines of text, its inputs' boxes."""

    node: Mapping[str, object]
    x: float
    y: float
    lines: tuple[str, ...]
    inputs: tuple[_Box, ...]

    @property
    def height(self) -> int:
        return _LINE * (len(self.lines) + 1) + 12

    def walk(self) -> Iterator[_Box]:
        """Yields the box and all below it."""
        yield self
        for each in self.inputs:
            yield from each.walk()


@dataclass(frozen=True, slots=True)
class PlanPicture:
    """A plan that notebooks show as a picture and terminals as JSON; `tree` is EXPLAIN's."""

    tree: Mapping[str, object]

    @classmethod
    def read(cls, value: object) -> PlanPicture:
        """Reads the value of an EXPLAIN (FORMAT json), parsed or as text: a list of one plan."""
        parsed = json.loads(value) if isinstance(value, str) else value
        assert isinstance(parsed, list)
        return cls(parsed[0])

    def __repr__(self) -> str:
        """The tree as JSON."""
        return json.dumps(self.tree, indent=1, ensure_ascii=False)

    def _repr_svg_(self) -> str:
        """The picture, as IPython asks for it."""
        node = self.tree["Plan"]
        assert isinstance(node, Mapping)
        root, width = _place(node, _MARGIN, _MARGIN)
        boxes = list(root.walk())
        slowest = max((_get_number(box.node, "Actual Time (ms)") or 0.0 for box in boxes), default=0.0)
        bottom = max(box.y + box.height for box in boxes) + 2 * _LINE + _MARGIN
        total = width + 2 * _MARGIN
        shapes = [_draw_line(box, each) for box in boxes for each in box.inputs]
        shapes += [_draw_box(box, slowest) for box in boxes]
        facts = [f"{name}: {_format(value)}" for name, value in self.tree.items() if name != "Plan"]
        shapes.append(_text(_MARGIN, bottom - _MARGIN, " · ".join(facts), "fill='#666'"))
        return (
            f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {total:.0f} {bottom:.0f}' width='{total:.0f}' "
            f"height='{bottom:.0f}' font-family='sans-serif' font-size='12'>"
            f"<rect width='100%' height='100%' fill='white'/>{''.join(shapes)}</svg>"
        )


def _place(node: Mapping[str, object], x: float, y: float) -> tuple[_Box, float]:
    """Places a node above the middle of its inputs; returns its box and the width of its tree."""
    lines = tuple(_list_lines(node))
    below = y + _LINE * (len(lines) + 1) + 12 + _GAP_Y
    inputs: list[_Box] = []
    width = 0.0
    plans = node.get("Plans", ())
    assert isinstance(plans, Sequence)
    for each in plans:
        gap = _GAP_X if inputs else 0
        box, taken = _place(each, x + width + gap, below)
        inputs.append(box)
        width += taken + gap
    width = max(width, _WIDTH)
    middle = (inputs[0].x + inputs[-1].x) / 2 if inputs else x
    return _Box(node, middle, y, lines, tuple(inputs)), width


def _list_lines(node: Mapping[str, object]) -> Iterator[str]:
    details = [f"{name}: {_format(value)}" for name, value in node.items() if name not in _HIDDEN and value != ""]
    yield from (each if len(each) <= _CHARACTERS else each[: _CHARACTERS - 1] + "…" for each in details[:_DETAILS])
    time = _get_number(node, "Actual Time (ms)")
    if time is not None:
        yield f"{time:,.3f} ms"


def _draw_box(box: _Box, slowest: float) -> str:
    time = _get_number(box.node, "Actual Time (ms)") or 0.0
    share = time / slowest if slowest else 0.0
    fill = f"hsl(35, 90%, {97 - 27 * share:.0f}%)" if slowest else "#eef5f5"
    tooltip = "\n".join(f"{name}: {_format(value)}" for name, value in box.node.items() if name != "Plans")
    lines = [_text(box.x + 10, box.y + 18, str(box.node["Node Type"]), "font-weight='bold'")]
    lines += [_text(box.x + 10, box.y + 18 + _LINE * i, line) for i, line in enumerate(box.lines, 1)]
    return (
        f"<g><title>{escape(tooltip)}</title><rect x='{box.x:.0f}' y='{box.y:.0f}' width='{_WIDTH}' "
        f"height='{box.height}' rx='6' fill='{fill}' stroke='#607d8b'/>{''.join(lines)}</g>"
    )


def _draw_line(above: _Box, below: _Box) -> str:
    """A line from an input up to its reader, thicker for more rows, with their number."""
    actual, planned = _get_number(below.node, "Actual Rows"), _get_number(below.node, "Plan Rows")
    rows = actual if actual is not None else planned
    thickness = 1 + math.log10(rows + 1) if rows is not None else 1
    x1, y1 = below.x + _WIDTH / 2, below.y
    x2, y2 = above.x + _WIDTH / 2, above.y + above.height
    bend = _GAP_Y / 2
    drawn = (
        f"<path d='M{x1:.0f},{y1:.0f} C{x1:.0f},{y1 - bend:.0f} {x2:.0f},{y2 + bend:.0f} {x2:.0f},{y2:.0f}' "
        f"fill='none' stroke='#90a4ae' stroke-width='{thickness:.1f}'/>"
    )
    if rows is None:
        return drawn
    label = f"{rows:,.0f} rows" if actual is not None else f"about {rows:,.0f} rows"
    if actual is not None and planned is not None and planned != actual:
        label += f" (planned {planned:,.0f})"
    return drawn + _text(x1 + 8, y1 - 6, label, "fill='#666' font-size='11'")


def _text(x: float, y: float, text: str, style: str = "") -> str:
    return f"<text x='{x:.0f}' y='{y:.0f}' {style}>{escape(text)}</text>"


def _get_number(node: Mapping[str, object], name: str) -> float | None:
    value = node.get(name)
    return float(value) if isinstance(value, int | float) else None


def _format(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
