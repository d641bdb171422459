"""ts_rank and ts_rank_cd: how well a vector matches a query, by the weights, distances and density of its words.

The formulas are those of PostgreSQL's tsrank.c, in single precision where it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from gpudb.errors import SqlError
from gpudb.text_search.matching import find_lexemes
from gpudb.text_search.occurrences import Occurrences
from gpudb.text_search.queries import EVERY_WEIGHT, Both, Query, Word, iter_words, read_query
from gpudb.text_search.vectors import Place, Vector, read_vector

DEFAULT_WEIGHTS = (0.1, 0.2, 0.4, 1.0)
"""Of D, C, B and A."""
_LOG_LENGTH, _LENGTH, _DISTANCE, _UNIQUE, _LOG_UNIQUE, _BELOW_ONE = 1, 2, 4, 8, 16, 32
_NO_POSITION = 16383
_FARTHEST = 16384
_SQUARES = 1.64493406685  # the sum of 1 / n²

_single = np.float32


def read_weights(given: Sequence[float | None] | None) -> tuple[np.float32, ...]:
    """Returns the four weights, in which a negative one is the default; 22004 and 22023 for others, 2202E for fewer."""
    if given is None:
        return tuple(map(_single, DEFAULT_WEIGHTS))
    if len(given) < len(DEFAULT_WEIGHTS):
        raise SqlError.of("array_subscript_error", "array of weight is too short")
    if None in given:
        raise SqlError.of("null_value_not_allowed", "array of weight must not contain nulls")
    known = [each for each in given if each is not None]
    weights = [default if each < 0 else each for each, default in zip(known, DEFAULT_WEIGHTS)]
    if max(weights) > 1.0:
        raise SqlError.of("invalid_parameter_value", "weight out of range")
    return tuple(map(_single, weights))


def rank(weights: tuple[np.float32, ...], vector_text: str, query_text: str, method: int) -> float:
    """ts_rank: by how often words occur, and of a conjunction by how near to each other."""
    vector, query = read_vector(vector_text), read_query(query_text)
    if not vector or query is None:
        return 0.0
    # Of words with one lexeme the last in the query counts
    last = {word.lexeme: word for word in iter_words(query)}
    words = [last[lexeme] for lexeme in sorted(last, key=str.encode)]
    near = isinstance(query, Both) and query.op in "&<" and len(words) > 1
    result = _rank_near(weights, vector, words) if near else _rank_each(weights, vector, words)
    if result < 0:
        result = _single(1e-20)
    if method & _LOG_LENGTH:
        result = _single(float(result) / (math.log(_count_places(vector) + 1) / math.log(2.0)))
    if method & _LENGTH and (length := _count_places(vector)) > 0:
        result = _single(result / _single(length))
    if method & _UNIQUE:
        result = _single(result / _single(len(vector)))
    if method & _LOG_UNIQUE:
        result = _single(float(result) / (math.log(len(vector) + 1) / math.log(2.0)))
    if method & _BELOW_ONE:
        result = _single(result / (result + _single(1)))
    return float(result)


def _count_places(vector: Vector) -> int:
    return sum(len(places) or 1 for places in vector.values())


def _find_entries(vector: Vector, word: Word) -> list[tuple[Place, ...]]:
    """Returns the places of each lexeme that a word stands for, whatever their weights are."""
    return [vector[lexeme] for lexeme in find_lexemes(vector, word)]


def _rank_each(weights: tuple[np.float32, ...], vector: Vector, words: Sequence[Word]) -> np.float32:
    result = _single(0)
    for word in words:
        for places in _find_entries(vector, word):
            total, best, at = _single(0), _single(-1), 0
            for number, place in enumerate(places or (Place(_NO_POSITION, 0),)):
                weight = weights[place.weight]
                total = _single(total + weight / _single((number + 1) * (number + 1)))
                if weight > best:
                    best, at = weight, number
            own = best + total - best / _single((at + 1) * (at + 1))
            result = _single(float(result) + float(own) / _SQUARES)
    return _single(result / _single(len(words))) if words else result


def _rank_near(weights: tuple[np.float32, ...], vector: Vector, words: Sequence[Word]) -> np.float32:
    result = _single(-1)
    known: list[tuple[tuple[Place, ...], bool]] = []
    unplaced = (Place(_NO_POSITION, 0),)
    for word in words:
        latest: tuple[tuple[Place, ...], bool] | None = None
        for places in _find_entries(vector, word):
            latest = (places or unplaced, not places)
            for others, without in known:
                for one in latest[0]:
                    for other in others:
                        distance = abs(one.position - other.position)
                        if distance == 0 and not (latest[1] or without):
                            continue
                        product = weights[one.weight] * weights[other.weight] * _weigh(distance or _FARTHEST)
                        near = _single(math.sqrt(product))
                        result = near if result < 0 else _single(1.0 - (1.0 - float(result)) * (1.0 - float(near)))
        if latest is not None:
            known.append(latest)
    return result


def _weigh(distance: int) -> np.float32:
    if distance > 100:
        return _single(1e-30)
    return _single(1.0 / (1.005 + 0.05 * math.exp(float(_single(distance)) / 1.5 - 2)))


def rank_by_density(weights: tuple[np.float32, ...], vector_text: str, query_text: str, method: int) -> float:
    """ts_rank_cd: by how close together the words of each match are ("cover density")."""
    vector, query = read_vector(vector_text), read_query(query_text)
    if query is None:
        return 0.0
    document = _Document(vector, query)
    result, sum_of_gaps, before, covers = 0.0, 0.0, 0.0, 0
    for begin, end in document.iter_covers():
        inverse = sum(1.0 / float(weights[document.entries[n][1]]) for n in range(begin, end + 1))
        first, last = document.entries[begin][0], document.entries[end][0]
        noise = (last - first) - (end - begin)
        if noise < 0:
            noise = (end - begin) // 2
        result += (end - begin + 1) / inverse / (1 + noise)
        middle = (first + last) / 2.0
        if covers and middle > before:
            sum_of_gaps += 1.0 / (middle - before)
        before = middle
        covers += 1
    if method & _LOG_LENGTH and vector:
        result /= math.log(_count_places(vector) + 1)
    if method & _LENGTH and (length := _count_places(vector)) > 0:
        result /= length
    if method & _DISTANCE and covers and sum_of_gaps > 0:
        result /= covers / sum_of_gaps
    if method & _UNIQUE and vector:
        result /= len(vector)
    if method & _LOG_UNIQUE and vector:
        result /= math.log(len(vector) + 1) / math.log(2.0)
    if method & _BELOW_ONE:
        result /= result + 1
    return float(_single(result))


class _Document:
    """The places of a query's words in a vector, in order: (position, weight, the words that are there)."""

    def __init__(self, vector: Vector, query: Query) -> None:
        self._query = query
        at: dict[tuple[Place, str], set[Word]] = {}
        for word in set(iter_words(query)):
            for lexeme in find_lexemes(vector, word):
                for place in vector[lexeme]:
                    if word.weights == EVERY_WEIGHT or word.weights >> place.weight & 1:
                        at.setdefault((place, lexeme), set()).add(word)
        self.entries = [(place.position, place.weight, frozenset(at[place, lexeme])) for place, lexeme in sorted(at)]

    def iter_covers(self) -> list[tuple[int, int]]:
        """Returns the first and last entry of each shortest run that satisfies the query."""
        covers: list[tuple[int, int]] = []
        start = 0
        while start < len(self.entries):
            end = self._extend(range(start, len(self.entries)))
            if end is None:
                break
            begin = self._extend(range(end, start - 1, -1))
            if begin is None:
                start += 1
                continue
            covers.append((begin, end))
            start = begin + 1
        return covers

    def _extend(self, numbers: Sequence[int]) -> int | None:
        """Returns the entry at which those so far, in this order, satisfy the query."""
        held: dict[Word, list[int]] = {}
        for number in numbers:
            position, _, words = self.entries[number]
            for word in words:
                held.setdefault(word, []).append(position)
            if Occurrences(held.get).match(self._query):
                return number
        return None
