"""Upper case of single letters as C libraries map them (Unicode's simple mappings)."""

from __future__ import annotations


def capital(char: str) -> str:
    """Returns a letter's upper case; if that is several characters (`ᾀ`, `ß`) its title case, or else the letter
    itself.
    """
    for changed in (char.upper(), char.title()):
        if len(changed) == 1:
            return changed
    return char
