"""The committed matrix: its shape, and the guide's table made from it; and how outcomes become cells."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.clients import matrix
from tests.clients.families import FAMILIES
from tests.clients.matrix import Check, Matrix, Result
from tests.clients.scenarios import Scenario, parse, run


def test_each_scenario_has_a_result() -> None:
    results = {(result.client, result.family) for result in matrix.load().results}
    assert results == {(each.client, each.family) for family in FAMILIES for each in family.scenarios()}


def test_a_client_that_ran_has_a_version_and_a_check_of_connecting() -> None:
    for result in matrix.load().results:
        if result.skipped is None:
            assert result.version, result.client
            assert result.of("connect"), result.client


def test_the_guide_has_the_table() -> None:
    assert matrix.table_in(matrix.PAGE.read_text(encoding="utf-8")) == matrix.render(matrix.load())


def test_cells_and_reasons() -> None:
    checks = [Check("connect", "a"), Check("types", "b"), Check("types", "c|d", "no")]
    made = matrix.render(
        Matrix(
            "1",
            "2026-01-01",
            [Result("x", "python", "2", None, checks, ["3 of 4"]), Result("y", "go", skipped="go is not installed")],
        )
    )
    assert "| x | 2 | ✓ |  |  | ✗ 1/2 |" in made
    assert "| x | types | c\\|d | no |" in made
    assert "| x | 3 of 4 |" in made
    assert "| y | go is not installed |" in made


def test_a_skipped_client_keeps_what_was_found() -> None:
    earlier = Matrix("1", "2026-01-01", [Result("x", "python", "2", None, [Check("connect", "a")])])
    assert earlier.merge(Matrix("1", "2026-01-02", [Result("x", "python", skipped="no")])).results == earlier.results


def test_output_that_is_no_check_is_passed_over() -> None:
    output = (
        'hello\n{"x"\n{"a": 1}\n{"version": "3"}\n{"feature": "tls", "check": "c", "error": "at /a/b/c.py\\nmore"}\n'
        '{"note": "3 of 4 tests"}\n'
    )
    assert parse(output) == ("3", [Check("tls", "c", "at …")], ["3 of 4 tests"], None)


def test_a_scenario_may_skip_itself(tmp_path: Path) -> None:
    source = tmp_path / "x.py"
    source.write_text('"""x: y."""\n')
    program = """print('{"skipped": "no source"}')"""
    assert run(Scenario("python", source), [sys.executable, "-c", program], {}, tmp_path) == Result(
        "x", "python", skipped="no source"
    )


@pytest.mark.parametrize(
    ("program", "error"),
    [("import sys; sys.exit('broken')", "exit status 1: broken"), ("pass", "ended without a check")],
)
def test_a_scenario_that_breaks_off_is_red(program: str, error: str, tmp_path: Path) -> None:
    source = tmp_path / "x.py"
    source.write_text('"""x: y."""\n')
    result = run(Scenario("python", source), [sys.executable, "-c", program], {}, tmp_path)
    assert [check.error for check in result.checks] == [error]
