"""The changelog: sections by version, newest first; the code's version is one of them, and no entry is there twice."""

from __future__ import annotations

import re
from datetime import date

import gpudb
from tests.support.guide_blocks import ROOT

TEXT = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
SECTIONS = re.findall(r"^## (.+)$", TEXT, re.MULTILINE)
KINDS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_sections_are_versions() -> None:
    first, *others = SECTIONS
    assert first == "Unreleased"
    found = [re.fullmatch(r"(\d+)\.(\d+)\.(\d+) \((\d{4}-\d\d-\d\d)\)", each) for each in others]
    assert all(found)
    versions = [tuple(map(int, each.groups()[:3])) for each in found if each]
    dates = [date.fromisoformat(each[4]) for each in found if each]
    assert versions == sorted(set(versions), reverse=True)
    assert dates == sorted(dates, reverse=True)
    assert ".".join(map(str, versions[0])) == gpudb.__version__


def test_entries_have_a_kind() -> None:
    assert set(re.findall(r"^### (.+)$", TEXT, re.MULTILINE)) <= KINDS


def test_no_entry_is_there_twice() -> None:
    entries = re.findall(r"^- .*(?:\n  .*)*", TEXT, re.MULTILINE)
    assert len(entries) > 100
    assert sorted(entries) == sorted(set(entries))
