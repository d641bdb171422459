"""What full-text search makes of a text, step by step: ts_parse, ts_token_type and ts_debug, and a vector's parts."""

from __future__ import annotations

from gpudb import pgdata
from gpudb.errors import UndefinedObject
from gpudb.text_search.configurations import get_configuration, get_dictionary, list_dictionaries
from gpudb.text_search.tokens import TYPES, split_text
from gpudb.text_search.vectors import WEIGHTS, read_vector

Row = dict[str, object]


def list_parts(vector: str) -> list[Row]:
    """Returns the lexemes of a vector with their positions and weights, NULL if it was stripped of them."""
    found = sorted(read_vector(vector).items(), key=lambda part: part[0].encode())
    return [
        {
            "lexeme": word,
            "positions": [place.position for place in places] or None,
            "weights": [WEIGHTS[place.weight] for place in places] or None,
        }
        for word, places in found
    ]


def get_parser_oid(name: str) -> int:
    """Returns the OID of a parser; 42704."""
    for oid, known in pgdata.load_table("pg_ts_parser").select("oid", "prsname"):
        if known == name.removeprefix("pg_catalog."):
            return int(oid)
    raise UndefinedObject(f'text search parser "{name}" does not exist')


def _check_parser(oid: int) -> None:
    if oid not in {int(known) for (known,) in pgdata.load_table("pg_ts_parser").select("oid")}:
        raise UndefinedObject(f"cache lookup failed for text search parser {oid}", condition="internal_error")


def list_tokens(parser: int, text: str) -> list[Row]:
    """ts_parse: the tokens of a text with the numbers of their types."""
    _check_parser(parser)
    return [{"tokid": token.type, "token": token.text} for token in split_text(text)]


def list_token_types(parser: int) -> list[Row]:
    """ts_token_type: the types of tokens."""
    _check_parser(parser)
    return [{"tokid": kind, "alias": alias, "description": description} for kind, alias, description in TYPES]


def explain_tokens(configuration: int, text: str) -> list[Row]:
    """ts_debug: for each token its dictionaries, the one that knows it, and what that makes of it."""
    get_configuration(configuration)
    names = {kind: (alias, description) for kind, alias, description in TYPES}
    found: list[Row] = []
    for token in split_text(text):
        dictionaries = list_dictionaries(configuration, token.type)
        made = [(each, find_lexemes(each, token.text)) for each in dictionaries]
        chosen = next((pair for pair in made if pair[1] is not None), made[0] if made else (None, None))
        alias, description = names[token.type]
        found.append(
            {
                "alias": alias,
                "description": description,
                "token": token.text,
                "dictionaries": dictionaries,
                "dictionary": chosen[0],
                "lexemes": chosen[1],
            }
        )
    return found


def find_lexemes(dictionary: int, word: str) -> list[str] | None:
    """ts_lexize: the lexemes of a word, none for a stop word."""
    lexeme = get_dictionary(dictionary).find_lexeme(word)
    return [lexeme] if lexeme else []
