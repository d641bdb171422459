"""Macros of the system catalog: none repeats a subquery that it is given, since each copy of it is planned and run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files

_MACRO = re.compile(r"CREATE MACRO (\w+)\(([^)]*)\)\s+AS\s+(.*?);\s*(?=CREATE|\Z)", re.DOTALL)


def _read_macros() -> dict[str, tuple[list[str], str]]:
    """Parameters and body by name, without comments, and with empty texts."""
    text = re.sub(r"--.*", "", files("gpudb.catalog.postgres").joinpath("macros.sql").read_text())
    found = _MACRO.findall(re.sub(r"'(?:[^']|'')*'", "''", text))
    return {name: ([each.strip() for each in given.split(",") if each.strip()], body) for name, given, body in found}


def _list_calls(body: str, names: set[str]) -> Iterator[tuple[str, list[str]]]:
    """Yields the calls of macros with their arguments."""
    for call in re.finditer(r"\b(\w+)\(", body):
        if call[1] in names:
            depth, arguments = 1, [""]
            for character in body[call.end() :]:
                depth += {"(": 1, ")": -1}.get(character, 0)
                if not depth:
                    break
                if character == "," and depth == 1:
                    arguments.append("")
                else:
                    arguments[-1] += character
            yield call[1], arguments


def test_a_subquery_is_given_to_parameters_that_are_used_once() -> None:
    macros = _read_macros()
    assert len(macros) > 100
    repeated = []
    for name, (_, body) in macros.items():
        for called, arguments in _list_calls(body, set(macros)):
            parameters, theirs = macros[called]
            for parameter, argument in zip(parameters, arguments, strict=False):
                uses = len(re.findall(rf"(?<![\w.]){parameter}(?![\w(])", theirs))
                if "SELECT" in argument and uses > 1:
                    repeated.append((name, called, parameter, uses))
    assert repeated == []
