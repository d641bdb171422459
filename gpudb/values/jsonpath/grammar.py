"""Recursive-descent parser of jsonpaths into a tree of items (PostgreSQL's jsonpath_gram.y)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache

from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.values.jsonpath.lexer import KEYWORDS, LITERALS, Token, syntax_error, tokens

ANY_LEVEL = 2**32 - 1
COMPARISONS = frozenset({"==", "!=", "<", ">", "<=", ">="})
METHODS = frozenset({"abs", "size", "type", "floor", "double", "ceiling", "keyvalue"})


@dataclass(frozen=True, slots=True)
class Item:
    """One step or operation; `next` is the step applied to its results.

    Kinds: null, bool, number, string (`value`); $, @, last, variable (`value` is the name); key (`value`), .*, [*],
    index (`args` pairs of bounds, the second None for a single one), ** (`value` first and last level), ? (`args`); the
    methods (datetime has `args` of a template or none); the operators, binary ones with two `args`; `+1` and `-1` for
    signs; exists, is unknown, starts with, like_regex (`value` pattern and flags).
    """

    kind: str
    value: object = None
    args: tuple[Item | None, ...] = ()
    next: Item | None = None


@dataclass(frozen=True, slots=True)
class Path:
    """A whole path and its mode."""

    item: Item
    lax: bool


@lru_cache(maxsize=512)
def parse(text: str) -> Path:
    """Parses a path into items; 42601 if it is invalid."""
    return _Parser(text).path()


def _predicate(item: Item) -> bool:
    return item.next is None and (
        item.kind in COMPARISONS | {"&&", "||", "!", "exists", "is unknown", "starts with", "like_regex"}
    )


class _Parser:
    def __init__(self, text: str) -> None:
        self.tokens = list(tokens(text))
        self.at = 0
        # depth of enclosing filters and subscripts: @ and last are valid only inside them
        self.filters = self.subscripts = 0

    def path(self) -> Path:
        lax = True
        if self.token.kind in {"strict", "lax"} and self.tokens[self.at + 1].kind not in {"end"}:
            lax = self.take().kind == "lax"
        item = self.disjunction()
        if self.token.kind != "end":
            raise syntax_error(self.token)
        return Path(item, lax)

    # ------------------------------------------------------------------------------------------ tokens

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def take(self) -> Token:
        self.at += 1
        return self.tokens[self.at - 1]

    def has(self, kind: str) -> bool:
        if self.token.kind != kind:
            return False
        self.at += 1
        return True

    def need(self, kind: str) -> Token:
        if self.token.kind != kind:
            raise syntax_error(self.token)
        return self.take()

    # ------------------------------------------------------------------------------------------ predicates

    def disjunction(self) -> Item:
        item = self.conjunction()
        while self.token.kind == "||":
            item = self._joined("||", item, self.conjunction)
        return item

    def conjunction(self) -> Item:
        item = self.comparison()
        while self.token.kind == "&&":
            item = self._joined("&&", item, self.comparison)
        return item

    def _joined(self, kind: str, left: Item, operand: object) -> Item:
        if not _predicate(left):
            raise syntax_error(self.token)
        self.take()
        right: Item = operand()  # type: ignore[operator]
        if not _predicate(right):
            raise syntax_error(self.token)
        return Item(kind, None, (left, right))

    def comparison(self) -> Item:
        if self.has("!"):
            if self.token.kind not in {"(", "exists"}:
                raise syntax_error(self.token)
            operand = self.primary()
            if not _predicate(operand):
                raise syntax_error(self.token)
            return Item("!", None, (operand,))
        left = self.sum()
        token = self.token
        if token.kind in COMPARISONS | {"starts", "like_regex"} and _predicate(left):
            raise syntax_error(token)
        if token.kind in COMPARISONS:
            self.take()
            right = self.sum()
            if _predicate(right):
                raise syntax_error(self.token)
            return Item(token.kind, None, (left, right))
        if self.has("starts"):
            self.need("with")
            if self.token.kind not in {"string", "variable"}:
                raise syntax_error(self.token)
            start = self.take()
            return Item("starts with", None, (left, Item(start.kind, start.value)))
        if self.has("like_regex"):
            pattern = str(self.need("string").value)
            flags = str(self.need("string").value) if self.has("flag") else ""
            return Item("like_regex", (pattern, _flags(flags)), (left,))
        return left

    # ------------------------------------------------------------------------------------------ arithmetic

    def sum(self) -> Item:
        item = self.product()
        while self.token.kind in {"+", "-"}:
            item = self._computed(item, self.product)
        return item

    def product(self) -> Item:
        item = self.signed()
        while self.token.kind in {"*", "/", "%"}:
            item = self._computed(item, self.signed)
        return item

    def _computed(self, left: Item, operand: object) -> Item:
        if _predicate(left):
            raise syntax_error(self.token)
        kind = self.take().kind
        right: Item = operand()  # type: ignore[operator]
        if _predicate(right):
            raise syntax_error(self.token)
        return Item(kind, None, (left, right))

    def signed(self) -> Item:
        if self.token.kind not in {"+", "-"}:
            return self.primary()
        sign = self.take().kind
        item = self.signed()
        if _predicate(item):
            raise syntax_error(self.token)
        if item.kind == "number" and item.next is None:
            assert isinstance(item.value, Decimal)
            return item if sign == "+" else Item("number", item.value.copy_negate() if item.value else item.value)
        return Item(f"{sign}1", None, (item,))

    # ------------------------------------------------------------------------------------------ steps

    def primary(self) -> Item:
        token = self.take()
        match token.kind:
            case "(":
                item = self.disjunction()
                self.need(")")
                if _predicate(item) and self.token.kind == "is":
                    self.take()
                    self.need("unknown")
                    return Item("is unknown", None, (item,))
                steps = self.steps()
                return _chained(item, steps)
            case "exists":
                self.need("(")
                item = self.disjunction()
                if _predicate(item):
                    raise syntax_error(self.token)
                self.need(")")
                return Item("exists", None, (item,))
            case "$" | "@" | "last":
                if token.kind == "@" and not self.filters:
                    raise SqlError.of("syntax_error", "@ is not allowed in root expressions")
                if token.kind == "last" and not self.subscripts:
                    raise SqlError.of("syntax_error", "LAST is allowed only in array subscripts")
                first = Item(token.kind)
            case "string" | "variable":
                first = Item(token.kind, token.value)
            case "integer" | "number":
                first = Item("number", token.value)
            case "null":
                first = Item("null")
            case "true" | "false":
                first = Item("bool", token.value)
            case _:
                raise syntax_error(token)
        return _chained(first, self.steps())

    def steps(self) -> list[Item]:
        made = []
        while self.token.kind in {".", "[", "?"}:
            made.append(self.step())
        return made

    def step(self) -> Item:
        token = self.take()
        if token.kind == "?":
            self.need("(")
            self.filters += 1
            item = self.disjunction()
            self.filters -= 1
            if not _predicate(item):
                raise syntax_error(self.token)
            self.need(")")
            return Item("?", None, (item,))
        if token.kind == "[":
            return self.subscript()
        token = self.take()
        if token.kind == "*":
            return Item(".*")
        if token.kind == "**":
            return Item("**", self.levels())
        if token.kind in METHODS | {"datetime"} and self.token.kind == "(":
            self.take()
            template: tuple[Item, ...] = ()
            if token.kind == "datetime" and self.token.kind == "string":
                template = (Item("string", self.take().value),)
            self.need(")")
            return Item(token.kind, None, template)
        if token.kind in {"name", "string"}:
            return Item("key", token.value)
        if token.kind in KEYWORDS or token.kind in LITERALS:
            return Item("key", token.text)
        raise syntax_error(token)

    def levels(self) -> tuple[int, int]:
        if not self.has("{"):
            return 0, ANY_LEVEL
        first = self.level()
        last = self.level() if self.has("to") else first
        self.need("}")
        return first, last

    def level(self) -> int:
        if self.has("last"):
            return ANY_LEVEL
        return int(str(self.need("integer").value))

    def subscript(self) -> Item:
        if self.has("*"):
            self.need("]")
            return Item("[*]")
        bounds: list[Item | None] = []
        self.subscripts += 1
        while True:
            bounds.append(self.sum())
            bounds.append(self.sum() if self.has("to") else None)
            if not self.has(","):
                break
        self.subscripts -= 1
        self.need("]")
        return Item("index", None, tuple(bounds))


def _chained(first: Item, steps: list[Item]) -> Item:
    """Chains steps onto the results of the first item."""
    if not steps:
        return first
    rest = steps[-1]
    for step in reversed(steps[:-1]):
        rest = replace(step, next=rest)
    return _appended(first, rest)


def _appended(item: Item, rest: Item) -> Item:
    return replace(item, next=rest if item.next is None else _appended(item.next, rest))


def _flags(flags: str) -> str:
    """Returns the flags of like_regex in printing order; 42601 for an unknown one."""
    for flag in flags:
        if flag not in "ismxq":
            detail = f'Unrecognized flag character "{flag}" in LIKE_REGEX predicate.'
            raise SqlError.of("syntax_error", "invalid input syntax for type jsonpath", detail=detail)
    if "x" in flags and "q" not in flags:
        raise FeatureNotSupported('XQuery "x" flag (expanded regular expressions) is not implemented')
    return "".join(flag for flag in "ismxq" if flag in flags)
