"""The configurations of full-text search: which dictionaries make lexemes of a token of each type.

They are PostgreSQL's own: `simple`, and one for each language of the Snowball stemmers. A dictionary turns a word to
lower case, leaves a stop word out, and reduces any other to its stem.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping
from functools import cache

import Stemmer

from gpudb import pgdata
from gpudb.errors import UndefinedObject
from gpudb.lru import LruCache
from gpudb.text_search.tokens import Token, split_text

MOST_POSITIONS = 16383
"""The last position of a document; what follows has the same."""
_LONGEST_STEMMED = 1000
LONGEST_LEXEME = 2046
"""The bytes of the longest lexeme of a vector or a query."""
_KNOWN_WORDS = 1 << 16


class Dictionary:
    """Makes lexemes of words; thread-safe. `language` is None for the one that only turns to lower case."""

    def __init__(self, language: str | None, stop_words: frozenset[str]) -> None:
        self.stop_words = stop_words
        self._stemmer = None if language is None else Stemmer.Stemmer(language, 0)
        self._guard = threading.Lock()
        self._known: LruCache[str, str | None] = LruCache(_KNOWN_WORDS)

    def find_lexeme(self, word: str) -> str | None:
        """Returns the lexeme of a word; None for a stop word."""
        if self._stemmer is None:
            return word.lower()
        known = self._known.get(word)
        if known is not None:
            return known
        lowered = word.lower()
        if len(word.encode()) > _LONGEST_STEMMED:
            return lowered
        if lowered in self.stop_words:
            return None
        with self._guard:
            stem: str = self._stemmer.stemWord(lowered)
        self._known.put(word, stem)
        return stem


class Configuration:
    """A configuration: the dictionary of each type of token; tokens of other types have no lexemes."""

    def __init__(self, name: str, dictionaries: Mapping[int, Dictionary]) -> None:
        self.name, self.dictionaries = name, dictionaries

    def find_lexeme(self, token: Token) -> tuple[str | None, bool]:
        """Returns the lexeme of a token, None for a stop word, and whether it has a position.

        Tokens of types without a dictionary have none, nor have words of more than 2,046 bytes.
        """
        dictionary = self.dictionaries.get(token.type)
        if dictionary is None or (len(token.text) > LONGEST_LEXEME // 4 and _is_too_long(token.text)):
            return None, False
        return dictionary.find_lexeme(token.text), True

    def iter_lexemes(self, text: str) -> Iterator[tuple[str | None, int]]:
        """Yields the lexeme of each token that has a position, None for a stop word, and the position from 1."""
        position = 0
        for token in split_text(text):
            lexeme, has_position = self.find_lexeme(token)
            if has_position:
                position += 1
                yield lexeme, min(position, MOST_POSITIONS)


def _is_too_long(word: str) -> bool:
    return len(word.encode()) > LONGEST_LEXEME


@cache
def _load_dictionaries() -> dict[int, tuple[str, Dictionary]]:
    stop_words: dict[str, set[str]] = {}
    for language, word in pgdata.load_table("stop_words").select("language", "word"):
        stop_words.setdefault(language, set()).add(word)
    made = {}
    for oid, name, options in pgdata.load_table("pg_ts_dict").select("oid", "dictname", "dictinitoption"):
        known = dict(re.findall(r"(\w+) = '(\w+)'", options))
        words = frozenset(stop_words.get(known.get("stopwords", ""), ()))
        made[int(oid)] = name, Dictionary(known.get("language"), words)
    return made


@cache
def _load_configurations() -> dict[int, Configuration]:
    maps: dict[int, dict[int, Dictionary]] = {}
    rows = pgdata.load_table("pg_ts_config_map").select("mapcfg", "maptokentype", "mapseqno", "mapdict")
    for owner, kind, _, dictionary in sorted(rows, key=lambda row: int(row[2]), reverse=True):
        maps.setdefault(int(owner), {})[int(kind)] = _load_dictionaries()[int(dictionary)][1]
    named = pgdata.load_table("pg_ts_config").select("oid", "cfgname")
    return {int(oid): Configuration(name, maps.get(int(oid), {})) for oid, name in named}


@cache
def _load_maps() -> dict[tuple[int, int], list[int]]:
    rows = pgdata.load_table("pg_ts_config_map").select("mapcfg", "maptokentype", "mapseqno", "mapdict")
    maps: dict[tuple[int, int], list[int]] = {}
    for owner, kind, _, dictionary in sorted(rows, key=lambda row: int(row[2])):
        maps.setdefault((int(owner), int(kind)), []).append(int(dictionary))
    return maps


def list_dictionaries(configuration: int, kind: int) -> list[int]:
    """Returns the OIDs of the dictionaries of a type of tokens, in the order in which they are asked."""
    return _load_maps().get((configuration, kind), [])


def get_configuration(oid: int) -> Configuration:
    """Returns the configuration of an OID; 42704."""
    found = _load_configurations().get(oid)
    if found is None:
        raise UndefinedObject(f"text search configuration with OID {oid} does not exist")
    return found


def get_configuration_oid(name: str) -> int:
    """Returns the OID of a configuration; 42704."""
    plain = name.removeprefix("pg_catalog.")
    for oid, each in _load_configurations().items():
        if each.name == plain:
            return oid
    raise UndefinedObject(f'text search configuration "{name}" does not exist')


def get_dictionary_oid(name: str) -> int:
    """Returns the OID of a dictionary; 42704."""
    plain = name.removeprefix("pg_catalog.")
    for oid, (known, _) in _load_dictionaries().items():
        if known == plain:
            return oid
    raise UndefinedObject(f'text search dictionary "{name}" does not exist')


def get_dictionary(oid: int) -> Dictionary:
    """Returns the dictionary of an OID; 42704."""
    found = _load_dictionaries().get(oid)
    if found is None:
        raise UndefinedObject(f"text search dictionary with OID {oid} does not exist")
    return found[1]
