"""Regular expressions that mix greedy and non-greedy quantifiers, matched as PostgreSQL's engine decides (regexec.c).

An expression is a tree. The whole expression matches at the earliest position, the longest or shortest text by its own
preference. The matched text is then dissected from left to right: each part takes the longest or shortest text, by its
own preference, that lets the rest match. A branch has the preference of its first quantified atom that has one;
an alternation of several branches is greedy.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from gpudb.errors import FeatureNotSupported

_CONSTRAINTS = frozenset({"^", "$", r"\Z", r"\A", r"\b", r"\B", r"\b(?=\w)", r"\b(?<=\w)"})
_LOOKAROUNDS = frozenset({"(?=", "(?!", "(?<=", "(?<!"})

Captures = dict[int, tuple[int, int]]


@dataclass(frozen=True)
class Node:
    """A part of an expression: kind is atom, constraint, group, branch (its parts in order), choice or repeat.

    `text` is that of an atom or constraint; `shorter` the preference, None for none; `group` a capture's number.
    """

    kind: str
    flags: int
    text: str = ""
    parts: tuple[Node, ...] = ()
    shorter: bool | None = None
    group: int = 0
    low: int = 1
    high: int | None = 1

    @cached_property
    def unconstrained(self) -> str:
        """The pattern without constraints. Text that it does not match, the part does not match either."""
        inner = [part.unconstrained for part in self.parts]
        match self.kind:
            case "atom":
                return self.text
            case "constraint":
                return ""
            case "parse_choice":
                return "(?:" + "|".join(inner) + ")"
            case "repeat":
                return f"(?:{inner[0]}){{{self.low},{'' if self.high is None else self.high}}}"
        return "(?:" + "".join(inner) + ")"

    @cached_property
    def compiled(self) -> Any:
        import regex

        return regex.compile(self.text if self.kind == "constraint" else self.unconstrained, self.flags | regex.POSIX)


@dataclass(slots=True)
class Match:
    """The result of a search: the subset of a match object that callers use."""

    re: MixedPattern
    text: str
    spans: Captures

    def span(self, group: int = 0) -> tuple[int, int]:
        return self.spans.get(group, (-1, -1))

    def start(self) -> int:
        return self.spans[0][0]

    def end(self) -> int:
        return self.spans[0][1]

    def group(self, group: int = 0) -> str | None:
        start, end = self.span(group)
        return None if start < 0 else self.text[start:end]

    def groups(self) -> tuple[str | None, ...]:
        return tuple(self.group(number) for number in range(1, self.re.groups + 1))


class MixedPattern:
    """A translated pattern's tokens with the search methods of a compiled pattern of `regex`."""

    def __init__(self, tokens: Sequence[str], groups: int, flags: int) -> None:
        self.groups = groups
        self._root = _Parser(tokens, flags).parse_choice()

    def search(self, text: str, pos: int = 0, timeout: float | None = None) -> Match | None:
        """Returns the first match from `pos` on; TimeoutError after `timeout` seconds."""
        search = _Search(text, math.inf if timeout is None else time.monotonic() + timeout)
        while (found := self._root.compiled.search(text, pos, timeout=timeout)) is not None:
            start = found.start()
            ends = range(start, found.end() + 1)
            for end in ends if self._root.shorter else reversed(ends):
                captures: Captures = {}
                if search.matches(self._root, start, end, captures):
                    return Match(self, text, {0: (start, end), **captures})
            if start == len(text):
                return None
            pos = start + 1
        return None

    def finditer(self, text: str, pos: int = 0, timeout: float | None = None) -> Iterator[Match]:
        """Yields all matches; after an empty match the search continues one character later. `timeout` is of all."""
        ends = None if timeout is None else time.monotonic() + timeout

        def left() -> float | None:
            return None if ends is None else max(ends - time.monotonic(), 0.0)

        while pos <= len(text) and (found := self.search(text, pos, left())) is not None:
            yield found
            pos = found.end() + (found.end() == found.start())


@dataclass(slots=True)
class _Search:
    """One search: tests whether parts match exact substrings, and collects their captures."""

    text: str
    deadline: float
    known: dict[tuple[int, int, int], bool] = field(default_factory=dict)

    def _can_match(self, node: Node, start: int, end: int) -> bool:
        place = id(node), start, end
        if place not in self.known:
            left = self.deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            found = node.compiled.fullmatch(self.text, start, end, timeout=None if left == math.inf else left)
            self.known[place] = found is not None
        return self.known[place]

    def matches(self, node: Node, start: int, end: int, captures: Captures) -> bool:
        """Returns whether the node matches from `start` to `end`; adds its captures to `captures`."""
        if node.kind == "constraint":
            return start == end and node.compiled.match(self.text, start) is not None
        if not self._can_match(node, start, end):
            return False
        if node.kind == "atom":
            return True
        captured: Captures = {}
        if not self._dissect(node, start, end, captured):
            return False
        captures.update(captured)
        return True

    def _dissect(self, node: Node, start: int, end: int, captured: Captures) -> bool:
        match node.kind:
            case "parse_choice":
                return any(self.matches(part, start, end, captured) for part in node.parts)
            case "group":
                captured[node.group] = start, end
                return self.matches(node.parts[0], start, end, captured)
            case "branch":
                return self._match_sequence(node.parts, start, end, captured)
        if start == end and node.low == 0:
            return True
        return self._match_repetition(node, start, end, max(node.low, 1), node.high, captured)

    def _split_positions(self, part: Node, start: int, end: int) -> Sequence[int]:
        if part.kind == "constraint":
            return (start,)
        places = range(start, end + 1)
        return places if part.shorter else places[::-1]

    def _match_sequence(self, parts: Sequence[Node], start: int, end: int, captured: Captures) -> bool:
        if not parts:
            return start == end
        first, rest = parts[0], parts[1:]
        if not rest:
            return self.matches(first, start, end, captured)
        for middle in self._split_positions(first, start, end):
            inner: Captures = {}
            if self.matches(first, start, middle, inner) and self._match_sequence(rest, middle, end, inner):
                captured.update(inner)
                return True
        return False

    def _match_repetition(
        self, node: Node, start: int, end: int, low: int, high: int | None, captured: Captures
    ) -> bool:
        """Matches the repeated part `low` to `high` times in sequence; keeps the last repetition's captures."""
        part = node.parts[0]
        if low <= 1 and self.matches(part, start, end, captured):
            return True
        if high == 1:
            return False
        for middle in self._split_positions(part, start, end):
            if middle == start and low <= 1:
                continue  # an empty match counts only to reach the minimum
            inner: Captures = {}
            left = None if high is None else high - 1
            if self.matches(part, start, middle, inner):
                after: Captures = {}
                if self._match_repetition(node, middle, end, max(low - 1, 1), left, after):
                    captured.update(after)
                    return True
        return False


class _Parser:
    """Parser of a translated pattern's tokens into a tree."""

    def __init__(self, tokens: Sequence[str], flags: int) -> None:
        self._tokens = [token for token in tokens if token]
        self._at = 0
        self._groups = 0
        self._flags = flags

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def parse_choice(self) -> Node:
        """Parses branches up to a closing parenthesis or the end."""
        branches = [self._parse_branch()]
        while self._peek() == "|":
            self._at += 1
            branches.append(self._parse_branch())
        if len(branches) == 1:
            return branches[0]
        return Node("parse_choice", self._flags, parts=tuple(branches), shorter=False)

    def _parse_branch(self) -> Node:
        parts: list[Node] = []
        while (token := self._peek()) not in {"", "|", ")"}:
            parts.append(self._parse_quantifier(self._parse_atom(token)))
        shorter = next((part.shorter for part in parts if part.shorter is not None), None)
        return Node("branch", self._flags, parts=tuple(parts), shorter=shorter)

    def _parse_atom(self, token: str) -> Node:
        self._at += 1
        if token in _CONSTRAINTS:
            return Node("constraint", self._flags, token)
        if token in _LOOKAROUNDS:
            return Node("constraint", self._flags, token + self._parse_lookaround() + ")")
        if token == "(?:":
            inner = self.parse_choice()
            self._at += 1
            return inner
        if token == "(":
            self._groups += 1
            number = self._groups
            inner = self.parse_choice()
            self._at += 1
            return Node("group", self._flags, parts=(inner,), shorter=inner.shorter, group=number)
        if token.startswith("(?:\\"):
            message = "regular expressions that mix greedy and non-greedy quantifiers with back references"
            raise FeatureNotSupported(message + " are not supported")
        return Node("atom", self._flags, token)

    def _parse_lookaround(self) -> str:
        """Returns a look-around's own pattern, up to its closing parenthesis."""
        captured: list[str] = []
        depth = 1
        while True:
            token = self._peek()
            self._at += 1
            depth += token.startswith("(") - (token == ")")
            if not depth:
                return "".join(captured)
            captured.append(token)

    def _parse_quantifier(self, atom: Node) -> Node:
        token = self._peek()
        if token[:1] not in {"*", "+", "?", "{"}:
            return atom
        self._at += 1
        lazy = len(token) > 1 and token.endswith("?")
        bare = token[:-1] if lazy else token
        if bare[0] == "{":
            low, comma, high = bare[1:-1].partition(",")
            least, most = int(low), (int(high) if high else None) if comma else int(low)
        else:
            comma = ","
            least, most = int(bare == "+"), 1 if bare == "?" else None
        shorter = lazy if comma else atom.shorter
        return Node("repeat", self._flags, parts=(atom,), shorter=shorter, low=least, high=most)
