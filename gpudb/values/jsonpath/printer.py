"""Printer of jsonpath items as PostgreSQL's text (printJsonPathItem)."""

from __future__ import annotations

import json
from decimal import Decimal

from gpudb.values.jsonpath.grammar import ANY_LEVEL, COMPARISONS, METHODS, Item, Path
from gpudb.values.numbers import format_numeric

_PRIORITY = {"||": 0, "&&": 1, **dict.fromkeys([*COMPARISONS, "starts with"], 2), "+": 3, "-": 3, "*": 4, "/": 4,
             "%": 4, "+1": 5, "-1": 5}  # fmt: skip
_LOWEST = 6


def format_path(path: Path) -> str:
    """Returns the text of a path."""
    return ("" if path.lax else "strict ") + _format_item(path.item, False, True)


def _quote(value: object) -> str:
    return json.dumps(str(value), ensure_ascii=False)


def _format_operand(arg: Item | None, outer: Item) -> str:
    """Returns an operand's text, in parentheses unless it binds tighter."""
    assert arg is not None
    return _format_item(arg, False, _PRIORITY.get(arg.kind, _LOWEST) <= _PRIORITY.get(outer.kind, _LOWEST))


def _format_item(item: Item, in_key: bool, brackets: bool) -> str:
    text = _format_step(item, in_key, brackets)
    return text + _format_item(item.next, True, True) if item.next is not None else text


def _format_step(item: Item, in_key: bool, brackets: bool) -> str:
    opening, closing = ("(", ")") if brackets else ("", "")
    dot = "." if in_key else ""
    match item.kind:
        case "null" | "$" | "@" | "last" | "[*]":
            return item.kind
        case "bool":
            return "true" if item.value else "false"
        case "number":
            assert isinstance(item.value, Decimal)
            return format_numeric(item.value)
        case "string":
            return _quote(item.value)
        case "variable":
            return "$" + _quote(item.value)
        case "key":
            return dot + _quote(item.value)
        case ".*":
            return dot + "*"
        case "**":
            return dot + _format_levels(item.value)
        case "index":
            return "[" + ",".join(_format_range(*item.args[at : at + 2]) for at in range(0, len(item.args), 2)) + "]"
        case "?":
            return f"?({_format_argument(item)})"
        case "!":
            return f"!({_format_argument(item)})"
        case "is unknown":
            return f"({_format_argument(item)}) is unknown"
        case "exists":
            return f"exists ({_format_argument(item)})"
        case "+1" | "-1":
            return f"{opening}{item.kind[0]}{_format_operand(item.args[0], item)}{closing}"
        case "like_regex":
            assert isinstance(item.value, tuple)
            pattern, flags = item.value
            flag_text = f' flag "{flags}"' if flags else ""
            return f"{opening}{_format_operand(item.args[0], item)} like_regex {_quote(pattern)}{flag_text}{closing}"
        case "datetime":
            return f".datetime({_format_argument(item) if item.args else ''})"
    if item.kind in METHODS:
        return f".{item.kind}()"
    left, right = (_format_operand(arg, item) for arg in item.args)
    return f"{opening}{left} {item.kind} {right}{closing}"


def _format_argument(item: Item) -> str:
    assert item.args[0] is not None
    return _format_item(item.args[0], False, False)


def _format_range(first: Item | None, last: Item | None) -> str:
    assert first is not None
    low = _format_item(first, False, False)
    return low if last is None else f"{low} to {_format_item(last, False, False)}"


def _format_levels(value: object) -> str:
    assert isinstance(value, tuple)
    first, last = value
    if (first, last) == (0, ANY_LEVEL):
        return "**"
    names = ["last" if level == ANY_LEVEL else str(level) for level in (first, last)]
    return f"**{{{names[0]}}}" if first == last else f"**{{{names[0]} to {names[1]}}}"
