"""DuckDB's spellings that PostgreSQL's grammar does not read, changed token by token."""

from __future__ import annotations

from postgast import pg_query_pb2 as pg

from gpudb.errors import FeatureNotSupported
from gpudb.sql.parse.qualify import extract_qualify
from gpudb.sql.parse.tokens import Token, split_tokens

GROUP_ALL = "gpudb group by all"
"""The column that stands for ALL in GROUP BY."""

_OPERAND_ENDS = frozenset({pg.IDENT, pg.ICONST, pg.SCONST, ord(")"), ord("]")})
_CASTS = frozenset({"::", "as"})
_REFUSED = {
    "pivot": "PIVOT",
    "try_cast": "TRY_CAST",
    "sample": "USING SAMPLE",
    "tablesample": "TABLESAMPLE",
    "lambda": "lambda",
    "columns": "COLUMNS",
}


def read_describe(sql: str) -> str | None:
    """Returns the query that a text asks to describe, `DESC` and `DESCRIBE` of a query or a table; None for others."""
    tokens = split_tokens(sql)
    if not tokens or tokens[0].word not in ("desc", "describe"):
        return None
    rest = sql.encode()[tokens[0].end :].decode()
    is_query = (len(tokens) > 1 and tokens[1].word in ("select", "with", "values", "from")) or tokens[1:2] == []
    return rest if is_query or tokens[1].text == "(" else f"SELECT * FROM {rest}"


def nest_qualify(sql: str) -> str:
    """Returns a text without QUALIFY: its SELECT becomes a subquery, whose rows WHERE filters.

    So its condition knows the names of the select list, as Mosaic's have them, and no window functions.
    """
    while found := extract_qualify(sql)[1]:
        clause, encoded = found[-1], sql.encode()
        start, end = clause.offset, clause.offset + len(clause.condition.encode())
        before = encoded[: clause.select].decode() + "SELECT * FROM (" + encoded[clause.select : start].decode()
        before = before[: before.lower().rindex("qualify")]
        sql = f'{before}) AS "gpudb qualify" WHERE {clause.condition}{encoded[end:].decode()}'
    return sql


def respell(sql: str) -> str:
    """Returns a text that PostgreSQL's grammar reads; 0A000 for clauses that it has no form of."""
    if "qualify" in sql.lower():
        sql = nest_qualify(sql)
    tokens = split_tokens(sql)
    encoded, parts, done = sql.encode(), list[str](), 0
    lists: list[bool] = []

    def replace(start: int, end: int, text: str) -> None:
        nonlocal done
        parts.append(encoded[done:start].decode() + text)
        done = end

    for index, token in enumerate(tokens):
        before = tokens[index - 1] if index else None
        following = tokens[index + 1 : index + 3]
        if token.start < done:
            continue
        if _is_refused(token, before, following):
            raise FeatureNotSupported(f"{_REFUSED[token.word]} is not supported in charts")
        if token.word == "interval" and len(following) == 2 and following[0].kind in (pg.ICONST, pg.FCONST):
            amount, unit = following
            replace(token.start, unit.end, f"INTERVAL '{amount.text} {unit.word}'")
        elif token.word == "float" and before is not None and before.word in _CASTS:
            replace(token.start, token.end, "real")
        elif token.word == "all" and before is not None and before.word == "by":
            replace(token.start, token.end, f'"{GROUP_ALL}"')
        elif token.text == "[":
            is_list = before is None or not _ends_operand(before)
            lists.append(is_list)
            if is_list:
                replace(token.start, token.end, "ARRAY[")
        elif token.text == "]" and lists:
            lists.pop()
    return "".join(parts) + encoded[done:].decode()


def _is_refused(token: Token, before: Token | None, following: list[Token]) -> bool:
    if token.word not in _REFUSED or (before is not None and before.text == "."):
        return False
    if token.word in ("columns", "try_cast", "tablesample", "sample"):
        return bool(following) and (following[0].text == "(" or token.word in ("tablesample", "sample"))
    return token.word != "lambda" or (len(following) > 1 and following[1].text == ":")


def _ends_operand(token: Token) -> bool:
    return token.kind in _OPERAND_ENDS or token.text.startswith('"')
