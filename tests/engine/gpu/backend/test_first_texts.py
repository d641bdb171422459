"""The rows that come first by a text: a superset of what a sort finds, with few others."""

from __future__ import annotations

import random

import numpy as np
import pytest

from gpudb.engine.gpu.backend.first_texts import TextArrays, select_first


def make_arrays(texts: list[str | None]) -> TextArrays:
    parts = [(each or "").encode() for each in texts]
    offsets = np.concatenate([[0], np.cumsum([len(each) for each in parts])]).astype(np.int32)
    valid = np.array([each is not None for each in texts])
    return TextArrays(np.frombuffer(b"".join(parts), np.uint8), offsets, None if valid.all() else valid)


def find_ties(texts: list[str | None], count: int, *, descending: bool, nulls_first: bool) -> list[int]:
    """Returns the places of the first texts by a sort, and of those equal to the last of them."""

    def key(text: str | None) -> tuple[bool, bytes]:
        # NULLs are greater than all texts, or less, so that they come where they should
        return (text is None) != (nulls_first != descending), (text or "").encode()

    ranked = sorted((key(text) for text in texts), reverse=descending)
    last = ranked[min(count, len(ranked)) - 1]
    return [at for at, text in enumerate(texts) if (key(text) >= last if descending else key(text) <= last)]


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("nulls_first", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_first_texts_are_those_of_a_sort(descending: bool, nulls_first: bool, seed: int) -> None:
    chance = random.Random(seed)
    prefix = "https://a.example/" * chance.randrange(3)
    letters = ["a", "b", "é", "日", " ", "~"]

    def draw() -> str | None:
        if chance.random() < 0.1 * (seed % 2):
            return None
        if chance.random() < 0.05:
            return ""
        return prefix + "".join(chance.choices(letters, k=chance.randrange(12)))

    texts = [draw() for _ in range(500)]
    for count in (1, 7, 60, 499, 500, 700):
        made = select_first(np, make_arrays(texts), count, descending=descending, nulls_first=nulls_first).tolist()
        wanted = find_ties(texts, count, descending=descending, nulls_first=nulls_first)
        assert made == wanted


@pytest.mark.parametrize("texts", [[], [None, None], ["", ""], ["a"], ["same text of many bytes"] * 40])
def test_the_smallest_and_the_equal(texts: list[str | None]) -> None:
    made = select_first(np, make_arrays(texts), 1, descending=False, nulls_first=False)
    assert made.tolist() == list(range(len(texts)))
