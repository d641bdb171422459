"""A text that differs from its snapshot fails, and --update-snapshots rewrites the snapshot."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.snapshots import replace

pytest_plugins = ["pytester"]

_ROOT = Path(__file__).parents[1]
_MODULE = '''
import pytest

FIXTURES = {
    "é one": (
        "SELECT 1",
        """
        project
          valués
        """,
    ),
    "two": (
        "SELECT 2",
        """
        scan
        """,
    ),
}
TEXTS = {"é one": "project\\n  filter '\\\\d'\\n    valués", "two": "scan"}


@pytest.mark.parametrize("name", FIXTURES)
def test_plan(name, snapshot):
    snapshot(TEXTS[name])
'''


def test_a_differing_snapshot_fails_until_it_is_updated(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(_ROOT))
    pytester.makeconftest("from tests.conftest import pytest_addoption\nfrom tests.support.snapshots import snapshot\n")
    file = pytester.makepyfile(test_plan=_MODULE)
    before = file.read_text(encoding="utf-8")

    result = pytester.runpytest_subprocess("-n0")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*+  filter '\\d'*", "*--update-snapshots*"])
    assert file.read_text(encoding="utf-8") == before

    pytester.runpytest_subprocess("-n0", "--update-snapshots").assert_outcomes(passed=2)
    after = file.read_text(encoding="utf-8")
    assert '        project\n          filter \'\\\\d\'\n            valués\n        """,\n' in after
    assert after.replace("          filter '\\\\d'\n            valués\n", "          valués\n") == before

    pytester.runpytest_subprocess("-n0").assert_outcomes(passed=2)


def test_a_snapshot_that_is_no_literal_is_an_error() -> None:
    with pytest.raises(LookupError, match="three"):
        replace(_MODULE, "three", "scan")
