"""Templates of dates and times, which to_char and to_date share (PostgreSQL's formatting.c)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from gpudb.errors import FeatureNotSupported

MONTHS = "January February March April May June July August September October November December".split()
DAYS = "Sunday Monday Tuesday Wednesday Thursday Friday Saturday".split()
ROMAN = "XII XI X IX VIII VII VI V IV III II I".split()
_PLAIN = (
    "A.D. A.M. AD AM B.C. BC CC DAY DDD DD DY Day Dy D FF1 FF2 FF3 FF4 FF5 FF6 HH24 HH12 HH IDDD ID IW IYYY IYY IY I J"
    " FX MI MM MONTH MON MS Month Mon OF P.M. PM Q RM SSSSS SSSS SS TZH TZM TZ US WW W Y,YYY YYYY YYY YY Y"
    " a.d. a.m. ad am b.c. bc cc day ddd dd dy d ff1 ff2 ff3 ff4 ff5 ff6 hh24 hh12 hh iddd id iw iyyy iyy iy i j"
    " fx mi mm month mon ms of p.m. pm q rm sssss ssss ss tzh tzm tz us ww w y,yyy yyyy yyy yy y"
).split()
_KEYWORD = re.compile("|".join(re.escape(word) for word in sorted(_PLAIN, key=len, reverse=True)))
_NO_CASE = frozenset(
    "CC DDD DD D FF1 FF2 FF3 FF4 FF5 FF6 FX HH24 HH12 HH IDDD ID IW IYYY IYY IY I J MI MM MS OF Q SSSSS SSSS SS TZH TZM"
    " US WW W Y,YYY YYYY YYY YY Y".split()
)


_NAMED = frozenset({"MONTH", "MON", "DAY", "DY"})
_PREFIXES = frozenset({"FM", "fm", "TM", "tm"})
"""Valid in these spellings only: in `YYYYThh` the T is text."""


@dataclass(frozen=True, slots=True)
class Token:
    """A template keyword with its modifiers, or (`key` empty) literal text, which may have been quoted."""

    key: str
    text: str
    fill: bool = True
    ordinal: str = ""
    quoted: bool = False


@lru_cache(maxsize=256)
def parse_template(template: str) -> tuple[Token, ...]:
    """Parses a template. Month and day names are the C locale's, without padding after TM. 0A000 for SP."""
    result: list[Token] = []
    at = 0
    while at < len(template):
        start, fill, local = at, True, False
        while template[at : at + 2] in _PREFIXES:
            prefix = template[at : at + 2].upper()
            fill, local, at = fill and prefix != "FM", local or prefix == "TM", at + 2
        found = _KEYWORD.match(template, at)
        if found is not None:
            at = found.end()
            key = found.group().upper() if found.group().upper() in _NO_CASE else found.group()
            fill = fill and not (local and key.upper() in _NAMED)
            ordinal = template[at : at + 2] if template[at : at + 2] in {"TH", "th"} else ""
            at += len(ordinal)
            if template[at : at + 2].upper() == "SP":
                raise FeatureNotSupported('the template modifier "SP" is not supported')
            result.append(Token(key, found.group(), fill, ordinal))
            continue
        if at > start:
            continue
        if template[at] == '"':
            end = at + 1
            text = ""
            while end < len(template) and template[end] != '"':
                end += template[end] == "\\" and end + 1 < len(template)
                text += template[end]
                end += 1
            result.append(Token("", text, quoted=True))
            at = end + 1
        elif template[at] == "\\" and template[at + 1 : at + 2] == '"':
            result.append(Token("", '"'))
            at += 2
        else:
            result.append(Token("", template[at]))
            at += 1
    return tuple(result)
