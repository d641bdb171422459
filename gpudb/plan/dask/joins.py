"""FROM in the planner's text: relations joined one after the other, a condition where what it reads is first there."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

JoinText = Literal["CROSS", "INNER", "LEFT", "RIGHT", "FULL", "LEFT SEMI", "LEFT ANTI"]

COLUMNS = re.compile(r"\b(r\d+)\.c(\d+)")
"""The columns in a text: relation and number."""


def relations_in(text: str) -> set[str]:
    """The relations whose columns a text reads."""
    return {name for name, _ in COLUMNS.findall(text)}


@dataclass(slots=True)
class _Joined:
    """A relation or several in brackets, those of them whose columns are seen, and how they join what is before."""

    kind: JoinText
    text: str
    seen: frozenset[str]
    on: list[str]


@dataclass(slots=True)
class Joins:
    """The relations of a FROM, from left to right, and the conditions of its WHERE."""

    parts: list[_Joined] = field(default_factory=list)
    where: list[str] = field(default_factory=list)

    @property
    def seen(self) -> set[str]:
        """The relations whose columns conditions may read."""
        return {name for part in self.parts for name in part.seen}

    @property
    def some_column(self) -> str:
        """The text of a column in reach, if there is one."""
        return f"{min(self.parts[0].seen)}.c0" if self.parts else "'§'"

    def add(self, kind: JoinText, text: str, seen: Iterable[str] = (), on: Iterable[str] = ()) -> None:
        """Adds a relation; the first one's kind means nothing."""
        self.parts.append(_Joined(kind, text, frozenset(seen), list(on)))

    def keep(self, condition: str) -> bool:
        """Puts a condition of WHERE where it can stand first; False if it reads what is not of these relations."""
        reads, seen = relations_in(condition), set[str]()
        host: _Joined | None = None
        for number, part in enumerate(self.parts):
            seen |= part.seen
            if part.kind in {"RIGHT", "FULL"}:
                # It looks at the rows that these fill up with NULLs.
                host = None
            elif host is None and number and part.kind in {"CROSS", "INNER"} and reads <= seen:
                host = part
        if not reads <= seen:
            return False
        (self.where if host is None else host.on).append(condition)
        return True

    @property
    def source(self) -> str:
        """FROM's text; empty without a relation."""
        made = ""
        for part in self.parts:
            if not made:
                made = part.text
                continue
            inner = "INNER" if part.on else "CROSS"
            kind = inner if part.kind in {"CROSS", "INNER"} else part.kind
            made += f" {kind} JOIN {part.text}" + (f" ON {' AND '.join(part.on)}" if part.on else "")
        return made

    @property
    def bracketed(self) -> str:
        """FROM's text as one relation."""
        return self.source if len(self.parts) == 1 else f"({self.source})"

    @property
    def body(self) -> str:
        """FROM and WHERE with what stands in them."""
        made = f" FROM {self.source}" if self.parts else ""
        return made + (f" WHERE {' AND '.join(self.where)}" if self.where else "")
