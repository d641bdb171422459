"""Texts and options that are made to be slow to read: the time grows with their length, not with its square."""

from __future__ import annotations

import time

import pytest

from gpudb.errors import SqlError
from gpudb.text_search import headline, headline_options
from gpudb.text_search.configurations import get_configuration, get_configuration_oid
from gpudb.text_search.queries import read_query
from gpudb.text_search.ranking import rank_by_density, read_weights
from gpudb.text_search.tokens import split_text

_SIZE = 100_000
_MOST_SECONDS = 30.0
"""CPU time; a second or two are needed, and minutes where it grows with the square of the size."""


@pytest.mark.parametrize("part", ["<!--", "a_", "a-_", "a--", "a-a.", "aa.bb_.", "a@b-1.", "<a \"'", "1_", "&a", "é-"])
def test_a_text_is_split_in_linear_time(part: str) -> None:
    text = part * (_SIZE // len(part))
    start = time.thread_time()
    for token in split_text(text):
        assert token.text
        assert time.thread_time() - start < _MOST_SECONDS


def test_a_headline_of_many_covers() -> None:
    english = get_configuration(get_configuration_oid("english"))
    text = "some words to read in this text " * (_SIZE // 16)
    start = time.thread_time()
    made = headline.make_headline(english, text, "'word' & 'text'", headline_options.Options())
    assert "<b>words</b>" in made
    assert time.thread_time() - start < _MOST_SECONDS


def test_a_rank_of_a_word_with_many_places() -> None:
    vector = " ".join(f"'w{number}':{number}" for number in range(1, 12_000))
    assert read_query("'w':* & 'z'") is not None
    start = time.thread_time()
    assert rank_by_density(read_weights(None), vector, "'w':* & 'z'", 0) == 0.0
    assert time.thread_time() - start < _MOST_SECONDS


def test_headline_options_of_many_blanks() -> None:
    start = time.thread_time()
    with pytest.raises(SqlError, match="invalid parameter list format"):
        headline_options.read_options("StartSel=" + " " * _SIZE + "x y")
    assert time.thread_time() - start < _MOST_SECONDS
