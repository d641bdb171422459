"""Regular expressions that RE2 lacks: the longest match, back references, look-around, patterns from columns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from gpudb.duckdb.udf.mixed_regex import MixedPattern
from gpudb.duckdb.udf.registry import FunctionRegistry
from gpudb.errors import SqlError
from gpudb.functions.patterns import NOT_GIVEN, replace_like_escape
from gpudb.functions.posix_regex import pattern_error, translate, translate_similar, translate_similar_parts
from gpudb.functions.regex_options import parse_options

TIMEOUT_S = 30.0


def register(registry: FunctionRegistry) -> None:
    """Registers the regexp functions."""
    registry.add_scalar("pg_like_escape", "VARCHAR VARCHAR", "VARCHAR", replace_like_escape)
    registry.add_scalar("pg_similar", "VARCHAR VARCHAR", "VARCHAR", translate_similar)
    registry.add_scalar("pg_similar_substring", "VARCHAR VARCHAR VARCHAR", "VARCHAR", _similar_substring)
    registry.add_scalar("pg_like", "VARCHAR VARCHAR BOOLEAN", "BOOLEAN", _like_text)
    registry.add_scalar("pg_bytes_like", "BLOB BLOB", "BOOLEAN", lambda data, pattern: _like_text(
        data.decode("latin-1"), pattern.decode("latin-1"), False))  # fmt: skip
    registry.add_scalar("pg_bytes_like_escape", "BLOB BLOB", "BLOB", lambda pattern, escape: replace_like_escape(
        pattern.decode("latin-1"), escape.decode("latin-1")).encode("latin-1"))  # fmt: skip
    registry.add_scalar("pg_regex_like", "VARCHAR VARCHAR VARCHAR", "BOOLEAN", _like)
    registry.add_scalar("pg_regex_replace", "VARCHAR VARCHAR VARCHAR INTEGER BIGINT VARCHAR", "VARCHAR", _replace)
    registry.add_scalar("pg_regex_substring", "VARCHAR VARCHAR", "VARCHAR", _substring)
    registry.add_scalar("pg_regex_count", "VARCHAR VARCHAR INTEGER VARCHAR", "INTEGER", _count)
    registry.add_scalar("pg_regex_substr", "VARCHAR VARCHAR INTEGER INTEGER VARCHAR INTEGER", "VARCHAR", _substr)
    registry.add_scalar("pg_regex_instr", "VARCHAR VARCHAR INTEGER INTEGER INTEGER VARCHAR INTEGER", "INTEGER", _instr)
    registry.add_scalar("pg_regex_match", "VARCHAR VARCHAR VARCHAR", "VARCHAR[]", _match)
    registry.add_scalar("pg_regex_matches", "VARCHAR VARCHAR VARCHAR", "VARCHAR[][]", _matches)
    registry.add_scalar("pg_regex_split", "VARCHAR VARCHAR VARCHAR", "VARCHAR[]", _split)


@lru_cache(maxsize=1024)
def compile_regex(pattern: str, flags: str) -> Any:
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


def _like_text(text: str, pattern: str, fold: bool) -> bool:
    """Evaluates LIKE with the backslash as escape; 22025 if the text matches up to an escape that ends the pattern."""
    if fold:
        text, pattern = text.lower(), pattern.lower()
    dangling = (len(pattern) - len(pattern.rstrip("\\"))) % 2 == 1
    found = _compile_like(pattern[:-1] if dangling else pattern, dangling).match(text)
    if dangling and found is not None:
        message = "LIKE pattern must not end with escape character"
        raise SqlError.of("invalid_escape_sequence", message)
    return found is not None


@lru_cache(maxsize=1024)
def _compile_like(pattern: str, dangling: bool) -> re.Pattern[str]:
    """Compiles LIKE for the whole text; with a dangling escape, for a prefix before at least one character."""
    result = [
        ".*" if part == "%" else "." if part == "_" else re.escape(part[-1]) for part in _LIKE_PARTS.findall(pattern)
    ]
    return re.compile("".join(result) + (".+" if dangling else "") + r"\Z", re.S)


_LIKE_PARTS = re.compile(r"\\.|.", re.S)


def _similar_substring(text: str, pattern: str, escape: str) -> str | None:
    """Returns the part that matches between separators: the shortest part before it, then the longest part."""
    parts = translate_similar_parts(pattern, escape)
    if len(parts) == 1:
        return text if _matches_whole(parts[0], text) else None
    last = parts[2] if len(parts) == 3 else ""
    for start in range(len(text) + 1):
        if not _matches_whole(parts[0], text[:start]):
            continue
        for end in range(len(text), start - 1, -1):
            if _matches_whole(parts[1], text[start:end]) and _matches_whole(last, text[end:]):
                return text[start:end]
    return None


def _matches_whole(pattern: str, text: str) -> bool:
    return compile_regex(f"^(?:{pattern})$", "").search(text, timeout=TIMEOUT_S) is not None


def _reject_global(name: str, flags: str) -> str:
    if parse_options(flags).replace_all:
        raise SqlError.of("invalid_parameter_value", f'{name}() does not support the "global" option')
    return flags


def _check_positive(name: str, value: int) -> int:
    if value < 1:
        raise SqlError.of("invalid_parameter_value", f'invalid value for parameter "{name}": {value}')
    return value


def _like(text: str, pattern: str, flags: str) -> bool:
    return compile_regex(pattern, flags).search(text, timeout=TIMEOUT_S) is not None


def _find_all(text: str, pattern: str, flags: str, start: int = 1) -> list[Any]:
    return list(_each_match(text, pattern, flags, start))


def _each_match(text: str, pattern: str, flags: str, start: int) -> Iterator[Any]:
    """Yields matches from a position on; none beyond the text's end."""
    compiled = compile_regex(pattern, flags)
    return compiled.finditer(text, start - 1, timeout=TIMEOUT_S) if start <= len(text) + 1 else iter(())


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


def _replace(text: str, pattern: str, replacement: str, start: int, nth: int, flags: str) -> str:
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


def _substring(text: str, pattern: str) -> str | None:
    match = compile_regex(pattern, "").search(text, timeout=TIMEOUT_S)
    return None if match is None else match.group(1 if match.re.groups else 0)


def _count(text: str, pattern: str, start: int, flags: str) -> int:
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


def _substr(text: str, pattern: str, start: int, nth: int, flags: str, group: int) -> str | None:
    match = _nth_match(text, pattern, start, nth, _reject_global("regexp_substr", flags), group)
    return None if match is None else match.group(_group_number(match, group))


def _instr(text: str, pattern: str, start: int, nth: int, end: int, flags: str, group: int) -> int:
    if end not in (0, 1):
        raise SqlError.of("invalid_parameter_value", f'invalid value for parameter "endoption": {end}')
    match = _nth_match(text, pattern, start, nth, _reject_global("regexp_instr", flags), group)
    if match is None:
        return 0
    found = match.span(_group_number(match, group))
    return 0 if found[0] < 0 else int(found[end]) + 1


def _groups(match: Any) -> list[str | None]:
    return list(match.groups()) if match.re.groups else [match.group()]


def _match(text: str, pattern: str, flags: str) -> list[str | None] | None:
    match = compile_regex(pattern, _reject_global("regexp_match", flags)).search(text, timeout=TIMEOUT_S)
    return None if match is None else _groups(match)


def _matches(text: str, pattern: str, flags: str) -> list[list[str | None]]:
    if parse_options(flags).replace_all:
        return [_groups(match) for match in _find_all(text, pattern, flags)]
    match = compile_regex(pattern, flags).search(text, timeout=TIMEOUT_S)
    return [] if match is None else [_groups(match)]


def _split(text: str, pattern: str, flags: str) -> list[str]:
    """Splits a text. Empty matches at the start, at the end, or right after another match are ignored."""
    _reject_global("regexp_split_to_array", flags)
    result, last = [], 0
    for match in _find_all(text, pattern, flags):
        if match.end() == match.start() and (match.start() in (0, len(text)) or match.start() == last):
            continue
        result.append(text[last : match.start()])
        last = match.end()
    return [*result, text[last:]]
