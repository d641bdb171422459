"""Declared functions exist in PostgreSQL, once each; undeclared ones are refused."""

from __future__ import annotations

import pytest

from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.functions import registry
from gpudb.functions.library import functions_by_name
from gpudb.functions.posix_regex import translate, translate_similar
from gpudb.functions.resolve import resolve_function
from gpudb.types import INT4, TEXT


def _signatures() -> set[str]:
    return {each.signature for group in functions_by_name().values() for each in group}


def test_every_signature_is_postgresqls() -> None:
    registry._import_topics()
    declared = registry._IMPLEMENTATIONS
    known = _signatures() | set(functions_by_name())
    # a name with a hyphen stands for a construct of the grammar
    assert [name for name in declared if name not in known and "-" not in name] == []


def test_what_is_not_declared_is_refused() -> None:
    target = resolve_function("to_tsvector", (TEXT,)).target
    with pytest.raises(FeatureNotSupported) as caught:
        registry.get_implementation(target)  # type: ignore[arg-type]
    assert caught.value.sqlstate == "0A000"


def test_declaring_twice_is_an_error() -> None:
    registry._import_topics()
    with pytest.raises(ValueError, match="declared twice"):
        registry.declare("upper(text)", "upper({0})")


def test_defaults_are_left_out() -> None:
    assert str(resolve_function("make_interval", (INT4,)).target).startswith("make_interval(integer, integer")


@pytest.mark.parametrize(
    "pattern, text",
    [
        ("a.c", "a.c"),
        (r"\d+", "[0-9]+"),
        ("^a$", r"^a\z"),
        ("[[:alpha:]_]", r"[\p{L}_]"),
        ("a{2,3}", "a{2,3}"),
        ("a{,2}", r"a\{,2\}"),
        ("[]x]", r"[\]x]"),
        ("***=a.b", r"a\.b"),
    ],
)
def test_regular_expressions_are_translated(pattern: str, text: str) -> None:
    assert translate(pattern).text == text


@pytest.mark.parametrize("pattern", ["(", ")", "a**", "*a", "[a", "a{5,2}", "\\", "(?z)", "[[:none:]]"])
def test_bad_regular_expressions(pattern: str) -> None:
    with pytest.raises(SqlError) as caught:
        translate(pattern)
    assert caught.value.sqlstate in {"2201B", "22023"}


def test_tokens_of_mixed_greediness_are_kept() -> None:
    assert translate("a*?b+").mixed == ("a", "*?", "b", "+")
    assert translate("a*?|b").mixed  # several branches are greedy
    assert not translate("a*?b").mixed
    assert not translate("a*b+").mixed


def test_similar_to() -> None:
    assert translate_similar("a%_(b|c)") == "^(?:a.*.(?:b|c))$"
    assert translate_similar(r"a\%") == r"^(?:a\%)$"
