"""The functions and operators that PostgreSQL's manual documents (chapter 9), with a mark for each: `README.md` here.

`manual.tsv` names them, section by section; PostgreSQL's own tables give the overloads of each name. An overload that
has an implementation is the *same*, unless `manual.tsv` says how it *differs*; the others are *not yet* there.
`tests/functions/test_manual.py` compares every overload marked as the same with a real PostgreSQL, and compares the
guide's totals (`docs/sql.md`) with this module's. `python -m gpudb.functions.manual` writes both.
"""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gpudb.errors import FeatureNotSupported
from gpudb.functions.library import Function, Operator, functions_by_name, is_added, operators_by_name
from gpudb.functions.registry import get_implementation
from gpudb.functions.resolve import POLYMORPHIC
from gpudb.types.facts import COLUMN_TYPES

Mark = Literal["same", "differs", "not yet"]

README = Path(__file__).with_name("README.md")
_TABLE = Path(__file__).with_name("manual.tsv")

_ANY = "any anyelement anyarray anynonarray anycompatible anycompatiblearray anycompatiblenonarray"
_NUMBERS = "int2 int4 int8 float4 float8 numeric"
_STRINGS = f"text varchar bpchar name char cstring bool int4 int8 _text {_ANY}"
_DATETIMES = "date time timetz timestamp timestamptz interval"
_JSON = f"json jsonb jsonpath record text _text int4 bool {_ANY}"
_OWN_TYPES = f"{_NUMBERS} text bpchar bytea bool uuid jsonb record anyarray {_DATETIMES}"

# Each section: its title, the types that its overloads take (any if empty), and one that each of them must take.
_SECTIONS: dict[str, tuple[str, str, str]] = {
    "9.1": ("Logical operators", "", ""),
    "9.2": ("Comparison functions and operators", f"{_OWN_TYPES} any", ""),
    "9.3": ("Mathematical functions and operators", f"{_NUMBERS} anycompatible anycompatiblearray", ""),
    "9.4": ("String functions and operators", _STRINGS, ""),
    "9.5": ("Binary string functions and operators", "bytea text name int4 int8", "bytea"),
    "9.7": ("Pattern matching", "text bpchar name bytea int4 bool", ""),
    "9.8": ("Data type formatting functions", f"{_NUMBERS} {_DATETIMES} text", "text"),
    "9.9": ("Date/time functions and operators", f"{_DATETIMES} text float8 int4", ""),
    "9.16": ("JSON functions and operators", _JSON, ""),
    "9.17": ("Sequence manipulation functions", "", ""),
    "9.18": ("Conditional expressions", "", ""),
    "9.19": ("Array functions and operators", f"{_ANY} text int4", ""),
    "9.21": ("Aggregate functions", "", ""),
    "9.22": ("Window functions", "", ""),
    "9.23": ("Subquery expressions", "", ""),
    "9.24": ("Row and array comparisons", "", ""),
    "9.25": ("Set returning functions", "", ""),
}
_KINDS = {"function": "f", "aggregate": "a", "ordered": "a", "hypothetical": "a", "window": "w"}


@dataclass(frozen=True, slots=True)
class Entry:
    """One documented entry: an overload of a function or an operator, or a construct of the grammar.

    `example` is a query that demonstrates it if arguments alone do not; empty otherwise. `target` is None for a
    construct.
    """

    section: str
    kind: str
    name: str
    target: Function | Operator | None
    mark: Mark
    how: str = ""
    example: str = ""

    @property
    def signature(self) -> str:
        """The form in the manual: `round(numeric, integer)`, `integer + integer`, `CASE WHEN`."""
        if isinstance(self.target, Operator):
            left = f"{self.target.left} " if self.target.left is not None else ""
            return f"{left}{self.name} {self.target.right}"
        return str(self.target) if self.target is not None else self.name


def list_entries() -> Iterator[Entry]:
    """Returns everything documented, in the manual's order."""
    for line in _TABLE.read_text(encoding="utf-8").splitlines()[1:]:
        section, kind, names, mark, how, example = line.split("\t")
        if kind == "construct":
            yield Entry(section, kind, names, None, _parse_mark(mark or "same"), how, example)
            continue
        only = None
        if names.endswith(")"):
            names, _, only = names.partition("(")
            only = f"({only}"
        for name in names.split(" "):
            for target in _list_overloads(section, kind, name):
                if (only is None) == (_format_arguments(target) in _list_separate_overloads(section, name)):
                    continue
                if only is None or _format_arguments(target) == only:
                    yield Entry(
                        section,
                        kind,
                        name,
                        target,
                        _parse_mark(mark) if mark else _determine_mark(target),
                        how,
                        example,
                    )


def _parse_mark(text: str) -> Mark:
    assert text in {"same", "differs", "not yet"}, text
    return text  # type: ignore[return-value]


def _list_separate_overloads(section: str, name: str) -> set[str]:
    """Returns the overloads of a name that are listed separately, by their arguments."""
    rows = (line.split("\t") for line in _TABLE.read_text(encoding="utf-8").splitlines())
    return {"(" + row[2].partition("(")[2] for row in rows if row[0] == section and row[2].startswith(f"{name}(")}


def _format_arguments(target: Function | Operator) -> str:
    types = target.args if isinstance(target, Function) else [type_ for type_ in (target.left, target.right) if type_]
    return f"({','.join(type_.name for type_ in types)})"


def _list_overloads(section: str, kind: str, name: str) -> Sequence[Function | Operator]:
    _, allowed, required = _SECTIONS[section]
    candidates: Sequence[Function | Operator]
    if kind == "operator":
        candidates = [each for each in operators_by_name()[name] if not is_added(each.function)]
    else:
        named = functions_by_name()[name]
        candidates = [each for each in named if each.kind == _KINDS[kind] and not is_added(each)]
        if kind == "aggregate" or kind == "ordered":
            candidates = [
                overload
                for overload in candidates
                if not isinstance(overload, Function) or not _is_hypothetical(overload)
            ]
        elif kind == "hypothetical":
            candidates = [
                overload for overload in candidates if isinstance(overload, Function) and _is_hypothetical(overload)
            ]
    overloads = []
    for overload in candidates:
        types = set(_format_arguments(overload)[1:-1].split(",")) - {""}
        if allowed and not types <= set(allowed.split()):
            continue
        if (required and required not in types) or (section == "9.9" and not _takes_time(overload, types)):
            continue
        if section == "9.16" and not types & {"json", "jsonb", "record"} and kind == "operator":
            continue
        arrays = {"anyarray", "anycompatiblearray"} & types
        if section == "9.19" and kind == "operator" and not arrays:
            continue
        if section == "9.4" and kind == "operator" and "text" not in types:
            continue
        if section == "9.7" and name == "substring" and "int4" in types:
            continue
        overloads.append(overload)
    return overloads


def _is_hypothetical(function: Function) -> bool:
    return function.ordered_set and function.name in {"rank", "dense_rank", "percent_rank", "cume_dist"}


def _takes_time(target: Function | Operator, types: set[str]) -> bool:
    if isinstance(target, Function):
        return types != {"text"} or target.name != "to_timestamp"
    return bool(types & set(_DATETIMES.split()))


_SUPPORTED_TYPES = COLUMN_TYPES | POLYMORPHIC | {"name", "oid", "regclass", "record", "jsonpath"}


def _determine_mark(target: Function | Operator) -> Mark:
    if not all(type_.lstrip("_") in _SUPPORTED_TYPES for type_ in _format_arguments(target)[1:-1].split(",") if type_):
        return "not yet"
    try:
        get_implementation(target if isinstance(target, Function) else target.function)
    except FeatureNotSupported:
        return "not yet"
    return "same"


# ---------------------------------------------------------------------------------------------- the page

_HEAD = """\
# Functions and operators

Every function and operator of PostgreSQL 16's manual, sections 9.1 to 9.5, 9.7 to 9.9 and 9.16 to 9.25, with all its
overloads. *same*: compared with a real PostgreSQL, argument by argument, by `tests/functions/test_manual.py`.
*differs*: how is said beside it. *not yet*: refused with SQLSTATE 0A000. What holds of every `numeric` (38 digits, no
NaN, no infinities) is in the [list of differences](../../docs/differences.md).

This page is made by `python -m gpudb.functions.manual` from `manual.tsv` and what is implemented; no line of it is
written by hand.
"""


def format_totals(all_entries: Sequence[Entry]) -> str:
    """Returns a sentence with the numbers of functions that are the same, differ, or are missing."""
    count = Counter(entry.mark for entry in all_entries)
    share = 100 * count["not yet"] / len(all_entries)
    return (
        f"Of {len(all_entries)} functions, operators and constructs, overloads counted one by one, {count['same']} are"
        f" the same as PostgreSQL's, {count['differs']} differ, {count['not yet']} ({share:.1f}%) are not there yet."
    )


def render_page() -> str:
    """Returns the README of this folder."""
    all_entries = list(list_entries())
    parts = [_HEAD, "", format_totals(all_entries), "", "| section | same | differs | not yet |", "|---|--:|--:|--:|"]
    for number, (title, _, _) in _SECTIONS.items():
        count = Counter(entry.mark for entry in all_entries if entry.section == number)
        parts.append(f"| {number} {title} | {count['same']} | {count['differs']} | {count['not yet']} |")
    for number, (title, _, _) in _SECTIONS.items():
        parts += ["", f"## {number} {title}", "| | overloads | |", "|---|---|---|"]
        rows: dict[tuple[str, str, str, str], list[str]] = {}
        for entry in all_entries:
            if entry.section == number:
                rows.setdefault((entry.kind, entry.name, entry.mark, entry.how), []).append(entry.signature)
        for (kind, name, mark, how), signatures in rows.items():
            note = f"{mark}: {how}" if how else mark
            overloads = "" if kind == "construct" else _format_overloads(kind, signatures)
            parts.append(f"| {_format_code(name)} | {overloads} | {note} |")
    return "\n".join(parts) + "\n"


def _format_code(text: str) -> str:
    return "`" + text.replace("|", "\\|") + "`"


def _format_overloads(kind: str, signatures: Sequence[str]) -> str:
    if kind == "operator":
        return ", ".join(map(_format_code, signatures))
    return ", ".join(_format_code(signature[signature.index("(") :]) for signature in signatures)


GUIDE = README.parents[2] / "docs/sql.md"
_SENTENCE = re.compile(r"Of \d+ functions,\s+operators\s+and\s+constructs,.*?there yet\.", re.DOTALL)


def update_totals(text: str) -> str:
    """Returns the guide's SQL page with the current totals."""
    return _SENTENCE.sub("\n".join(textwrap.wrap(format_totals(list(list_entries())), 118)), text)


if __name__ == "__main__":
    README.write_text(render_page(), encoding="utf-8")
    GUIDE.write_text(update_totals(GUIDE.read_text(encoding="utf-8")), encoding="utf-8")
