"""Recursive-descent parser of jsonpaths into a tree of items (PostgreSQL's jsonpath_gram.y)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache

from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.values.jsonpath.lexer import KEYWORDS, LITERALS, Token, syntax_error, tokenize

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
    return _Parser(text).parse_path()


def _is_predicate(item: Item) -> bool:
    return item.next is None and (
        item.kind in COMPARISONS | {"&&", "||", "!", "exists", "is unknown", "starts with", "like_regex"}
    )


class _Parser:
    def __init__(self, text: str) -> None:
        self.tokens = list(tokenize(text))
        self.at = 0
        # depth of enclosing filters and subscripts: @ and last are valid only inside them
        self.filters = self.subscripts = 0

    def parse_path(self) -> Path:
        lax = True
        if self.token.kind in {"strict", "lax"} and self.tokens[self.at + 1].kind not in {"end"}:
            lax = self.take().kind == "lax"
        item = self.parse_disjunction()
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

    def accept(self, kind: str) -> bool:
        if self.token.kind != kind:
            return False
        self.at += 1
        return True

    def expect(self, kind: str) -> Token:
        if self.token.kind != kind:
            raise syntax_error(self.token)
        return self.take()

    # ------------------------------------------------------------------------------------------ predicates

    def parse_disjunction(self) -> Item:
        item = self.parse_conjunction()
        while self.token.kind == "||":
            item = self._parse_logical("||", item, self.parse_conjunction)
        return item

    def parse_conjunction(self) -> Item:
        item = self.parse_comparison()
        while self.token.kind == "&&":
            item = self._parse_logical("&&", item, self.parse_comparison)
        return item

    def _parse_logical(self, kind: str, left: Item, parse_operand: object) -> Item:
        if not _is_predicate(left):
            raise syntax_error(self.token)
        self.take()
        right: Item = parse_operand()  # type: ignore[operator]
        if not _is_predicate(right):
            raise syntax_error(self.token)
        return Item(kind, None, (left, right))

    def parse_comparison(self) -> Item:
        if self.accept("!"):
            if self.token.kind not in {"(", "exists"}:
                raise syntax_error(self.token)
            operand = self.parse_primary()
            if not _is_predicate(operand):
                raise syntax_error(self.token)
            return Item("!", None, (operand,))
        left = self.parse_sum()
        token = self.token
        if token.kind in COMPARISONS | {"starts", "like_regex"} and _is_predicate(left):
            raise syntax_error(token)
        if token.kind in COMPARISONS:
            self.take()
            right = self.parse_sum()
            if _is_predicate(right):
                raise syntax_error(self.token)
            return Item(token.kind, None, (left, right))
        if self.accept("starts"):
            self.expect("with")
            if self.token.kind not in {"string", "variable"}:
                raise syntax_error(self.token)
            start = self.take()
            return Item("starts with", None, (left, Item(start.kind, start.value)))
        if self.accept("like_regex"):
            pattern = str(self.expect("string").value)
            flags = str(self.expect("string").value) if self.accept("flag") else ""
            return Item("like_regex", (pattern, _normalize_flags(flags)), (left,))
        return left

    # ------------------------------------------------------------------------------------------ arithmetic

    def parse_sum(self) -> Item:
        item = self.parse_product()
        while self.token.kind in {"+", "-"}:
            item = self._parse_arithmetic(item, self.parse_product)
        return item

    def parse_product(self) -> Item:
        item = self.parse_signed()
        while self.token.kind in {"*", "/", "%"}:
            item = self._parse_arithmetic(item, self.parse_signed)
        return item

    def _parse_arithmetic(self, left: Item, parse_operand: object) -> Item:
        if _is_predicate(left):
            raise syntax_error(self.token)
        kind = self.take().kind
        right: Item = parse_operand()  # type: ignore[operator]
        if _is_predicate(right):
            raise syntax_error(self.token)
        return Item(kind, None, (left, right))

    def parse_signed(self) -> Item:
        if self.token.kind not in {"+", "-"}:
            return self.parse_primary()
        sign = self.take().kind
        item = self.parse_signed()
        if _is_predicate(item):
            raise syntax_error(self.token)
        if item.kind == "number" and item.next is None:
            assert isinstance(item.value, Decimal)
            return item if sign == "+" else Item("number", item.value.copy_negate() if item.value else item.value)
        return Item(f"{sign}1", None, (item,))

    # ------------------------------------------------------------------------------------------ steps

    def parse_primary(self) -> Item:
        token = self.take()
        match token.kind:
            case "(":
                item = self.parse_disjunction()
                self.expect(")")
                if _is_predicate(item) and self.token.kind == "is":
                    self.take()
                    self.expect("unknown")
                    return Item("is unknown", None, (item,))
                steps = self.parse_steps()
                return _chain(item, steps)
            case "exists":
                self.expect("(")
                item = self.parse_disjunction()
                if _is_predicate(item):
                    raise syntax_error(self.token)
                self.expect(")")
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
        return _chain(first, self.parse_steps())

    def parse_steps(self) -> list[Item]:
        steps = []
        while self.token.kind in {".", "[", "?"}:
            steps.append(self.parse_step())
        return steps

    def parse_step(self) -> Item:
        token = self.take()
        if token.kind == "?":
            self.expect("(")
            self.filters += 1
            item = self.parse_disjunction()
            self.filters -= 1
            if not _is_predicate(item):
                raise syntax_error(self.token)
            self.expect(")")
            return Item("?", None, (item,))
        if token.kind == "[":
            return self.parse_subscript()
        token = self.take()
        if token.kind == "*":
            return Item(".*")
        if token.kind == "**":
            return Item("**", self.parse_levels())
        if token.kind in METHODS | {"datetime"} and self.token.kind == "(":
            self.take()
            template: tuple[Item, ...] = ()
            if token.kind == "datetime" and self.token.kind == "string":
                template = (Item("string", self.take().value),)
            self.expect(")")
            return Item(token.kind, None, template)
        if token.kind in {"name", "string"}:
            return Item("key", token.value)
        if token.kind in KEYWORDS or token.kind in LITERALS:
            return Item("key", token.text)
        raise syntax_error(token)

    def parse_levels(self) -> tuple[int, int]:
        if not self.accept("{"):
            return 0, ANY_LEVEL
        first = self.parse_level()
        last = self.parse_level() if self.accept("to") else first
        self.expect("}")
        return first, last

    def parse_level(self) -> int:
        if self.accept("last"):
            return ANY_LEVEL
        return int(str(self.expect("integer").value))

    def parse_subscript(self) -> Item:
        if self.accept("*"):
            self.expect("]")
            return Item("[*]")
        bounds: list[Item | None] = []
        self.subscripts += 1
        while True:
            bounds.append(self.parse_sum())
            bounds.append(self.parse_sum() if self.accept("to") else None)
            if not self.accept(","):
                break
        self.subscripts -= 1
        self.expect("]")
        return Item("index", None, tuple(bounds))


def _chain(first: Item, steps: list[Item]) -> Item:
    """Chains steps onto the results of the first item."""
    if not steps:
        return first
    rest = steps[-1]
    for step in reversed(steps[:-1]):
        rest = replace(step, next=rest)
    return _append(first, rest)


def _append(item: Item, rest: Item) -> Item:
    return replace(item, next=rest if item.next is None else _append(item.next, rest))


def _normalize_flags(flags: str) -> str:
    """Returns the flags of like_regex in printing order; 42601 for an unknown one."""
    for flag in flags:
        if flag not in "ismxq":
            detail = f'Unrecognized flag character "{flag}" in LIKE_REGEX predicate.'
            raise SqlError.of("syntax_error", "invalid input syntax for type jsonpath", detail=detail)
    if "x" in flags and "q" not in flags:
        raise FeatureNotSupported('XQuery "x" flag (expanded regular expressions) is not implemented')
    return "".join(flag for flag in "ismxq" if flag in flags)
