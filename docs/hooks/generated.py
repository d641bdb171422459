"""Hook of mkdocs: tables made from the code, and pages of the repository outside docs/.

`<!-- generated: NAME -->` in a page becomes the table of that name. Each file of PAGES becomes a page of the site, and
links to it from any page lead there; links to other files of the repository become their paths.
"""

from __future__ import annotations

import ast
import inspect
import posixpath
import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import typer.main
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from gpudb import config as gpudb_config
from gpudb.cli.main import app
from gpudb.observe.metrics import METRICS
from gpudb.session.settings.catalog import SETTINGS
from gpudb.session.settings.planner import planner_settings

ROOT = Path(__file__).parents[2]

PAGES = {
    "gpudb/functions/README.md": "reference/functions.md",
    "gpudb/functions/WORKERS.md": "reference/functions-on-workers.md",
    "gpudb/plan/NOT_ON_WORKERS.md": "reference/not-on-workers.md",
    "kernels/README.md": "reference/kernels.md",
    "benchmarks/README.md": "reference/benchmark-programs.md",
    "benchmarks/results/README.md": "reference/results.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "developers/contributing.md",
}
"""Files of the repository that are pages of the site."""

_GENERATED = re.compile(r"<!-- generated: ([\w-]+) -->")
_CODE_IN_TABLE = re.compile(r"^\|.*$", re.MULTILINE)
_LINK = re.compile(r"(?P<mark>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages of PAGES and the plots of the results."""
    for source, page in PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text(encoding="utf-8")))
    for plot in sorted((ROOT / "benchmarks/results").glob("*.svg")):
        files.append(File.generated(config, f"reference/{plot.name}", abs_src_path=str(plot)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Fills in tables, and leads links that leave docs/ to the site's pages."""
    made = _GENERATED.sub(lambda found: TABLES[found[1]](), markdown)
    return _CODE_IN_TABLE.sub(_plain_pipes, relink(made, page.file.src_uri))


def _plain_pipes(row: re.Match[str]) -> str:
    """A table's row without escapes of pipes in code: Markdown in Python shows them."""
    return re.sub(r"`[^`]*`", lambda code: code[0].replace("\\|", "|"), row[0])


def relink(markdown: str, uri: str) -> str:
    """A page's text with links to the repository's files turned into links of the site, or into paths."""
    source = next((path for path, page in PAGES.items() if page == uri), f"docs/{uri}")

    def link(found: re.Match[str]) -> str:
        target, _, anchor = found["target"].partition("#")
        if not target or "://" in target or target.startswith("mailto:"):
            return found[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        if found["mark"]:
            if not path.startswith("benchmarks/results/"):
                return found[0]
            page = f"reference/{posixpath.basename(path)}"
        elif path.startswith("docs/"):
            page = path.removeprefix("docs/")
        elif path == "README.md":
            page = "index.md"
        elif path in PAGES:
            page = PAGES[path]
        else:
            return f"{found['text']} (`{path}`)"
        relative = posixpath.relpath(page, posixpath.dirname(uri) or ".")
        return f"{found['mark']}[{found['text']}]({relative}{'#' + anchor if anchor else ''})"

    return _LINK.sub(link, markdown)


# ---- tables


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
    """The settings of the server program, from `gpudb.config.Settings`."""
    meanings = _docstrings(gpudb_config.Settings)
    options = {"statement_log": "--log"}
    serve = {parameter.name: parameter.opts[0] for parameter in _commands()["serve"].params}

    def rows() -> Iterator[tuple[str, ...]]:
        for name, field in gpudb_config.Settings.model_fields.items():
            option = options.get(name) or serve.get(name)
            default = "" if field.default is None else f"`{field.default}`"
            shown = f"`{option}`" if option else ""
            yield f"`{name}`", f"`GPUDB_{name.upper()}`", shown, default, meanings[name]

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
}
