"""Functions over vectors and queries in their printed forms: what SQL's operators and functions compute."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from gpudb.errors import SqlError
from gpudb.text_search.configurations import get_configuration, get_dictionary
from gpudb.text_search.headline import make_headline
from gpudb.text_search.headline_options import read_options
from gpudb.text_search.queries import (
    Both,
    Not,
    Query,
    Word,
    count_nodes,
    format_query,
    iter_words,
    make_plain_query,
    make_query,
    read_query,
)
from gpudb.text_search.ranking import rank, rank_by_density, read_weights
from gpudb.text_search.rewriting import rewrite_once, rewrite_query
from gpudb.text_search.vectors import (
    collect_lexemes,
    concatenate,
    format_vector,
    make_vector,
    parse_weight,
    read_vector,
    set_weight,
)
from gpudb.text_search.web_queries import make_web_query


def to_vector(configuration: int, text: str) -> str:
    """to_tsvector of a text."""
    return make_vector(get_configuration(configuration), text)


def to_vector_of_json(configuration: int, text: str) -> str:
    """to_tsvector of the strings of a JSON value, in their order."""
    members = json.loads(text, object_pairs_hook=lambda pairs: [value for _, value in pairs])
    return format_vector(collect_lexemes(get_configuration(configuration), _iter_strings(members)))


def _iter_strings(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():
            for each in value:
                yield from _iter_strings(each)


def to_query(configuration: int, text: str) -> str:
    """to_tsquery."""
    return make_query(get_configuration(configuration), text)


def to_plain_query(configuration: int, text: str) -> str:
    """plainto_tsquery."""
    return make_plain_query(get_configuration(configuration), text, "&")


def to_phrase_query(configuration: int, text: str) -> str:
    """phraseto_tsquery."""
    return make_plain_query(get_configuration(configuration), text, "<")


def to_web_query(configuration: int, text: str) -> str:
    """websearch_to_tsquery."""
    return make_web_query(get_configuration(configuration), text)


def headline(configuration: int, text: str, query: str, options: str) -> str:
    """ts_headline of a text."""
    return make_headline(get_configuration(configuration), text, query, read_options(options))


def headline_of_json(configuration: int, text: str, query: str, options: str, compact: bool) -> str:
    """ts_headline of each string of a JSON value; a `compact` one has no blanks between its tokens."""
    parts: list[str] = []
    for found in _JSON_TOKEN.finditer(text):
        token = found.group()
        if token[0] == '"' and not found["colon"]:
            shown = headline(configuration, json.loads(token), query, options)
            parts.append(json.dumps(shown, ensure_ascii=False))
        elif not (compact and token.isspace()):
            parts.append(token)
    return "".join(parts)


_JSON_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"(?P<colon>(?=\s*:))?|\s+|[^"\s]+')
"""A string, and whether it is a member's name; blanks; anything else."""


def lexize(dictionary: int, word: str) -> list[str]:
    """ts_lexize: the lexemes of a word; none for a stop word."""
    found = get_dictionary(dictionary).find_lexeme(word)
    return [] if found is None else [found]


def rank_by_words(weights: Sequence[float | None] | None, vector: str, query: str, method: int) -> float:
    """ts_rank."""
    return rank(read_weights(weights), vector, query, method)


def rank_by_covers(weights: Sequence[float | None] | None, vector: str, query: str, method: int) -> float:
    """ts_rank_cd."""
    return rank_by_density(read_weights(weights), vector, query, method)


# ---- vectors


def join_vectors(first: str, second: str) -> str:
    """The concatenation of two vectors."""
    return format_vector(concatenate(read_vector(first), read_vector(second)))


def strip(vector: str) -> str:
    """A vector without positions."""
    return format_vector(dict.fromkeys(read_vector(vector), ()))


def weigh(vector: str, weight: str) -> str:
    """setweight of all lexemes."""
    return format_vector(set_weight(read_vector(vector), parse_weight(weight)))


def weigh_words(vector: str, weight: str, words: Sequence[str | None]) -> str:
    """setweight of some lexemes."""
    return format_vector(set_weight(read_vector(vector), parse_weight(weight), [each for each in words if each]))


def delete(vector: str, words: Sequence[str | None]) -> str:
    """ts_delete: a vector without some lexemes."""
    held = read_vector(vector)
    return format_vector({word: places for word, places in held.items() if word not in words})


def keep_weights(vector: str, letters: Sequence[str | None]) -> str:
    """ts_filter: a vector with only the positions of some weights."""
    if None in letters:
        raise SqlError.of("null_value_not_allowed", "weight array may not contain nulls")
    wanted = {parse_weight(each) for each in letters if each is not None}
    kept = {
        word: tuple(place for place in places if place.weight in wanted) for word, places in read_vector(vector).items()
    }
    return format_vector({word: places for word, places in kept.items() if places})


def list_lexemes(vector: str) -> list[str]:
    """tsvector_to_array."""
    return sorted(read_vector(vector), key=str.encode)


def from_lexemes(words: Sequence[str | None]) -> str:
    """array_to_tsvector; 22004 and 2200F."""
    for word in words:
        if word is None:
            raise SqlError.of("null_value_not_allowed", "lexeme array may not contain nulls")
        if not word:
            raise SqlError.of("zero_length_character_string", "lexeme array may not contain empty strings")
    return format_vector(dict.fromkeys(filter(None, words), ()))


def count_lexemes(vector: str) -> int:
    """The number of lexemes."""
    return len(read_vector(vector))


# ---- queries


def _join(op: str, first: str, second: str, distance: int = 0) -> str:
    left, right = read_query(first), read_query(second)
    if left is None or right is None:
        return second if left is None else first
    return format_query(Both(op, left, right, distance))


def both(first: str, second: str) -> str:
    """Both queries must match."""
    return _join("&", first, second)


def either(first: str, second: str) -> str:
    """One of two queries must match."""
    return _join("|", first, second)


def negate(query: str) -> str:
    """A query must not match."""
    read = read_query(query)
    return "" if read is None else format_query(Not(read))


def follow(first: str, second: str, distance: int) -> str:
    """The second query must match some positions after the first; 22023."""
    if not 0 <= distance <= 16384:
        message = "distance in phrase operator must be an integer value between zero and 16384 inclusive"
        raise SqlError.of("invalid_parameter_value", message)
    return _join("<", first, second, distance)


def contains(first: str, second: str) -> bool:
    """Whether all lexemes of the second query are in the first."""
    return {word.lexeme for word in iter_words(read_query(second))} <= {
        word.lexeme for word in iter_words(read_query(first))
    }


def rewrite(query: str, target: str, substitute: str) -> str:
    """ts_rewrite of one target."""
    return format_query(rewrite_once(*map(read_query, (query, target, substitute))))


def rewrite_all(query: str, pairs: Sequence[Sequence[str | None]]) -> str:
    """ts_rewrite of the targets that a query returns, each with its substitute."""
    read = [
        (read_query(target), read_query(other)) for target, other in pairs if target is not None and other is not None
    ]
    return format_query(rewrite_query(read_query(query), read))


def count_query_nodes(query: str) -> int:
    """numnode."""
    return count_nodes(read_query(query))


def show_indexable(query: str) -> str:
    """querytree: the part of a query that an index can search for; T for one that matches without any word."""
    read = read_query(query)
    if read is None:
        return ""
    kept = _keep_positive(read)
    return "T" if kept is None else format_query(kept)


def _keep_positive(query: Query) -> Query | None:
    match query:
        case Word():
            return query
        case Not():
            return None
    left, right = _keep_positive(query.left), _keep_positive(query.right)
    if left is None or right is None:
        return None if query.op == "|" else right if left is None else left
    return Both(query.op, left, right, query.distance)
