"""ts_rewrite: parts of a tsquery that equal a target are replaced by a substitute.

Operands of `&` and of `|` are one list, in PostgreSQL's order of nodes, which compares checksums of words. Source:
PostgreSQL 16's tsquery_util.c and tsquery_rewrite.c.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cmp_to_key, lru_cache

from gpudb.text_search.queries import Both, Not, Query, Word

_OPERATORS = {"!": 1, "&": 2, "|": 3, "<": 4}
_ASSOCIATIVE = frozenset("&|")


@dataclass(slots=True)
class _Node:
    """A word, or an operator over nodes: of a phrase the second operand is the first. A `kept` node is not searched."""

    op: str = ""
    word: Word | None = None
    children: list[_Node] = field(default_factory=list)
    distance: int = 0
    kept: bool = False


def rewrite_query(query: Query | None, pairs: Iterable[tuple[Query | None, Query | None]]) -> Query | None:
    """Returns a query in which each target in turn is replaced by its substitute; None is a query without words."""
    if query is None:
        return None
    tree: _Node | None = _prepare(_open(query))
    for target, substitute in pairs:
        if tree is None:
            return None
        if target is None:
            continue
        tree = _replace(tree, _prepare(_open(target)), None if substitute is None else _open(substitute))
        if tree is not None:
            _forget(tree)
            tree = _prepare(tree)
    return None if tree is None else _close(tree)


def rewrite_once(query: Query | None, target: Query | None, substitute: Query | None) -> Query | None:
    """Returns a query in which a target is replaced by its substitute; as it is without words to search."""
    if query is None or target is None:
        return query
    tree = _replace(_prepare(_open(query)), _prepare(_open(target)), None if substitute is None else _open(substitute))
    return None if tree is None else _close(tree)


def _open(query: Query) -> _Node:
    match query:
        case Word():
            return _Node(word=query)
        case Not():
            return _Node("!", children=[_open(query.arg)])
        case Both():
            return _Node(query.op, children=[_open(query.right), _open(query.left)], distance=query.distance)


def _close(node: _Node) -> Query:
    if node.word is not None:
        return node.word
    children = [_close(each) for each in node.children]
    if node.op == "!":
        return Not(children[0])
    while len(children) > 2:
        joined = Both(node.op, children[1], children[0])
        children = [joined, children[-1], *children[2:-1]]
    return Both(node.op, children[1], children[0], node.distance)


def _prepare(node: _Node) -> _Node:
    _flatten(node)
    _sort(node)
    return node


def _flatten(node: _Node) -> None:
    children: list[_Node] = []
    for each in node.children:
        _flatten(each)
        joins = node.op in _ASSOCIATIVE and each.op == node.op
        children += each.children if joins else [each]
    node.children = children


def _sort(node: _Node) -> None:
    for each in node.children:
        _sort(each)
    if node.op != "<":
        node.children.sort(key=cmp_to_key(_compare))


def _compare(one: _Node, other: _Node) -> int:
    """Returns the order of two nodes: operators before words, then PostgreSQL's numbers of them, the highest first."""
    if one.word is None or other.word is None:
        if one.word is not None or other.word is not None:
            return -1 if one.word is None else 1
        ranks = [(_OPERATORS[each.op], len(each.children)) for each in (one, other)]
        if ranks[0] != ranks[1]:
            return -1 if ranks[0] > ranks[1] else 1
        for left, right in zip(one.children, other.children, strict=True):
            if (order := _compare(left, right)) != 0:
                return order
        return (other.distance > one.distance) - (other.distance < one.distance)
    first, second = one.word.lexeme.encode(), other.word.lexeme.encode()
    sums = _checksum(first), _checksum(second)
    if sums[0] != sums[1]:
        return -1 if sums[0] > sums[1] else 1
    return (first > second) - (first < second)


@lru_cache(1)
def _load_table() -> tuple[int, ...]:
    table = []
    for number in range(256):
        for _ in range(8):
            number = number >> 1 ^ (0xEDB88320 if number & 1 else 0)
        table.append(number)
    return tuple(table)


@lru_cache(1024)
def _checksum(data: bytes) -> int:
    """Returns PostgreSQL's legacy checksum, a signed integer: a reflected table under the plain algorithm."""
    table, crc = _load_table(), 0xFFFFFFFF
    for byte in data:
        crc = table[(crc >> 24 ^ byte) & 0xFF] ^ crc << 8 & 0xFFFFFFFF
    crc ^= 0xFFFFFFFF
    return crc - (1 << 32) if crc >> 31 else crc


def _copy(node: _Node) -> _Node:
    return _Node(node.op, node.word, [_copy(each) for each in node.children], node.distance, node.kept)


def _forget(node: _Node) -> None:
    node.kept = False
    for each in node.children:
        _forget(each)


def _substitute(substitute: _Node | None) -> _Node | None:
    if substitute is None:
        return None
    made = _copy(substitute)
    made.kept = True
    return made


def _replace(node: _Node, target: _Node, substitute: _Node | None) -> _Node | None:
    """Replaces a target in a node and in what is below it; None if nothing is left."""
    found = _replace_here(node, target, substitute)
    if found is None or found.kept or found.word is not None:
        return found
    replaced = (_replace(each, target, substitute) for each in found.children)
    found.children = [each for each in replaced if each is not None]
    if not found.children:
        return None
    return found.children[0] if len(found.children) == 1 and found.op != "!" else found


def _replace_here(node: _Node, target: _Node, substitute: _Node | None) -> _Node | None:
    if node.kept or node.op != target.op or (node.word is None) != (target.word is None):
        return node
    if node.word is not None or len(node.children) == len(target.children):
        return _substitute(substitute) if _compare(node, target) == 0 else node
    if len(node.children) < len(target.children):
        return node
    rest: list[_Node] = []
    wanted = list(target.children)
    for place, each in enumerate(node.children):
        order = _compare(each, wanted[0]) if wanted else -1
        if order > 0:
            rest += node.children[place:]
            break
        if order == 0:
            wanted.pop(0)
        else:
            rest.append(each)
    if wanted:
        return node
    made = _substitute(substitute)
    node.children = rest if made is None else [*rest, made]
    _sort(node)
    return node
