"""Upper case of single letters as C libraries map them (Unicode's simple mappings)."""

from __future__ import annotations


def capitalize(char: str) -> str:
    """Returns a letter's upper case; if that is several characters (`ᾀ`, `ß`) its title case, or else the letter
    itself.
    """
    for upper in (char.upper(), char.title()):
        if len(upper) == 1:
            return upper
    return char
