"""Letters' cases as C libraries map them (Unicode's simple mappings): one letter for each."""

from __future__ import annotations


def capital(char: str) -> str:
    """A letter's upper case; where that is several (`ᾀ`, `ß`) its title case, or if that is too the letter itself."""
    for changed in (char.upper(), char.title()):
        if len(changed) == 1:
            return changed
    return char
