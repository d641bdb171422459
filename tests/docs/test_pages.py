"""What every page of the guide keeps: its length, its place in the navigation, and pictures of today's code."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
import yaml

from tests.docs import pictures
from tests.support.guide_blocks import DOCS, ROOT, pages

MOST_LINES = 300


def test_no_page_is_longer_than_a_reader_scrolls() -> None:
    lengths = {str(page.relative_to(ROOT)): len(page.read_text(encoding="utf-8").splitlines()) for page in pages()}
    assert not {page: length for page, length in lengths.items() if length > MOST_LINES}


def test_groups_of_the_navigation_are_short() -> None:
    lines = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    groups = [group for group in yaml.safe_load(lines[lines.rindex("\nnav:") :])["nav"] if "Developers" not in group]
    assert len(groups) >= 8
    for group in groups:
        for name, entries in group.items():
            assert isinstance(entries, str) or len(entries) <= 11, name


def test_extras_of_the_installation_page_are_those_of_the_package() -> None:
    text = (DOCS / "installation.md").read_text(encoding="utf-8")
    table = text[text.index("<!-- extras -->") : text.index("<!-- /extras -->")]
    listed = {
        name for row in re.findall(r"^\| (`[^|]*) \|", table, re.MULTILINE) for name in re.findall(r"`(.+?)`", row)
    }
    section = (ROOT / "pyproject.toml").read_text(encoding="utf-8").split("[project.optional-dependencies]")[1]
    assert listed == {*re.findall(r"^([\w-]+) = \[", section.split("\n[")[0], re.MULTILINE)}


@pytest.mark.parametrize("name", ["shell.svg", "plan.svg"])
def test_pictures_show_what_the_code_shows(name: str) -> None:
    drawn, kept = (
        re.sub(r"\d+\.\d+", "0.0", "".join(ElementTree.fromstring(text).itertext()))
        for text in (pictures.draw(name), (pictures.ASSETS / name).read_text(encoding="utf-8"))
    )
    shown = {*re.findall(r"[A-Za-z]{4,}", drawn)}
    assert shown == {*re.findall(r"[A-Za-z]{4,}", kept)}, "python -m tests.docs.pictures draws them again"
