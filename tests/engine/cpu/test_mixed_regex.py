"""Regular expressions that mix greedy and non-greedy quantifiers: matches, errors and limits."""

from __future__ import annotations

import pytest
import regex

from gpudb.errors import FeatureNotSupported
from gpudb.functions.mixed_regex import MixedPattern
from gpudb.functions.posix_regex import translate


def _pattern(text: str) -> MixedPattern:
    made = translate(text)
    return MixedPattern(made.mixed, made.groups, regex.DOTALL)


@pytest.mark.parametrize(
    ("pattern", "text", "groups"),
    [
        (r"(.*?)([0-9]+)(.*)", "abc01234xyz", ("abc", "0", "")),
        (r"(?:(.*?)([0-9]+)(.*)){1,1}", "abc01234xyz", ("abc", "01234", "xyz")),
        (r"(.*)X(.*?)", "aXbXc", ("aXb", "c")),
        (r"(y*?)(x*)", "zx", ("", "")),
        (r"(a)*?(b+)$", "aab", ("a", "b")),
    ],
)
def test_groups(pattern: str, text: str, groups: tuple[str | None, ...]) -> None:
    """Results of PostgreSQL 16; the first two are in its manual, 9.7.3.5."""
    found = _pattern(pattern).search(text)
    assert found is not None
    assert found.groups() == groups


def test_all_matches_and_empty_ones() -> None:
    found = [match.span() for match in _pattern("a*?b|x*").finditer("aabxx")]
    assert found == [(0, 3), (3, 5), (5, 5)]


def test_no_match() -> None:
    assert _pattern("a+?b+").search("aaa") is None


def test_back_references_are_refused() -> None:
    with pytest.raises(FeatureNotSupported):
        _pattern(r"(a+?)b*\1")


def test_a_search_ends_in_time() -> None:
    with pytest.raises(TimeoutError):
        _pattern("(a+?)(a+)(a+?)(?=z)").search("a" * 400, timeout=0.05)
