"""Whether vectors satisfy queries: `@@`."""

from __future__ import annotations

from gpudb.text_search.occurrences import Occurrences, Places
from gpudb.text_search.queries import EVERY_WEIGHT, Word, read_query
from gpudb.text_search.vectors import Place, Vector, read_vector


def matches(vector: str, query: str) -> bool:
    """Returns whether a vector satisfies a query, both in their printed forms; an empty query matches nothing."""
    wanted = read_query(query)
    return wanted is not None and open_vector(read_vector(vector)).match(wanted)


def open_vector(vector: Vector) -> Occurrences:
    """Returns where words are in a vector."""
    return Occurrences(lambda word: _find(vector, word))


def _find(vector: Vector, word: Word) -> Places | None:
    found = find_places(vector, word)
    if found is None:
        return None
    return sorted({place.position for place in found})


def find_places(vector: Vector, word: Word) -> list[Place] | None:
    """Returns the places of a word in a vector, in order and of its weights; None if it is not there.

    The list is empty for a vector without positions, whose words have any weight.
    """
    held = [vector[lexeme] for lexeme in find_lexemes(vector, word)]
    if not held:
        return None
    places = [place for each in held for place in each]
    if not places or word.weights == EVERY_WEIGHT:
        return places
    kept = [place for place in places if word.weights >> place.weight & 1]
    return kept or None


def find_lexemes(vector: Vector, word: Word) -> list[str]:
    """Returns the lexemes of a vector that a word stands for, in their order."""
    if not word.prefix:
        return [word.lexeme] if word.lexeme in vector else []
    return sorted((lexeme for lexeme in vector if lexeme.startswith(word.lexeme)), key=str.encode)
