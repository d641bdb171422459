"""Commands whose arguments and options are texts and paths, which take no library to check."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from typer import Context
from typer.core import TyperCommand, TyperGroup


class _AsGiven:
    """Stands in for typer's conversion of values, which imports pydantic: a tenth of a second."""

    def coerce(self, value: Any, *, param: Any, ctx: Context) -> Any:
        """Returns the value: a text, a list of texts where the option may be repeated, a path."""
        if value is None or isinstance(value, bool):
            return value
        if param.multiple:
            return [*value]
        return Path(value) if param.type_descriptor.annotation is Path else value


def _take_as_given(command: Any, ctx: Any) -> None:
    for each in command.get_params(ctx):  # with --help
        if hasattr(each, "type_descriptor"):
            each._runtime_param = _AsGiven()


class TextCommand(TyperCommand):
    """A command of typer's whose parameters are `str`, `list[str]`, `Path` and flags."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parses the command line."""
        _take_as_given(self, ctx)
        return super().parse_args(ctx, args)


class TextGroup(TyperGroup):
    """A program of typer's whose own options are flags."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parses the command line up to the command."""
        _take_as_given(self, ctx)
        return super().parse_args(ctx, args)
