"""FROM in the planner's text: a chain of joins, with each condition where its columns first exist."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

JoinKeyword = Literal["CROSS", "INNER", "LEFT", "RIGHT", "FULL", "LEFT SEMI", "LEFT ANTI"]

COLUMN_PATTERN = re.compile(r"\b(r\d+)\.c(\d+)")
"""Matches the columns of a text: relation and number."""


def relations_read(text: str) -> set[str]:
    """Returns the relations whose columns a text reads."""
    return {name for name, _ in COLUMN_PATTERN.findall(text)}


@dataclass(slots=True)
class _JoinStep:
    """One or several relations in brackets, those of them with visible columns, and the kind of join to those
    before.
    """

    kind: JoinKeyword
    text: str
    visible: frozenset[str]
    on: list[str]


@dataclass(slots=True)
class JoinChain:
    """The relations of a FROM, from left to right, and the conditions of its WHERE."""

    parts: list[_JoinStep] = field(default_factory=list)
    where: list[str] = field(default_factory=list)

    @property
    def visible(self) -> set[str]:
        """The relations whose columns conditions may read."""
        return {name for part in self.parts for name in part.visible}

    @property
    def some_column(self) -> str:
        """The text of a visible column, if there is one."""
        return f"{min(self.parts[0].visible)}.c0" if self.parts else "'§'"

    def add(self, kind: JoinKeyword, text: str, seen: Iterable[str] = (), on: Iterable[str] = ()) -> None:
        """Adds a relation; the kind of the first one is ignored."""
        self.parts.append(_JoinStep(kind, text, frozenset(seen), list(on)))

    def add_condition(self, condition: str) -> bool:
        """Adds a condition of WHERE at the first possible place; returns False if it reads other relations."""
        reads, seen = relations_read(condition), set[str]()
        host: _JoinStep | None = None
        for number, part in enumerate(self.parts):
            seen |= part.visible
            if part.kind in {"RIGHT", "FULL"}:
                # The condition applies to the rows that these joins extend with NULLs.
                host = None
            elif host is None and number and part.kind in {"CROSS", "INNER"} and reads <= seen:
                host = part
        if not reads <= seen:
            return False
        (self.where if host is None else host.on).append(condition)
        return True

    @property
    def from_text(self) -> str:
        """Text of FROM; empty without relations."""
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
    def bracketed_text(self) -> str:
        """Text of FROM as one relation."""
        return self.from_text if len(self.parts) == 1 else f"({self.from_text})"

    @property
    def from_where_text(self) -> str:
        """FROM and WHERE with their keywords."""
        made = f" FROM {self.from_text}" if self.parts else ""
        return made + (f" WHERE {' AND '.join(self.where)}" if self.where else "")
