"""LIKE, SIMILAR TO and regular expressions."""

from __future__ import annotations

from collections.abc import Callable

from gpudb.errors import SqlError
from gpudb.functions.let_binding import bind_values, render_error
from gpudb.functions.posix_regex import Pattern, translate, translate_similar
from gpudb.functions.regex_options import NOT_GIVEN, parse_options
from gpudb.functions.registry import STATEMENT, Operands, declare
from gpudb.functions.text_literal import get_constant_text, quote_literal

# ---------------------------------------------------------------------------------------------- LIKE


def _get_subject(operands: Operands) -> str:
    """Returns the text that is matched; a char(n) with its blanks, which are significant here."""
    item = operands.types[0]
    if item.padded_length is not None:
        return f"rpad({operands.sql[0]}, {item.padded_length}, ' ')"
    return operands.sql[0]


def _make_like(word: str, negated: bool) -> Callable[[Operands], str]:
    def render(operands: Operands) -> str:
        pattern = get_constant_text(operands, 1)
        if pattern is not None and (len(pattern) - len(pattern.rstrip("\\"))) % 2:
            # an error only for a text that matches up to that point
            reached = f"({_get_subject(operands)} {word} {quote_literal(pattern[:-1] + '_%')} ESCAPE '\\')"
            error = render_error("22025", "'LIKE pattern must not end with escape character'", "BOOLEAN")
            return f"(CASE WHEN {reached} THEN {error} WHEN NOT {reached} THEN {str(negated).lower()} END)"
        escape = "" if pattern is not None and "\\" not in pattern else " ESCAPE '\\'"
        if pattern is None and not isinstance(operands.constants[1], str):
            fold = str(word == "ILIKE").lower()
            test = bind_values(
                lambda s, p: (
                    f"(CASE WHEN ends_with({p}, '\\') THEN pg_like({s}, {p}, {fold}, {STATEMENT})"
                    f" ELSE {s} {word} {p}{escape} END)"
                ),
                _get_subject(operands),
                operands.sql[1],
            )
        else:
            test = f"({_get_subject(operands)} {word} {operands.sql[1]}{escape})"
        return f"(NOT {test})" if negated else test

    return render


declare("textlike namelike bpcharlike like(text,text) like(name,text)", _make_like("LIKE", False))
declare("textnlike namenlike bpcharnlike notlike(text,text) notlike(name,text)", _make_like("LIKE", True))
declare("texticlike nameiclike bpchariclike", _make_like("ILIKE", False))
declare("texticnlike nameicnlike bpcharicnlike", _make_like("ILIKE", True))


def replace_like_escape(pattern: str, escape: str) -> str:
    """Returns a LIKE pattern with its escape character replaced by the backslash; 22025."""
    if len(escape) > 1:
        hint = "Escape string must be empty or one character."
        raise SqlError.of("invalid_escape_sequence", "invalid escape string", hint=hint)
    if escape == "\\":
        return pattern
    chars, escaped = [], False
    for char in pattern:
        if char == escape and not escaped:
            chars.append("\\")
            escaped = True
        elif char == "\\" and not escaped:
            chars.append("\\\\")
        else:
            chars.append(char)
            escaped = False
    return "".join(chars)


def _render_like_escape(operands: Operands) -> str:
    pattern, escape = get_constant_text(operands, 0), get_constant_text(operands, 1)
    if pattern is not None and escape is not None:
        return quote_literal(replace_like_escape(pattern, escape))
    return f"pg_like_escape({operands.sql[0]}, {operands.sql[1]})"


declare("like_escape(text,text)", _render_like_escape)
declare("bytealike like(bytea,bytea)", f"pg_bytes_like({{0}}, {{1}}, {STATEMENT})")
declare("byteanlike notlike(bytea,bytea)", f"(NOT pg_bytes_like({{0}}, {{1}}, {STATEMENT}))")
declare("like_escape(bytea,bytea)", "pg_bytes_like_escape({0}, {1})")


def _render_similar(operands: Operands) -> str:
    pattern = get_constant_text(operands, 0)
    escape = "\\" if len(operands.sql) == 1 else get_constant_text(operands, 1)
    if pattern is not None and escape is not None:
        return quote_literal(translate_similar(pattern, escape))
    return f"pg_similar({operands.sql[0]}, {operands.sql[1] if len(operands.sql) > 1 else quote_literal(chr(92))})"


declare("similar_to_escape(text) similar_to_escape(text,text)", _render_similar)

# ---------------------------------------------------------------------------------------------- regular expressions


def _get_constant_pattern(operands: Operands, flags: str | None) -> Pattern | None:
    pattern = get_constant_text(operands, 1)
    return translate(pattern, flags) if pattern is not None and flags is not None else None


def _render_test(subject: str, operands: Operands, flags: str) -> str:
    pattern = _get_constant_pattern(operands, flags)
    if pattern is not None and not pattern.python_only:
        return f"regexp_matches({subject}, {quote_literal(pattern.re2)}, '{pattern.re2_options}')"
    return f"pg_regex_like({subject}, {operands.sql[1]}, '{flags}', {STATEMENT})"


def _make_match(flags: str, negated: bool) -> Callable[[Operands], str]:
    def render(operands: Operands) -> str:
        test = _render_test(_get_subject(operands), operands, flags)
        return f"(NOT {test})" if negated else test

    return render


for _prefix in ("text", "name", "bpchar"):
    declare(f"{_prefix}regexeq", _make_match("", False))
    declare(f"{_prefix}regexne", _make_match("", True))
    declare(f"{_prefix}icregexeq", _make_match("i", False))
    declare(f"{_prefix}icregexne", _make_match("i", True))


def _get_flags(operands: Operands, index: int) -> str | None:
    return get_constant_text(operands, index) if len(operands.sql) > index else ""


def _regexp_like(operands: Operands) -> str:
    flags = _get_flags(operands, 2)
    if flags is None:
        return f"pg_regex_like({', '.join(operands.sql)}, {STATEMENT})"
    if "g" in flags:
        raise SqlError.of("invalid_parameter_value", 'regexp_like() does not support the "global" option')
    return _render_test(operands.sql[0], operands, flags)


declare("regexp_like", _regexp_like)


def _translate_replacement(text: str) -> str | None:
    r"""Translates PostgreSQL's replacement text for RE2, `\&` being the whole match; None if RE2 would reject it."""
    chars, at = [], 0
    while at < len(text):
        if text[at] != "\\":
            chars.append(text[at])
            at += 1
            continue
        follows = text[at + 1 : at + 2]
        if follows == "&":
            chars.append("\\0")
        elif follows and follows in "123456789\\":
            chars.append("\\" + follows)
        else:
            return None
        at += 2
    return "".join(chars)


def _render_replace(operands: Operands) -> str:
    flags = _get_flags(operands, 3)
    pattern = _get_constant_pattern(operands, flags)
    text = get_constant_text(operands, 2)
    if pattern is not None and flags is not None and pattern.same_extent and text is not None:
        replacement = _translate_replacement(text)
        group_numbers = [
            int(c)
            for at, c in enumerate(replacement or "")
            if c.isdigit() and at and (replacement or "")[at - 1] == "\\"
        ]
        if replacement is not None and all(number <= pattern.groups for number in group_numbers):
            global_flag = "g" if parse_options(flags).replace_all else ""
            settings = f"'{pattern.re2_options}{global_flag}'"
            literals = f"{quote_literal(pattern.re2)}, {quote_literal(replacement)}"
            return f"regexp_replace({operands.sql[0]}, {literals}, {settings})"
    flags_sql = operands.sql[3] if len(operands.sql) > 3 else "''"
    return f"pg_regex_replace({', '.join(operands.sql[:3])}, 1, ({NOT_GIVEN})::BIGINT, {flags_sql}, {STATEMENT})"


declare("regexp_replace(text,text,text) regexp_replace(text,text,text,text)", _render_replace)
declare(
    "regexp_replace(text,text,text,int4)",
    f"pg_regex_replace({{0}}, {{1}}, {{2}}, {{3}}, ({NOT_GIVEN})::BIGINT, '', {STATEMENT})",
)
declare(
    "regexp_replace(text,text,text,int4,int4)",
    f"pg_regex_replace({{0}}, {{1}}, {{2}}, {{3}}, {{4}}::BIGINT, '', {STATEMENT})",
)
declare(
    "regexp_replace(text,text,text,int4,int4,text)",
    f"pg_regex_replace({{0}}, {{1}}, {{2}}, {{3}}, {{4}}::BIGINT, {{5}}, {STATEMENT})",
)


def _render_substring(operands: Operands) -> str:
    return f"pg_regex_substring({operands.sql[0]}, {operands.sql[1]}, {STATEMENT})"


declare("substring(text,text)", _render_substring)
declare("substring(text,text,text)", f"pg_similar_substring({{0}}, {{1}}, {{2}}, {STATEMENT})")


def _make_padded_call(name: str, defaults: tuple[str, ...]) -> Callable[[Operands], str]:
    def render(operands: Operands) -> str:
        return f"{name}({', '.join([*operands.sql, *defaults[len(operands.sql) - 2 :], STATEMENT])})"

    return render


declare("regexp_count", _make_padded_call("pg_regex_count", ("1", "''")))
declare("regexp_substr", _make_padded_call("pg_regex_substr", ("1", "1", "''", "0")))
declare("regexp_instr", _make_padded_call("pg_regex_instr", ("1", "1", "0", "''", "0")))
declare("regexp_match", _make_padded_call("pg_regex_match", ("''",)))
declare("regexp_matches", _make_padded_call("pg_regex_matches", ("''",)))
declare("regexp_split_to_array regexp_split_to_table", _make_padded_call("pg_regex_split", ("''",)))
