"""The import graph of the package: no circle of files, deferred and typing imports included.

Modules of one package whose nodes hold each other, as expressions and queries do, may name the package's types.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import gpudb

PACKAGE = Path(gpudb.__file__).parent


def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def _own_types(tree: ast.Module, package: str) -> set[ast.AST]:
    """The imports for types alone from the package of a module."""
    return {
        node
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and isinstance(block.test, ast.Name) and block.test.id == "TYPE_CHECKING"
        for node in ast.walk(block)
        if isinstance(node, ast.ImportFrom) and node.module == package
    }


def imports(name: str, path: Path, known: Mapping[str, Path]) -> Iterator[str]:
    """The package's modules that a file imports anywhere: at its top, in functions and for types alone."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    own_types = _own_types(tree, name.rpartition(".")[0])
    for node in ast.walk(tree):
        if node in own_types:
            continue
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            for alias in node.names:
                module = f"{node.module}.{alias.name}"
                yield from {module, node.module} & known.keys() if module not in known else (module,)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)


def circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """The strongly connected components of more than one module (Tarjan's algorithm), largest first."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(start: str) -> None:
        waiting = [(start, iter(sorted(graph[start])))]
        index[start] = low[start] = len(index)
        stack.append(start)
        while waiting:
            module, targets = waiting[-1]
            target = next(targets, None)
            if target is None:
                waiting.pop()
                if waiting:
                    low[waiting[-1][0]] = min(low[waiting[-1][0]], low[module])
                if low[module] == index[module]:
                    circle = stack[stack.index(module) :]
                    del stack[stack.index(module) :]
                    if len(circle) > 1:
                        found.append(sorted(circle))
            elif target not in index:
                index[target] = low[target] = len(index)
                stack.append(target)
                waiting.append((target, iter(sorted(graph[target]))))
            elif target in stack:
                low[module] = min(low[module], index[target])

    for module in graph:
        if module not in index:
            visit(module)
    return sorted(found, key=len, reverse=True)


def test_circles_are_found() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": {"d"}, "f": {"a"}}
    assert circles(graph) == [["a", "b", "c"], ["d", "e"]]


def test_there_is_no_circle() -> None:
    known = modules()
    graph = {name: set(imports(name, path, known)) - {name} for name, path in known.items()}
    assert circles(graph) == []
