"""Tokens, vectors, queries, matches, ranks and headlines of drawn texts, each beside PostgreSQL's."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import numpy as np
import psycopg
import pyarrow as pa
import pytest

from gpudb.errors import GpudbError
from gpudb.text_search import headline, headline_options, queries, ranking, vectors, web_queries
from gpudb.text_search.columns import match_column
from gpudb.text_search.configurations import get_configuration, get_configuration_oid
from gpudb.text_search.matching import matches
from gpudb.text_search.tokens import BLANK, split_text
from gpudb.text_search.values import to_vector_of_json
from tests.support.oracle.server import Oracle

ENGLISH = get_configuration(get_configuration_oid("english"))
SEEDS = range(6)
ROUNDS = 60

WORDS = (
    "fat cats the Rats a foo-bar x@y.com running of super dog , . </b> <b> http://a.com/b New York 12 1.5 fox saw it"
).split()


@pytest.fixture(scope="module")
def postgresql(oracle: Oracle) -> Iterator[Callable[..., object]]:
    with psycopg.connect(oracle.dsn, autocommit=True) as connection:

        def ask(sql: str, *values: object) -> object:
            """The value of a query; or an error, by its SQLSTATE."""
            try:
                (row,) = connection.execute(sql, values).fetchall()
            except psycopg.Error as error:
                return f"error {error.sqlstate}"
            return row[0] if len(row) == 1 else row

        yield ask


def own(function: Callable[..., object], *values: object) -> object:
    try:
        return function(*values)
    except GpudbError as error:
        return f"error {error.sqlstate}"


def draw_query(rng: random.Random, depth: int = 0) -> str:
    drawn = rng.random()
    if depth > 2 or drawn < 0.45:
        return rng.choice(["fat", "cats", "the", "Rats", "foo-bar", "of", "super", "'the cat'", "dog"]) + rng.choice(
            ["", "", "", ":*", ":A", ":*bd"]
        )
    if drawn < 0.55:
        return "!" + draw_query(rng, depth + 1)
    if drawn < 0.65:
        return "(" + draw_query(rng, depth + 1) + ")"
    return (
        draw_query(rng, depth + 1) + rng.choice([" & ", " | ", " <-> ", "<2>", "&", "|"]) + draw_query(rng, depth + 1)
    )


def draw_text(rng: random.Random, most: int = 14) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(rng.randint(0, most)))


@pytest.mark.parametrize(
    "text",
    [
        "The quick brown fox's don't, (a) \"b\" [c]; d!",
        "foo-bar-baz beta1-x up-to-date 1st-2nd -x- a--b a- ab-12 ab-12cd a-é é-a é1-a",
        "example.com www.example.com/stuff/index.html http://example.com/stuff?q=1#x https://user:p@host.org:8080/",
        "foo@bar.com joe.doe@a-b.co.uk a_b@c.de a@c .a@c.de a@c.de/x mailto:foo@bar.com",
        "1 -1 +1 1.5 -1.5e10 1e5 8.3.0 1.2.3.4 3.14. 1..2 1-2 2020-01-01 10:30:45 1/2 1e5a 1.5.a ++1",
        "/usr/local/foo.txt usr/local a/b c:/x foo.txt foo.bar.txt file.c a.b U.S.A. e.g. a.12 /a. /a/ x.y-z a_b.c",
        '<b>bold</b> <a href="x>y">z</a> <!-- c --> a<b a < b &amp; &#39; &#x1f; &nbsp &foo; <1> <?xml v="1"?>',
        "1abc abc1 a1b2 été naïve überß 日本語 тест-два it's 5% $3 C++ C# foo_bar _x x_",
        "ftp://a.b/c file:///etc/passwd http:// a.com.uk.x 12.com a.com: a.com:80/x a.com? foo.com-",
    ],
)
def test_tokens(postgresql: Callable[..., object], text: str) -> None:
    sql = "SELECT array_agg(tokid || ' ' || token) FROM ts_parse('default', %s) WHERE tokid <> 12"
    assert [f"{each.type} {each.text}" for each in split_text(text) if each.type != BLANK] == postgresql(sql, text)


@pytest.mark.parametrize("seed", SEEDS)
def test_queries(postgresql: Callable[..., object], seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(ROUNDS):
        text = draw_query(rng)
        if rng.random() < 0.1:
            text = text[: rng.randint(0, len(text))] + rng.choice("&(!:<' ") + text[rng.randint(0, len(text)) :]
        words = draw_text(rng)
        marked = " ".join(
            rng.choice([each, each, f'"{each} fat"', "-" + each, "or", "OR " + each]) for each in words.split()
        )
        for sql, function, given in (
            ("SELECT %s::tsquery::text", queries.parse_query, text),
            ("SELECT to_tsquery('english', %s)::text", lambda t: queries.make_query(ENGLISH, t), text),
            ("SELECT plainto_tsquery('english', %s)::text", lambda t: queries.make_plain_query(ENGLISH, t, "&"), words),
            (
                "SELECT phraseto_tsquery('english', %s)::text",
                lambda t: queries.make_plain_query(ENGLISH, t, "<"),
                words,
            ),
            (
                "SELECT websearch_to_tsquery('english', %s)::text",
                lambda t: web_queries.make_web_query(ENGLISH, t),
                marked,
            ),
        ):
            assert own(function, given) == postgresql(sql, given), (sql, given)


@pytest.mark.parametrize("seed", SEEDS)
def test_vectors_and_matches(postgresql: Callable[..., object], seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(ROUNDS):
        text, query = draw_text(rng), queries.make_query(ENGLISH, draw_query(rng))
        vector = vectors.make_vector(ENGLISH, text)
        assert vector == postgresql("SELECT to_tsvector('english', %s)::text", text)
        wanted = postgresql("SELECT %s::tsvector @@ %s::tsquery", vector, query)
        assert matches(vector, query) is wanted, (vector, query)
        assert match_column(pa.array([vector, None]), query).to_pylist() == [wanted, None]


@pytest.mark.parametrize("seed", SEEDS)
def test_ranks_are_the_same_bits(postgresql: Callable[..., object], seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(ROUNDS):
        words = ("fat", "cat", "rat", "dog", "cats", "ratty")
        written = " ".join(
            f"{rng.choice(words)}:{rng.randint(1, 60)}{rng.choice(['', 'A', 'B', 'C'])}"
            for _ in range(rng.randint(0, 8))
        )
        query = " & ".join(rng.sample(["fat", "cat:*", "rat:A", "dog", "!fat", "(rat | dog)"], rng.randint(1, 3)))
        method = rng.choice([0, 0, 1, 2, 4, 8, 16, 32, 33, 6])
        weights = [0.1, 0.2, 0.4, 1.0] if rng.random() < 0.7 else [0.5, -1.0, 0.25, 1.0]
        vector, read = vectors.parse_vector(written), queries.parse_query(query)
        for name, function in (("ts_rank", ranking.rank), ("ts_rank_cd", ranking.rank_by_density)):
            sql = f"SELECT {name}(%s::float4[], %s::tsvector, %s::tsquery, %s)"
            found = function(ranking.read_weights(weights), vector, read, method)
            wanted = postgresql(sql, weights, vector, read, method)
            assert np.float32(found) == np.float32(wanted), (name, vector, read, method, weights)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "options",
    [
        "",
        "MaxWords=10, MinWords=5",
        "MaxWords=8,MinWords=3,ShortWord=2",
        "MaxFragments=2",
        "HighlightAll=true",
        'StartSel=<<, StopSel=>>, MaxFragments=1,FragmentDelimiter=" ## ",MaxWords=12,MinWords=4',
    ],
)
@pytest.mark.parametrize(
    "query", ["fat", "fat & dog", "fat <-> cat", "york | fox", "rat & !saw", "super", "new <-> york | dog"]
)
def test_headlines(postgresql: Callable[..., object], query: str, options: str) -> None:
    rng = random.Random(query + options)
    for _ in range(5):
        text = draw_text(rng, 70)
        sql = "SELECT ts_headline('english', %s, to_tsquery('english', %s), %s)"
        made = headline.make_headline(
            ENGLISH, text, queries.make_query(ENGLISH, query), headline_options.read_options(options)
        )
        assert made == postgresql(sql, text, query, options), (text, query, options)


@pytest.mark.parametrize("size", [2046, 2047])
def test_the_longest_words(postgresql: Callable[..., object], size: int) -> None:
    for sql, function in (
        ("SELECT %s::tsquery::text", queries.parse_query),
        ("SELECT %s::tsvector::text", vectors.parse_vector),
    ):
        assert own(function, "é" * (size // 2) + "a" * (size % 2)) == postgresql(
            sql, "é" * (size // 2) + "a" * (size % 2)
        )


def test_members_of_one_name(postgresql: Callable[..., object]) -> None:
    text = '{"b": "The fat cats", "a": ["cat", 1.5, {"c": "rat"}], "b": "dog"}'
    found = to_vector_of_json(get_configuration_oid("english"), text)
    assert found == postgresql("SELECT to_tsvector('english', %s::json)::text", text)
