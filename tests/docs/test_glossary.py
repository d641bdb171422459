"""The glossary: its terms are sorted, have one line each, and are terms of the code or the tests."""

from __future__ import annotations

import re

from tests.support.guide_blocks import DOCS, ROOT

PAGE = DOCS / "developers" / "glossary.md"
ROWS = re.findall(r"^\| ([^|-][^|]*) \| ([^|]+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)[1:]
"""Terms and meanings, without the header."""


def test_terms_are_sorted_and_single() -> None:
    terms = [term for term, _ in ROWS]
    assert len(terms) > 50
    assert len(set(terms)) == len(terms)
    firsts = [term.split(",")[0][0].lower() for term in terms]
    assert firsts == sorted(firsts)


def test_terms_are_used() -> None:
    folders = ("gpudb", "kernels", "tests")
    files = (path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in {".py", ".cuh", ".cu"})
    text = "\n".join(path.read_text(encoding="utf-8") for path in files).lower()
    terms = {term.split(",")[0].lower() for term, _ in ROWS}
    unused = [
        term for term in terms if not re.search(rf"\b{'[ _-]?'.join(map(re.escape, re.split('[ -]', term)))}", text)
    ]
    assert unused == []
