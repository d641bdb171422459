"""websearch_to_tsquery: queries as people write them into a search box."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudb.text_search.configurations import Configuration
from gpudb.text_search.queries import Both, Not, Parsed, clean, format_query, push_words


def make_web_query(configuration: Configuration, text: str) -> str:
    """websearch_to_tsquery: words, "phrases", or, and - before what must not match; never an error."""
    tokens = list(_iter_web_tokens(text))
    ors: list[list[Parsed]] = [[]]
    negations = 0
    for kind, word in tokens:
        if kind == "-":
            negations += 1
        elif kind == "or":
            ors.append([])
        else:
            operand = push_words(configuration, word, "<")
            for _ in range(negations):
                operand = Not(operand)  # type: ignore[arg-type]
            negations = 0
            ors[-1].append(operand)
    whole: Parsed | None = None
    for ands in ors:
        part: Parsed | None = None
        for operand in ands:
            part = operand if part is None else Both("&", part, operand)  # type: ignore[arg-type]
        if part is not None:
            whole = part if whole is None else Both("|", whole, part)  # type: ignore[arg-type]
    return format_query(clean(whole))


_OR = re.compile(r"or(?![-_]|[^\W_])(?=.\s*\S|\s+\S)", re.I | re.S)


def _iter_web_tokens(text: str) -> Iterator[tuple[str, str]]:
    at, end = 0, len(text)
    wants_operand = True
    while at < end:
        letter = text[at]
        if letter.isspace():
            at += 1
        elif wants_operand:
            if letter == "-":
                at += 1
                yield "-", ""
            elif letter == '"':
                close = text.find('"', at + 1)
                close = end if close < 0 else close
                yield "word", text[at + 1 : close]
                at, wants_operand = close + 1, False
            elif letter in "!&|()<:":
                at += 1
            else:
                start = at
                while at < end and not text[at].isspace() and text[at] not in '!&|()<:"':
                    at += 2 if text[at] == "\\" else 1
                yield "word", re.sub(r"\\(.)", r"\1", text[start:at])
                wants_operand = False
        else:
            found = _OR.match(text, at)
            if found is not None:
                at = found.end()
                yield "or", ""
            wants_operand = True
