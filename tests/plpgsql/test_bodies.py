"""Parsed bodies: what their statements say of the whole body."""

from __future__ import annotations

import pytest

from gpudb.plpgsql.declared import Declared
from gpudb.plpgsql.parser import parse_body


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("COMMIT", True),
        ("ROLLBACK", True),
        ("CALL p()", True),
        ("DO 'BEGIN COMMIT; END'", True),
        ("PERFORM f()", False),
    ],
)
def test_bodies_that_may_end_transactions(statement: str, expected: bool) -> None:
    """Their loops over queries read all rows first: the files of the rest may be gone after the commit."""
    body = parse_body(f"BEGIN FOR r IN 1..2 LOOP {statement}; END LOOP; END", Declared("f"), lambda text: None)
    assert body.ends_transactions is expected
