"""Which vectors of a column satisfy one query: by searches in their printed forms, where these suffice.

A word without positions in the query is a text between two quotes in the vector. Phrases, and words of certain weights,
are looked at one vector after the other, of those vectors that have the words.
"""

from __future__ import annotations

import re
from itertools import compress

import pyarrow as pa
import pyarrow.compute as pc

from gpudb.text_search.matching import open_vector
from gpudb.text_search.queries import EVERY_WEIGHT, Both, Not, Query, Word, read_query
from gpudb.text_search.vectors import quote, read_vector


def match_column(vectors: pa.StringArray, query_text: str) -> pa.BooleanArray:
    """Returns whether each vector satisfies a query, NULL where it is NULL."""
    query = read_query(query_text)
    if query is None:
        return pc.if_else(vectors.is_null(), None, pa.scalar(False))
    found = _Search(vectors).match(query)
    if not _is_exact(query):
        found = _look_closer(vectors, found, query)
    return found


class _Search:
    """Searches for words in vectors; what is not exact matches at least what the query does."""

    def __init__(self, vectors: pa.StringArray) -> None:
        # A word is behind a blank and before a colon or a blank
        self._padded = pc.binary_join_element_wise("", vectors, "", " ")

    def match(self, query: Query) -> pa.BooleanArray:
        """Returns where a query may match."""
        match query:
            case Word():
                return self._find(query)
            case Not():
                return pc.invert(self.match(query.arg)) if _is_exact(query.arg) else self._match_all()
            case Both(op="|"):
                return pc.or_(self.match(query.left), self.match(query.right))
        return pc.and_(self.match(query.left), self.match(query.right))

    def _find(self, word: Word) -> pa.BooleanArray:
        if word.prefix:
            return pc.match_substring(self._padded, " " + quote(word.lexeme)[:-1])
        return pc.match_substring_regex(self._padded, " " + re.escape(quote(word.lexeme)) + "[: ]")

    def _match_all(self) -> pa.BooleanArray:
        return pc.if_else(self._padded.is_null(), None, pa.scalar(True))


def _is_exact(query: Query) -> bool:
    """Returns whether words alone decide: no positions and no weights."""
    match query:
        case Word():
            return query.weights == EVERY_WEIGHT
        case Not():
            return _is_exact(query.arg)
    return query.op != "<" and _is_exact(query.left) and _is_exact(query.right)


def _look_closer(vectors: pa.StringArray, found: pa.BooleanArray, query: Query) -> pa.BooleanArray:
    wanted = pc.fill_null(found, False).to_pylist()
    held = iter([open_vector(read_vector(each)).match(query) for each in compress(vectors.to_pylist(), wanted)])
    closer = pa.array([next(held) if each else False for each in wanted], pa.bool_())
    return pc.if_else(vectors.is_null(), None, closer)
