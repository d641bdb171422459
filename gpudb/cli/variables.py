"""Variables of a script: \\set and \\unset, and `:name`, `:'name'` and `:"name"` in statements, as in psql."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gpudb.api.names import quote_identifier
from gpudb.errors import SqlError
from gpudb.functions.text_literal import quote_literal

_NAME = re.compile(r"[A-Za-z0-9_]+")
_TOKEN = re.compile(
    r"""
      (?P<skip> [eE]' (?: [^'\\] | \\. | '' )* ' | ' (?: [^'] | '' )* ' | " (?: [^"] | "" )* "
        | \$ (?P<tag> [A-Za-z_]\w* )? \$ .*? \$ (?P=tag) \$ | \$\$ .*? \$\$ | --[^\n]* | /\* .*? \*/ | :: | := )
    | :' (?P<literal> [A-Za-z0-9_]+ ) '
    | :" (?P<identifier> [A-Za-z0-9_]+ ) "
    | : (?P<plain> [A-Za-z_] [A-Za-z0-9_]* )
    """,
    re.VERBOSE | re.DOTALL,
)


def set_variable(variables: dict[str, str], arguments: str) -> None:
    """Sets a variable to the values that follow its name, joined: \\set NAME VALUE …. 42601 for a bad name."""
    name, _, rest = arguments.partition(" ")
    if _NAME.fullmatch(name) is None:
        raise SqlError.of("syntax_error", f'"{name}" is no name of a variable', hint="\\set NAME VALUE")
    variables[name] = "".join(quoted.replace("''", "'") or plain for quoted, plain in _ARGUMENT.findall(rest))


_ARGUMENT = re.compile(r"'((?:[^']|'')*)'|(\S+)")


def fill_variables(text: str, variables: Mapping[str, str]) -> str:
    """Returns a text with the values of its variables; names that are not set stay as they are, as do quoted texts."""
    if not variables:
        return text

    def fill(match: re.Match[str]) -> str:
        for kind, quote in (("plain", str), ("literal", quote_literal), ("identifier", quote_identifier)):
            if match[kind] is not None and match[kind] in variables:
                return quote(variables[match[kind]])
        return match[0]

    return _TOKEN.sub(fill, text)
