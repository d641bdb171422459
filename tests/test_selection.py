"""--soak selects only the soak tests, and a run without it all others; GPU tests are skipped without a GPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.schedule import SECONDS

pytest_plugins = ["pytester"]

_ROOT = Path(__file__).parents[1]
_TESTS = """
    import pytest

    def test_short(): pass

    @pytest.mark.gpu
    def test_gpu(): pass

    @pytest.mark.soak
    @pytest.mark.parametrize("part", range(3))
    def test_long(part): pass

    @pytest.fixture(params=[2, pytest.param(8, marks=pytest.mark.soak)])
    def workers(request):
        return request.param

    def test_workers(workers): pass
"""


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A test directory with this suite's conftest and markers."""
    monkeypatch.setenv("PYTHONPATH", str(_ROOT))
    pytester.makeconftest(
        "from tests import conftest\n"
        "from tests.conftest import pytest_addoption, pytest_collection_modifyitems\n"
        "from pathlib import Path\n"
        "conftest._GPU = Path('no such device')\n"
    )
    pytester.makeini("[pytest]\nmarkers =\n    gpu: needs a GPU\n    soak: long\n")
    pytester.makepyfile(_TESTS)
    return pytester


@pytest.mark.parametrize("processes", ["-n0", "-n1"])
def test_without_soak_its_tests_are_deselected(suite: pytest.Pytester, processes: str) -> None:
    result = suite.runpytest_subprocess("-v", processes)
    result.assert_outcomes(passed=2, skipped=1, deselected=4 if processes == "-n0" else 0)
    result.stdout.no_fnmatch_line("*test_long*")
    result.stdout.no_fnmatch_line("*test_workers*8*")


@pytest.mark.parametrize("processes", ["-n0", "-n1"])
def test_with_soak_all_others_are_deselected(suite: pytest.Pytester, processes: str) -> None:
    result = suite.runpytest_subprocess("-v", "--soak", processes)
    result.assert_outcomes(passed=4, deselected=3 if processes == "-n0" else 0)
    result.stdout.no_fnmatch_line("*test_short*")


def test_the_schedule_names_files_that_exist() -> None:
    assert [name for name in SECONDS if not (_ROOT / "tests" / name).is_file()] == []
