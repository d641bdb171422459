"""Tables of the guide that are made from the code: `python -m docs.hooks.tables` writes them into the pages.

A table stands in its page between `<!-- generated: NAME -->` and `<!-- /generated: NAME -->`. A test compares page and
code.
"""

from __future__ import annotations

import ast
import inspect
import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import typer.main

from gpudb import ml
from gpudb.cli.main import app
from gpudb.config.program import Settings
from gpudb.functions.composed import composed_functions
from gpudb.observe.metrics import METRICS
from gpudb.session.settings.catalog import SETTINGS
from gpudb.session.settings.planner import planner_settings

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
_GENERATED = re.compile(
    r"^(?P<begin><!-- generated: (?P<name>[\w-]+) -->)\n.*?^(?P<end><!-- /generated: (?P=name) -->)$",
    re.MULTILINE | re.DOTALL,
)


def fill_tables(markdown: str) -> str:
    """Returns a page with its tables as the code has them now."""
    return _GENERATED.sub(
        lambda found: f"{found['begin']}\n\n{TABLES[found['name']]().strip()}\n\n{found['end']}", markdown
    )


def pages() -> Iterator[Path]:
    """Yields the pages that have generated tables."""
    for page in sorted(DOCS.rglob("*.md")):
        if "<!-- generated: " in page.read_text(encoding="utf-8"):
            yield page


def write_tables() -> None:
    """Writes the tables into the pages."""
    for page in pages():
        page.write_text(fill_tables(page.read_text(encoding="utf-8")), encoding="utf-8")


def _table(header: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _docstrings(of: type) -> dict[str, str]:
    """The strings below a class's fields."""
    tree = ast.parse(inspect.getsource(of)).body[0]
    assert isinstance(tree, ast.ClassDef)
    found = {}
    for field, after in zip(tree.body, tree.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(after, ast.Expr):
            if isinstance(after.value, ast.Constant) and isinstance(after.value.value, str):
                found[field.target.id] = " ".join(after.value.value.split())
    return found


def settings() -> str:
    """The settings of the server program, room by room, from `gpudb.config.program.Settings`."""
    serve = {parameter.name: parameter.opts[0] for parameter in _commands()["serve"].params}
    rooms = [room for room in Settings.__mro__ if room.__module__.startswith("gpudb.config.")]

    def rows() -> Iterator[tuple[str, ...]]:
        for name, meaning in (pair for room in rooms for pair in _docstrings(room).items()):
            default, option = Settings.model_fields[name].default, serve.get(name)
            shown = "" if default is None else f"`{default}`"
            yield f"`{name}`", f"`GPUDB_{name.upper()}`", f"`{option}`" if option else "", shown, meaning

    return _table(("TOML key", "environment variable", "option", "default", "meaning"), rows())


def _parameters(planner: bool) -> str:
    names = {each.name for each in planner_settings()}

    def rows() -> Iterator[tuple[str, ...]]:
        for each in sorted(SETTINGS.values(), key=lambda each: each.name.lower()):
            if (each.name in names) is planner and not each.fixed:
                yield f"`{each.name}`", f"`{each.default}`" if each.default else "", each.description

    return _table(("parameter", "default", "meaning"), rows())


def fixed_parameters() -> str:
    """Parameters that SHOW shows and SET refuses."""
    fixed = (each for each in sorted(SETTINGS.values(), key=lambda each: each.name.lower()) if each.fixed)
    rows = ((f"`{each.name}`", f"`{each.default}`" if each.default else "", each.description) for each in fixed)
    return _table(("parameter", "value", "meaning"), rows)


def _commands() -> dict[str, click.Command]:
    command: Any = typer.main.get_command(app)
    return dict(command.commands)


def command_line() -> str:
    """Every command with its arguments and options."""
    parts = []
    for name, command in _commands().items():
        arguments = [each for each in command.params if each.param_type_name == "argument"]
        usage = " ".join(["gpudb", name, "[OPTIONS]", *(_metavar(each) for each in arguments)])
        parts += [f"## gpudb {name}", "", f"`{usage}`", "", command.help or "", ""]
        rows = ((_spelled(each), *_help(each)) for each in command.params if each.name != "help")
        parts.append(_table(("argument or option", "default", "meaning"), rows))
    return "\n".join(parts)


def _metavar(parameter: click.Parameter) -> str:
    return parameter.metavar or str(parameter.name).upper()


def _spelled(parameter: click.Parameter) -> str:
    if parameter.param_type_name == "argument":
        return f"`{_metavar(parameter)}`"
    spelled = ", ".join(f"`{each}`" for each in [*parameter.opts, *parameter.secondary_opts])
    return spelled if getattr(parameter, "is_flag", False) else f"{spelled} `{parameter.metavar or 'VALUE'}`"


def _help(parameter: click.Parameter) -> tuple[str, str]:
    """An option's default and its meaning; a help text may name a default that is found at run time."""
    text, _, named = (getattr(parameter, "help", None) or "").partition("[default: ")
    default = parameter.default
    shown = named.rstrip("]") or (str(default) if isinstance(default, (int, str)) and default is not False else "")
    return f"`{shown}`" if shown else "", text.strip()


def composed() -> str:
    """Functions that are names for expressions, from `gpudb.functions.composed`."""
    names: dict[tuple[int, str], list[str]] = {}
    for (name, operands), expression in composed_functions().items():
        names.setdefault((operands, expression), []).append(name)

    def rows() -> Iterator[tuple[str, ...]]:
        for (operands, expression), group in sorted(names.items(), key=lambda each: each[1]):
            letters = "abc"[:operands]
            for number, letter in enumerate(letters, 1):
                expression = expression.replace(f"${number}", letter)
            yield ", ".join(f"`{name}({', '.join(letters)})`" for name in group), f"`{expression}`"

    return _table(("function", "expression"), rows())


def _contracts() -> list[dict[str, Any]]:
    """The layers that import-linter checks."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    return [each for each in settings["contracts"] if each["type"] == "layers"]


def _names(layer: str) -> list[str]:
    return [name.strip("() ") for name in re.split(r"[|:]", layer)]


def _first_paragraph(path: Path) -> str:
    """The first paragraph of a module's or package's docstring."""
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return " ".join(text.partition("\n\n")[0].split())


def rooms() -> str:
    """The rooms of the package from the lowest layer up, with their docstrings."""
    (top,) = (each for each in _contracts() if each["containers"] == ["gpudb"])

    def rows() -> Iterator[tuple[str, ...]]:
        for number, layer in enumerate(reversed(top["layers"]), 1):
            for name in _names(layer):
                path = ROOT / "gpudb" / name
                if path.is_dir() or path.with_suffix(".py").exists():
                    yield str(number), f"`{name}`", _first_paragraph(path)

    return _table(("layer", "room", "what it holds"), rows())


def inner_layers() -> str:
    """The layers inside rooms, from the top down."""
    rows = (
        (f"`{container}`", " → ".join(", ".join(f"`{name}`" for name in _names(layer)) for layer in each["layers"]))
        for each in _contracts()
        for container in each["containers"]
        if container != "gpudb"
    )
    return _table(("package", "layers"), rows)


def transformers() -> str:
    """The transformers of `gpudb.ml`: their options with defaults, and what they do, from signatures and docstrings."""

    def rows() -> Iterator[tuple[str, ...]]:
        for name in sorted(ml.__all__):
            made = getattr(ml, name)
            if isinstance(made, type) and made not in (ml.Pipeline, ml.Transformer):
                options = [f"`{each}`" for each in _list_options(made)]
                yield f"`{name}`", ", ".join(options), _join_lines(inspect.getdoc(made) or "")

    return _table(("transformer", "options", "what it does"), rows())


def _join_lines(text: str) -> str:
    """A docstring in one line: the rows of a table in it become `a: b;`."""
    rows = [line for line in text.splitlines() if line.startswith("|")]
    for line in rows:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        text = text.replace(line, "" if line in rows[:2] else f"{': '.join(cells)};")
    return " ".join(text.split())


def _list_options(made: type) -> Iterator[str]:
    """The parameters of a class but the columns, with their defaults."""
    for each in inspect.signature(made).parameters.values():
        if each.name != "columns" and each.kind is not each.VAR_KEYWORD:
            yield each.name if each.default is each.empty else f"{each.name}={_show_default(each.default)}"


def _show_default(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def metrics() -> str:
    """The metrics that the server exports."""
    rows = (
        (f"`{each.name}`", each.kind, ", ".join(f"`{label}`" for label in each.labels), each.meaning)
        for each in METRICS
    )
    return _table(("metric", "type", "labels", "meaning"), rows)


TABLES: dict[str, Callable[[], str]] = {
    "settings": settings,
    "parameters": lambda: _parameters(planner=False),
    "planner-parameters": lambda: _parameters(planner=True),
    "fixed-parameters": fixed_parameters,
    "command-line": command_line,
    "rooms": rooms,
    "inner-layers": inner_layers,
    "metrics": metrics,
    "composed-functions": composed,
    "transformers": transformers,
}

if __name__ == "__main__":
    write_tables()
