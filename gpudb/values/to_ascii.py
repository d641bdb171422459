"""to_ascii: letters of four single-byte encodings without diacritics (PostgreSQL's ascii.c, with its tables)."""

from __future__ import annotations

import re
from functools import cache, lru_cache

from gpudb.errors import FeatureNotSupported, SqlError

# For each encoding the first byte of the table, and the replacement of each byte from there on.
_TABLES = {
    "LATIN1": (
        160,
        "  cL Y  \"Ca  -R     'u .,      ?AAAAAAACEEEEIIII NOOOOOxOUUUUYTBaaaaaaaceeeeiiii nooooo/ouuuuyty",
    ),
    "LATIN2": (
        160,
        ' A L LS "SSTZ-ZZ a,l\'ls ,sstz"zzRAAAALCCCEEEEIIDDNNOOOOxRUUUUYTBraaaalccceeeeiiddnnoooo/ruuuuyt.',
    ),
    "LATIN9": (
        160,
        "  cL YS sCa  -R     Zu .z   EeY?AAAAAAACEEEEIIII NOOOOOxOUUUUYTBaaaaaaaceeeeiiii nooooo/ouuuuyty",
    ),
    "WIN1250": (
        128,
        '  \' "    %S<STZZ `\'"".--  s>stzz   L A  "CS  -RZ  ,l\'u .,as L"lz'
        "RAAAALCCCEEEEIIDDNNOOOOxRUUUUYTBraaaalccceeeeiiddnnoooo/ruuuuyt ",
    ),
}
_ENCODINGS = (
    "SQL_ASCII EUC_JP EUC_CN EUC_KR EUC_TW EUC_JIS_2004 UTF8 MULE_INTERNAL LATIN1 LATIN2 LATIN3 LATIN4 LATIN5 LATIN6"
    " LATIN7 LATIN8 LATIN9 LATIN10 WIN1256 WIN1258 WIN866 WIN874 KOI8R WIN1251 WIN1252 ISO_8859_5 ISO_8859_6"
    " ISO_8859_7 ISO_8859_8 WIN1250 WIN1253 WIN1254 WIN1255 WIN1257 KOI8U SJIS BIG5 GBK UHC GB18030 JOHAB"
    " SHIFT_JIS_2004"
).split()
_ALIASES = {
    "iso88591": "LATIN1", "iso88592": "LATIN2", "iso885915": "LATIN9", "windows1250": "WIN1250", "unicode": "UTF8",
}  # fmt: skip


def to_ascii(text: str, encoding: str) -> str:
    """Returns a text's bytes, interpreted in one encoding, as ASCII; `encoding` is a name, or PostgreSQL's number as
    `#8`.

    0A000 for an encoding other than the four, 42704 for an unknown one.
    """
    name = _get_encoding_by_number(int(encoding[1:])) if encoding.startswith("#") else _get_encoding_by_name(encoding)
    if name not in _TABLES:
        raise FeatureNotSupported(f"encoding conversion from {name} to ASCII not supported")
    return text if text.isascii() else text.encode().translate(_replacements(name)).decode()


@cache
def _replacements(name: str) -> bytes:
    """Returns what replaces each byte in an encoding."""
    first, table = _TABLES[name]
    return bytes(range(128)) + b" " * (first - 128) + table.encode()


def _get_encoding_by_number(number: int) -> str:
    if not 0 <= number < len(_ENCODINGS):
        raise SqlError.of("undefined_object", f"{number} is not a valid encoding code")
    return _ENCODINGS[number]


@lru_cache(maxsize=64)
def _get_encoding_by_name(name: str) -> str:
    plain = re.sub("[^a-z0-9]", "", name.lower())
    known = {re.sub("[^a-z0-9]", "", encoding.lower()): encoding for encoding in _ENCODINGS} | _ALIASES
    if plain not in known:
        raise SqlError.of("undefined_object", f"{name} is not a valid encoding name")
    return known[plain]
