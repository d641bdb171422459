"""Equality keys and sort order of types whose equal values have several representations."""

from __future__ import annotations

import pytest

from gpudb.functions.equality import has_many_representations, render_equality_key, render_sort_key
from gpudb.types import INT4, JSONB, NUMERIC, TEXT, SqlType, exact_numeric


@pytest.mark.parametrize(
    ("item", "several"),
    [
        (INT4, False),
        (exact_numeric(10, 2), False),
        (NUMERIC, True),
        (JSONB, True),
        (JSONB.array, True),
        (TEXT.array, False),
        (SqlType("record", fields=(("a", INT4), ("b", NUMERIC))), True),
        (SqlType("record", fields=(("a", INT4), ("b", TEXT))), False),
    ],
)
def test_types_of_several_forms(item: SqlType, several: bool) -> None:
    assert has_many_representations(item) is several
    assert (render_equality_key("x", item) == "x") is (not several or item == NUMERIC)


def test_jsonb_is_sorted_by_its_own_order() -> None:
    assert render_sort_key("x", JSONB) == "pg_jsonb_order(x)"
    assert "pg_jsonb_key" in render_equality_key("x", JSONB)
