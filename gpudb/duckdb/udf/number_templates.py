"""Templates of numbers, which to_char and to_number share (PostgreSQL's formatting.c)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

from gpudb.errors import FeatureNotSupported, SqlError

_TOKEN = re.compile(
    r'FM|EEEE|RN|SG|PR|PL|MI|TH|[90.,DGLSVCB]|\\"|"((?:[^"\\]|\\.)*)(?:"|$)|.', re.IGNORECASE | re.DOTALL
)


@dataclass(slots=True)
class Template:
    """A parsed template: its parts in order, and its options."""

    parts: list[tuple[str, str]] = field(default_factory=list)
    before: int = 0
    after: int = 0
    shift: int = 0
    first_zero: int | None = None
    last_zero: int = 0
    fill: bool = True
    sign: str = ""
    decimal: bool = False
    exponent: bool = False
    roman: str = ""
    blank: bool = False


_MAX_TEMPLATE = 1 << 16
_PATTERNS = frozenset("FM 9 0 . D , G V S MI PL SG PR EEEE RN TH L C B".split())


def _syntax_error(message: str) -> SqlError:
    return SqlError.of("syntax_error", message)


@lru_cache(maxsize=256)
def parse_template(text: str) -> Template:
    """Parses a template; 42601 if it contradicts itself, 0A000 for C, 54000 if it is longer than any number needs."""
    if len(text) > _MAX_TEMPLATE:
        raise SqlError.of("program_limit_exceeded", "requested length too large")
    result = Template()
    for found in _TOKEN.finditer(text):
        word = found.group()
        key = word.upper()
        if found.group(1) is not None:
            result.parts.append(("text", re.sub(r"\\(.)", r"\1", found.group(1))))
            continue
        if result.exponent and key in _PATTERNS:
            twice = key == "EEEE"
            raise _syntax_error('cannot use "EEEE" twice' if twice else '"EEEE" must be the last pattern used')
        match key:
            case "FM":
                result.fill = False
            case "9" | "0":
                if result.sign == "PR":
                    raise _syntax_error('"9" must be ahead of "PR"' if key == "9" else '"0" must be ahead of "PR"')
                if result.decimal:
                    result.after += 1
                    if key == "0":
                        result.last_zero = result.after
                elif result.shift and key == "9":
                    result.shift += 1
                else:
                    if key == "0" and result.first_zero is None:
                        result.first_zero = result.before
                    result.before += 1
                result.parts.append(("digit", key))
            case "." | "D":
                if result.decimal:
                    raise _syntax_error("multiple decimal points")
                if result.shift:
                    raise _syntax_error('cannot use "V" and decimal point together')
                result.decimal = True
                result.parts.append(("point", "."))
            case "," | "G":
                result.parts.append(("group", ","))
            case "V":
                if result.decimal:
                    raise _syntax_error('cannot use "V" and decimal point together')
                result.shift = 1
            case "S" | "MI" | "PL" | "SG" | "PR":
                _check_sign(result.sign, key)
                result.sign = result.sign or key
                result.parts.append(("sign", key))
            case "EEEE":
                if result.sign or not result.fill or result.roman or result.shift:
                    raise _syntax_error('"EEEE" is incompatible with other formats')
                result.exponent = True
            case "RN":
                result.roman = word
                result.parts.append(("roman", word))
            case "TH":
                result.parts.append(("ordinal", word))
            case "L":
                # the C locale has no currency symbol: a blank replaces it
                result.parts.append(("currency", " "))
            case "B":
                result.blank = True
            case "C":
                raise FeatureNotSupported(f'the template pattern "{key}" is not supported')
            case '\\"':
                result.parts.append(("text", '"'))
            case _:
                result.parts.append(("text", word))
    if result.shift:
        result.shift -= 1
        result.before += result.shift
    return result


def _check_sign(first: str, key: str) -> None:
    """Raises 42601 for a sign that cannot be combined with the first one."""
    if key == "S" and first:
        raise _syntax_error(
            'cannot use "S" twice' if first == "S" else 'cannot use "S" and "PL"/"MI"/"SG"/"PR" together'
        )
    if key == "PR" and first not in {"", "PR"}:
        raise _syntax_error('cannot use "PR" and "S"/"PL"/"MI"/"SG" together')
    if first == "S":
        raise _syntax_error(f'cannot use "S" and "{key}" together')
