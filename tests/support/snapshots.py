"""Expected texts in a test module's FIXTURES: compared, or rewritten in its source with --update-snapshots.

FIXTURES maps a name to a tuple whose last item is the expected text, a triple-quoted literal indented like the code.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent, indent

import pytest

Check = Callable[[str], None]


@pytest.fixture
def snapshot(request: pytest.FixtureRequest) -> Check:
    """Compares a text with the last item of FIXTURES[name], where `name` is the test's parameter."""
    name: str = request.node.callspec.params["name"]
    update: bool = request.config.getoption("--update-snapshots")
    source = Path(request.module.__file__)
    expected = dedent(request.module.FIXTURES[name][-1]).strip()

    def check(text: str) -> None:
        if text == expected:
            return
        if update:
            source.write_text(replace(source.read_text(encoding="utf-8"), name, text), encoding="utf-8")
            return
        changes = difflib.unified_diff(expected.splitlines(), text.splitlines(), "expected", "actual", lineterm="")
        pytest.fail("\n".join([*changes, "If this is meant: pytest --update-snapshots rewrites it."]), pytrace=False)

    return check


def replace(source: str, name: str, text: str) -> str:
    """Returns a module's source with another text as the last item of FIXTURES[name].

    Raises LookupError if the item is not a literal of the source.
    """
    literal = _literal(ast.parse(source), name)
    quoted = text.replace("\\", "\\\\").replace('"""', '\\"""')
    lines = source.encode().splitlines(keepends=True)  # AST columns count bytes
    first, last = literal.lineno - 1, (literal.end_lineno or 0) - 1
    margin = " " * literal.col_offset
    before, after = lines[first][: literal.col_offset].decode(), lines[last][literal.end_col_offset :].decode()
    made = f'{before}"""\n{indent(quoted, margin)}\n{margin}"""{after}'
    return b"".join([*lines[:first], made.encode(), *lines[last + 1 :]]).decode()


def _literal(module: ast.Module, name: str) -> ast.Constant:
    for statement in module.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id="FIXTURES")], value=ast.Dict(keys=keys, values=values)):
                for key, value in zip(keys, values, strict=True):
                    match key, value:
                        case ast.Constant(value=found), ast.Tuple(elts=[*_, ast.Constant() as literal]) if (
                            found == name
                        ):
                            return literal
    raise LookupError(f"FIXTURES has no literal text for {name!r}")
