"""Functions of regular expressions and LIKE on Python values: what RE2 lacks, and patterns from columns.

`regex` finds the longest match, back references and look-around by trying, which may take for ever. So each function
has the time that `limit_time` gives its thread, and raises TimeoutError after that. LIKE takes linear time.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from gpudb.errors import SqlError
from gpudb.functions.mixed_regex import MixedPattern
from gpudb.functions.posix_regex import pattern_error, translate, translate_similar_parts
from gpudb.functions.regex_options import NOT_GIVEN, parse_options


class _Clock(threading.local):
    """When the function that runs in this thread must end, by the monotonic clock; None for never."""

    ends: float | None = None


_clock = _Clock()


@contextmanager
def limit_time(seconds: float) -> Iterator[None]:
    """Lets the functions that the block calls raise TimeoutError when it has taken so long."""
    before, ends = _clock.ends, time.monotonic() + seconds
    _clock.ends = ends if before is None else min(before, ends)
    try:
        yield
    finally:
        _clock.ends = before


def call_within(seconds: float, function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    """Calls a function that raises TimeoutError when it has taken so long."""
    before, ends = _clock.ends, time.monotonic() + seconds
    _clock.ends = ends if before is None else min(before, ends)
    try:
        return function(*arguments)
    finally:
        _clock.ends = before


def _left() -> float | None:
    """Returns the seconds that are left, None if any; TimeoutError if none are."""
    if _clock.ends is None:
        return None
    left = _clock.ends - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


@lru_cache(maxsize=1024)
def compile_regex(pattern: str, flags: str) -> Any:
    """Compiles a pattern; 2201B if it is invalid."""
    import regex

    result = translate(pattern, flags)
    mode = (regex.MULTILINE if result.lines else 0) | (0 if result.stops else regex.DOTALL)
    if result.ignore_case:
        mode |= regex.IGNORECASE
    if not result.lazy:
        mode |= regex.POSIX
    if result.mixed:
        return MixedPattern([token.replace(r"\z", r"\Z") for token in result.mixed], result.groups, mode)
    try:
        return regex.compile(result.text.replace(r"\z", r"\Z"), mode)
    except regex.error as error:
        raise pattern_error(str(error)) from None


def like(text: str, pattern: str, fold: bool) -> bool:
    """Evaluates LIKE with the backslash as escape; 22025 if the text matches up to an escape that ends the pattern."""
    if fold:
        text, pattern = text.lower(), pattern.lower()
    dangling = (len(pattern) - len(pattern.rstrip("\\"))) % 2 == 1
    found = _compile_like(pattern[:-1] + "_%" if dangling else pattern).match(text, timeout=_left()) is not None
    if dangling and found:
        raise SqlError.of("invalid_escape_sequence", "LIKE pattern must not end with escape character")
    return found


def like_bytes(data: bytes, pattern: bytes) -> bool:
    """Evaluates LIKE of bytea, byte by byte."""
    return like(data.decode("latin-1"), pattern.decode("latin-1"), False)


_LIKE_PARTS = re.compile(r"\\.|.", re.DOTALL)


@lru_cache(maxsize=1024)
def _compile_like(pattern: str) -> Any:
    """Compiles LIKE for a whole text. What stands between two `%` is taken where it is met first, for good: the search
    never comes back to it, so that it takes time linear in the text.
    """
    import regex

    pieces = [""]
    for part in _LIKE_PARTS.findall(pattern):
        if part == "%":
            pieces.append("")
        else:
            pieces[-1] += "." if part == "_" else regex.escape(part[-1])
    first, *others = pieces
    if not others:
        return regex.compile(first + r"\Z", regex.DOTALL)
    *middle, last = others
    found = "".join(f"(?>.*?{piece})" for piece in middle if piece)
    return regex.compile(f"{first}{found}.*{last}\\Z", regex.DOTALL)


def similar_substring(text: str, pattern: str, escape: str) -> str | None:
    """Returns the part that matches between separators: the shortest part before it, then the longest part."""
    parts = _split_similar(pattern, escape)
    if len(parts) == 1:
        return text if _matches_whole(parts[0], text) else None
    last = parts[2] if len(parts) == 3 else ""
    if _LITERAL.fullmatch(parts[0] + last) is not None:  # there is one place for each
        end = len(text) - len(last)
        if end < len(parts[0]) or not (text.startswith(parts[0]) and text.endswith(last)):
            return None
        found = text[len(parts[0]) : end]
        return found if _matches_whole(parts[1], found) else None
    for start in range(len(text) + 1):
        if not _matches_whole(parts[0], text[:start]):
            continue
        for end in range(len(text), start - 1, -1):
            if _matches_whole(parts[1], text[start:end]) and _matches_whole(last, text[end:]):
                return text[start:end]
    return None


@lru_cache(maxsize=256)
def _split_similar(pattern: str, escape: str) -> list[str]:
    return translate_similar_parts(pattern, escape)


_LITERAL = re.compile(r"[\w ,:;=@&/<>!~'\"-]*")
"""Text that means itself in a regular expression."""


def _matches_whole(pattern: str, text: str) -> bool:
    return compile_regex(f"^(?:{pattern})$", "").search(text, timeout=_left()) is not None


def _reject_global(name: str, flags: str) -> str:
    if parse_options(flags).replace_all:
        raise SqlError.of("invalid_parameter_value", f'{name}() does not support the "global" option')
    return flags


def _check_positive(name: str, value: int) -> int:
    if value < 1:
        raise SqlError.of("invalid_parameter_value", f'invalid value for parameter "{name}": {value}')
    return value


def is_match(text: str, pattern: str, flags: str) -> bool:
    """Returns whether a text matches."""
    return compile_regex(pattern, flags).search(text, timeout=_left()) is not None


def _find_all(text: str, pattern: str, flags: str, start: int = 1) -> list[Any]:
    return list(_each_match(text, pattern, flags, start))


def _each_match(text: str, pattern: str, flags: str, start: int) -> Iterator[Any]:
    """Yields matches from a position on; none beyond the text's end."""
    compiled = compile_regex(pattern, flags)
    return compiled.finditer(text, start - 1, timeout=_left()) if start <= len(text) + 1 else iter(())


def _expand_replacement(replacement: str, match: Any) -> str:
    result, at = [], 0
    while at < len(replacement):
        follows = replacement[at + 1 : at + 2]
        if replacement[at] != "\\" or not follows:
            result.append(replacement[at])
            at += 1
            continue
        if follows in "123456789":
            result.append((match.group(int(follows)) or "") if int(follows) <= match.re.groups else "")
        else:
            result.append(match.group() if follows == "&" else "\\" if follows == "\\" else "\\" + follows)
        at += 2
    return "".join(result)


def replace(text: str, pattern: str, replacement: str, start: int, nth: int, flags: str) -> str:
    """Replaces the `nth` match, or all if it is 0; NOT_GIVEN leaves that to the flag g."""
    _check_positive("start", start)
    if NOT_GIVEN < nth < 0:
        raise SqlError.of("invalid_parameter_value", f'invalid value for parameter "n": {nth}')
    every = parse_options(flags).replace_all if nth == NOT_GIVEN else nth == 0
    result, last = [], 0
    for number, match in enumerate(_each_match(text, pattern, flags, start), 1):
        if every or number == max(nth, 1):
            result += [text[last : match.start()], _expand_replacement(replacement, match)]
            last = match.end()
        if not every and number >= nth:
            break
    return "".join([*result, text[last:]])


def substring(text: str, pattern: str) -> str | None:
    """Returns the first match, or its first group; None without one."""
    match = compile_regex(pattern, "").search(text, timeout=_left())
    return None if match is None else match.group(1 if match.re.groups else 0)


def count(text: str, pattern: str, start: int, flags: str) -> int:
    """Returns the number of matches."""
    return len(_find_all(text, pattern, _reject_global("regexp_count", flags), _check_positive("start", start)))


def _nth_match(text: str, pattern: str, start: int, nth: int, flags: str, group: int) -> Any:
    _check_positive("start", start)
    _check_positive("n", nth)
    if group < 0:
        raise SqlError.of("invalid_parameter_value", f'invalid value for parameter "subexpr": {group}')
    found = _find_all(text, pattern, flags, start)
    # of a pattern without groups the whole match is the first group
    if len(found) < nth or group > max(found[nth - 1].re.groups, 1):
        return None
    return found[nth - 1]


def _group_number(match: Any, group: int) -> int:
    return group if match.re.groups else 0


def substr(text: str, pattern: str, start: int, nth: int, flags: str, group: int) -> str | None:
    """Returns a group of the `nth` match, or all of it; None without one."""
    match = _nth_match(text, pattern, start, nth, _reject_global("regexp_substr", flags), group)
    return None if match is None else match.group(_group_number(match, group))


def instr(text: str, pattern: str, start: int, nth: int, end: int, flags: str, group: int) -> int:
    """Returns where that is, counted from 1: its start, or with `end` 1 what follows it; 0 without one."""
    if end not in (0, 1):
        raise SqlError.of("invalid_parameter_value", f'invalid value for parameter "endoption": {end}')
    match = _nth_match(text, pattern, start, nth, _reject_global("regexp_instr", flags), group)
    if match is None:
        return 0
    found = match.span(_group_number(match, group))
    return 0 if found[0] < 0 else int(found[end]) + 1


def _groups(match: Any) -> list[str | None]:
    return list(match.groups()) if match.re.groups else [match.group()]


def find_groups(text: str, pattern: str, flags: str) -> list[str | None] | None:
    """Returns the groups of the first match, or all of it; None without one."""
    match = compile_regex(pattern, _reject_global("regexp_match", flags)).search(text, timeout=_left())
    return None if match is None else _groups(match)


def find_all_groups(text: str, pattern: str, flags: str) -> list[list[str | None]]:
    """Returns those of the first match, of all with the flag g."""
    if parse_options(flags).replace_all:
        return [_groups(match) for match in _find_all(text, pattern, flags)]
    match = compile_regex(pattern, flags).search(text, timeout=_left())
    return [] if match is None else [_groups(match)]


def split(text: str, pattern: str, flags: str) -> list[str]:
    """Splits a text. Empty matches at the start, at the end, or right after another match are ignored."""
    _reject_global("regexp_split_to_array", flags)
    result, last = [], 0
    for match in _find_all(text, pattern, flags):
        if match.end() == match.start() and (match.start() in (0, len(text)) or match.start() == last):
            continue
        result.append(text[last : match.start()])
        last = match.end()
    return [*result, text[last:]]
