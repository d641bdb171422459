"""Regular expressions where RE2 does not do: the longest match, back references, look-around, patterns from columns."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import regex

from gpudb.engine.cpu.udfs import Registry
from gpudb.errors import SqlError
from gpudb.functions.patterns import like_escape
from gpudb.functions.posix_regex import bad, options, similar, translate

TIMEOUT_S = 30.0


def register(registry: Registry) -> None:
    """Adds the regexp functions."""
    registry.scalar("pg_like_escape", "VARCHAR VARCHAR", "VARCHAR", like_escape)
    registry.scalar("pg_similar", "VARCHAR VARCHAR", "VARCHAR", similar)
    registry.scalar("pg_regex_like", "VARCHAR VARCHAR VARCHAR", "BOOLEAN", _like)
    registry.scalar("pg_regex_replace", "VARCHAR VARCHAR VARCHAR INTEGER BIGINT VARCHAR", "VARCHAR", _replace)
    registry.scalar("pg_regex_substring", "VARCHAR VARCHAR", "VARCHAR", _substring)
    registry.scalar("pg_regex_count", "VARCHAR VARCHAR INTEGER VARCHAR", "INTEGER", _count)
    registry.scalar("pg_regex_substr", "VARCHAR VARCHAR INTEGER INTEGER VARCHAR INTEGER", "VARCHAR", _substr)
    registry.scalar("pg_regex_instr", "VARCHAR VARCHAR INTEGER INTEGER INTEGER VARCHAR INTEGER", "INTEGER", _instr)
    registry.scalar("pg_regex_match", "VARCHAR VARCHAR VARCHAR", "VARCHAR[]", _match)
    registry.scalar("pg_regex_matches", "VARCHAR VARCHAR VARCHAR", "VARCHAR[][]", _matches)
    registry.scalar("pg_regex_split", "VARCHAR VARCHAR VARCHAR", "VARCHAR[]", _split)


@lru_cache(maxsize=1024)
def _compiled(pattern: str, flags: str) -> Any:
    made = translate(pattern, flags)
    mode = regex.MULTILINE if made.newline_sensitive else regex.DOTALL
    if made.ignore_case:
        mode |= regex.IGNORECASE
    if not made.lazy:
        mode |= regex.POSIX
    try:
        return regex.compile(made.text.replace(r"\z", r"\Z"), mode)
    except regex.error as error:
        raise bad(str(error)) from None


def _no_global(name: str, flags: str) -> str:
    if options(flags)[0]:
        raise SqlError.of("invalid_parameter_value", f'{name}() does not support the "global" option')
    return flags


def _positive(name: str, value: int) -> int:
    if value < 1:
        raise SqlError.of("invalid_parameter_value", f'invalid value for parameter "{name}": {value}')
    return value


def _like(text: str, pattern: str, flags: str) -> bool:
    return _compiled(pattern, flags).search(text, timeout=TIMEOUT_S) is not None


def _found(text: str, pattern: str, flags: str, start: int = 1) -> list[Any]:
    compiled = _compiled(pattern, flags)
    return list(compiled.finditer(text, start - 1, timeout=TIMEOUT_S)) if start <= len(text) + 1 else []


def _filled(replacement: str, match: Any) -> str:
    made, at = [], 0
    while at < len(replacement):
        follows = replacement[at + 1 : at + 2]
        if replacement[at] != "\\" or not follows:
            made.append(replacement[at])
            at += 1
            continue
        if follows in "123456789":
            made.append((match.group(int(follows)) or "") if int(follows) <= match.re.groups else "")
        else:
            made.append(match.group() if follows == "&" else "\\" if follows == "\\" else "\\" + follows)
        at += 2
    return "".join(made)


def _replace(text: str, pattern: str, replacement: str, start: int, nth: int, flags: str) -> str:
    """`nth` is the only match to replace, 0 for all, -1 where the flag g says."""
    _positive("start", start)
    if nth < -1:
        raise SqlError.of("invalid_parameter_value", f'invalid value for parameter "n": {nth}')
    every = options(flags)[0] if nth == -1 else nth == 0
    made, last = [], 0
    for number, match in enumerate(_compiled(pattern, flags).finditer(text, start - 1, timeout=TIMEOUT_S), 1):
        if every or number == max(nth, 1):
            made += [text[last : match.start()], _filled(replacement, match)]
            last = match.end()
        if not every and number >= nth:
            break
    return "".join([*made, text[last:]])


def _substring(text: str, pattern: str) -> str | None:
    match = _compiled(pattern, "").search(text, timeout=TIMEOUT_S)
    return None if match is None else match.group(1 if match.re.groups else 0)


def _count(text: str, pattern: str, start: int, flags: str) -> int:
    return len(_found(text, pattern, _no_global("regexp_count", flags), _positive("start", start)))


def _nth(text: str, pattern: str, start: int, nth: int, flags: str, group: int) -> Any:
    _positive("start", start)
    _positive("n", nth)
    if group < 0:
        raise SqlError.of("invalid_parameter_value", f'invalid value for parameter "subexpr": {group}')
    found = _found(text, pattern, flags, start)
    if len(found) < nth or group > found[nth - 1].re.groups:
        return None
    return found[nth - 1]


def _substr(text: str, pattern: str, start: int, nth: int, flags: str, group: int) -> str | None:
    match = _nth(text, pattern, start, nth, _no_global("regexp_substr", flags), group)
    return None if match is None else match.group(group)


def _instr(text: str, pattern: str, start: int, nth: int, end: int, flags: str, group: int) -> int:
    if end not in (0, 1):
        raise SqlError.of("invalid_parameter_value", f'invalid value for parameter "endoption": {end}')
    match = _nth(text, pattern, start, nth, _no_global("regexp_instr", flags), group)
    if match is None or match.start(group) < 0:
        return 0
    return int(match.end(group) if end else match.start(group)) + 1


def _parts(match: Any) -> list[str | None]:
    return list(match.groups()) if match.re.groups else [match.group()]


def _match(text: str, pattern: str, flags: str) -> list[str | None] | None:
    match = _compiled(pattern, _no_global("regexp_match", flags)).search(text, timeout=TIMEOUT_S)
    return None if match is None else _parts(match)


def _matches(text: str, pattern: str, flags: str) -> list[list[str | None]]:
    if options(flags)[0]:
        return [_parts(match) for match in _found(text, pattern, flags)]
    match = _compiled(pattern, flags).search(text, timeout=TIMEOUT_S)
    return [] if match is None else [_parts(match)]


def _split(text: str, pattern: str, flags: str) -> list[str]:
    """Matches of no length at the start, at the end, or right after another match split nothing."""
    _no_global("regexp_split_to_array", flags)
    made, last = [], 0
    for match in _found(text, pattern, flags):
        if match.end() == match.start() and (match.start() in (0, len(text)) or match.start() == last):
            continue
        made.append(text[last : match.start()])
        last = match.end()
    return [*made, text[last:]]
