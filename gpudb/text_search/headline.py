"""ts_headline: the parts of a document that show best why a query matches, with the query's words marked.

The choice is that of PostgreSQL 16's wparser_def.c: the shortest runs of words that satisfy the query, widened to good
ends.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from gpudb.text_search import tokens
from gpudb.text_search.configurations import Configuration
from gpudb.text_search.headline_options import Options
from gpudb.text_search.occurrences import Located, Occurrences, Places
from gpudb.text_search.queries import Both, Not, Query, Word, iter_words, read_query

_SKIPPED = frozenset({tokens.URL, tokens.NUMHWORD, tokens.ASCIIHWORD, tokens.HWORD})
"""Tokens that are followed by their parts, which are shown."""
_NO_WORDS = _SKIPPED | {tokens.BLANK, tokens.TAG}
_NO_ENDS = _NO_WORDS | {
    tokens.SFLOAT, tokens.VERSION, tokens.FLOAT, tokens.INT, tokens.UINT, tokens.PROTOCOL, tokens.ENTITY,
}  # fmt: skip


@dataclass(slots=True)
class _Token:
    """A token of the document: its words of the query, its position (0: none), and whether it is shown.

    A token that several words of the query stand for is there once more for each of the others, which `is_again`.
    """

    type: int
    text: str
    position: int = 0
    found: Word | None = None
    is_again: bool = False
    is_shown: bool = False

    @property
    def is_hit(self) -> bool:
        """Whether it is one of the query's words, and counts."""
        return self.found is not None and not self.is_again


@dataclass(slots=True)
class _Cover:
    """A run of tokens, both ends included: its words, and how many of them are the query's."""

    first: int
    last: int
    words: int
    hits: int
    is_used: bool = field(default=False)


def make_headline(configuration: Configuration, text: str, query_text: str, options: Options) -> str:
    """Returns the headline of a document."""
    query = read_query(query_text)
    document = _Document(configuration, text, query, options)
    if options.highlight_all:
        document.show(0, len(document.tokens) - 1)
    elif options.max_fragments:
        document.choose_fragments()
    else:
        document.choose_words()
    return document.render()


class _Document:
    """The tokens of a document, of which a headline shows some."""

    def __init__(self, configuration: Configuration, text: str, query: Query | None, options: Options) -> None:
        self._query, self._options = query, options
        self.tokens = list(_read_tokens(configuration, text, list(iter_words(query))))
        self._located = [] if query is None else _locate(query, Occurrences(self._find(0, len(self.tokens)))) or []

    def _find(self, first: int, end: int) -> Callable[[Word], Places | None]:
        held: dict[Word, set[int]] = {}
        for token in self.tokens[first:end]:
            if token.found is not None:
                held.setdefault(token.found, set()).add(token.position)
        return lambda word: sorted(held[word]) if word in held else None

    def _is_word(self, number: int) -> bool:
        return self.tokens[number].type not in _NO_WORDS

    def _is_bad_end(self, number: int) -> bool:
        token = self.tokens[number]
        short = len(token.text.encode()) <= self._options.short_word
        return (token.type in _NO_ENDS or short) and not token.is_hit

    def _iter_covers(self) -> Iterator[tuple[int, int]]:
        """Yields the first and last token of runs that satisfy the query, from left to right."""
        hits = [number for number, token in enumerate(self.tokens) if token.found]
        positions = [self.tokens[number].position for number in hits]
        following = 0
        while self._located:
            last = 0
            for each in self._located:
                number = bisect_left(each.ends, following + each.width)
                if number == len(each.ends):
                    return
                last = max(last, each.ends[number])
            first = last
            for each in self._located:
                number = bisect_right(each.ends, last)
                if number:
                    first = min(first, each.ends[number - 1] - each.width)
            begins, ends = bisect_left(positions, first), bisect_right(positions, last)
            if begins == ends:
                return
            begin, end = hits[begins], hits[ends - 1]
            following = self.tokens[begin].position + 1
            assert self._query is not None
            if Occurrences(self._find(begin, end + 1)).match(self._query):
                yield begin, end

    def choose_words(self) -> None:
        """Shows one run of words: of those around each cover the one with most words of the query."""
        options, count = self._options, len(self.tokens)
        best, best_hits, has_cover = (-1, -1), -1, False
        for first, last in self._iter_covers():
            words = hits = 0
            begin = end = number = first
            while number <= last and words < options.max_words:
                words += self._is_word(number)
                hits += self.tokens[number].is_hit
                end = number
                number += 1
            if words < options.max_words:
                number -= 1
                while number < count and words < options.max_words:
                    if number != last:
                        words += self._is_word(number)
                        hits += self.tokens[number].is_hit
                    end = number
                    if not self._is_bad_end(number) and words >= options.min_words:
                        break
                    number += 1
                if words < options.min_words:
                    number = first - 1
                    while number >= 0:
                        words += self._is_word(number)
                        hits += self.tokens[number].is_hit
                        if words >= options.max_words:
                            break
                        if not self._is_bad_end(number) and words >= options.min_words:
                            break
                        number -= 1
                    begin = max(number, 0)
            else:
                number = min(number, last)
                while words > options.min_words and self._is_bad_end(number):
                    words -= self._is_word(number)
                    hits -= self.tokens[number].is_hit
                    end = number - 1
                    number -= 1
            covers = begin <= first and end >= last
            better = covers > has_cover or (covers == has_cover and hits > best_hits)
            same = covers == has_cover and hits == best_hits
            if better or (same and not self._is_bad_end(end) and self._is_bad_end(best[1])):
                best, best_hits, has_cover = (begin, end), hits, covers
        if best_hits < 0:
            best = self._take_beginning()
        self.show(*best)

    def _take_beginning(self) -> tuple[int, int]:
        words, end = 0, 0
        for number in range(len(self.tokens)):
            if words >= self._options.min_words:
                break
            words += self._is_word(number)
            end = number
        return 0, end

    def choose_fragments(self) -> None:
        """Shows the covers with most words of the query, each widened where there is room."""
        covers = list(self._split_covers())
        chosen = 0
        while chosen < self._options.max_fragments:
            free = [each for each in covers if not each.is_used and each.hits]
            if not free:
                break
            cover = min(free, key=lambda each: (-each.hits, each.words))
            first, last = self._widen(cover)
            self.show(first, last)
            chosen += 1
            for each in covers:
                inside = first <= each.first <= last or first <= each.last <= last
                each.is_used |= each is cover or inside or (each.first < first and each.last > last)
        if not chosen:
            self.show(*self._take_beginning())

    def _split_covers(self) -> Iterator[_Cover]:
        """Yields the covers, and of those with too many words parts that begin and end with words of the query."""
        most = self._options.max_words
        for cover_first, cover_last in self._iter_covers():
            first, last = cover_first, cover_last
            while first <= last:
                while first < last and not self.tokens[first].is_hit:
                    first += 1
                words = hits = 0
                number = first
                while number <= last and words < most:
                    words += self._is_word(number)
                    hits += self.tokens[number].is_hit
                    number += 1
                if last > number:
                    last = number
                    while number >= first:
                        last = number
                        if self.tokens[number].is_hit:
                            break
                        words -= self._is_word(number)
                        number -= 1
                yield _Cover(first, last, words, hits)
                first, last = last + 1, cover_last

    def _widen(self, cover: _Cover) -> tuple[int, int]:
        first, last, words, most = cover.first, cover.last, cover.words, self._options.max_words
        if words >= most:
            return first, last
        room, added, number = (most - words) // 2, 0, first - 1
        marker = first
        while number >= 0 and added < room and not self.tokens[number].is_shown:
            words += self._is_word(number)
            added += self._is_word(number)
            marker = number
            number -= 1
        while marker < first and self._is_bad_end(marker):
            words -= self._is_word(marker)
            marker += 1
        number, end = last + 1, last
        while number < len(self.tokens) and words < most and not self.tokens[number].is_shown:
            words += self._is_word(number)
            end = number
            number += 1
        while end > last and self._is_bad_end(end):
            end -= 1
        return marker, end

    def show(self, first: int, last: int) -> None:
        """Shows some tokens, both ends included."""
        for token in self.tokens[first : last + 1]:
            token.is_shown = not token.is_again

    def render(self) -> str:
        """Returns what is shown."""
        options, parts, inside, fragments = self._options, [], False, 0
        for token in self.tokens:
            if token.is_again:
                continue
            if token.is_shown and not inside:
                fragments += 1
                parts += [options.fragment_delimiter] if fragments > 1 else []
            inside = token.is_shown
            if not inside or token.type in _SKIPPED:
                continue
            if token.type == tokens.TAG and not options.highlight_all:
                parts.append(" ")
            else:
                parts += [options.start_sel, token.text, options.stop_sel] if token.found else [token.text]
        return "".join(parts)


def _read_tokens(configuration: Configuration, text: str, words: Sequence[Word]) -> Iterator[_Token]:
    plain: dict[str, list[Word]] = {}
    for word in words:
        if not word.prefix:
            plain.setdefault(word.lexeme, []).append(word)
    prefixes = [word for word in words if word.prefix]
    position = 0
    for token in tokens.split_text(text):
        lexeme, has_position = configuration.find_lexeme(token)
        position += has_position
        if not lexeme:
            yield _Token(token.type, token.text)
            continue
        found = (*plain.get(lexeme, ()), *(word for word in prefixes if lexeme.startswith(word.lexeme)))
        for number, each in enumerate(found or (None,)):
            yield _Token(token.type, token.text, position, each, is_again=number > 0)


def _locate(query: Query, within: Occurrences) -> list[Located] | None:
    """Returns where the parts match that must all match; None if the query does not."""
    match query:
        case Word():
            found: Places | None = within.find(query)
            return None if found is None else [Located(tuple(found), False, 0)]
        case Not():
            return [] if _locate(query.arg, within) is None else None
        case Both(op="<"):
            phrase = within.locate(query)
            if phrase is None or not (phrase.negated or phrase.ends):
                return None
            return [] if phrase.negated else [phrase]
    left, right = _locate(query.left, within), _locate(query.right, within)
    if query.op == "&":
        return None if left is None or right is None else left + right
    if left is None and right is None:
        return None
    if not left or not right:
        return left or right
    return [
        Located(tuple(sorted({*one.ends, *other.ends})), False, max(one.width, other.width))
        for one in left
        for other in right
    ]
