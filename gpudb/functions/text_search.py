"""Full-text search (PostgreSQL's manual, 9.13). Vectors and queries are texts in the form in which they are printed.

A configuration is its OID; where a call names none, the binder adds the session's.
"""

from __future__ import annotations

from collections.abc import Callable

from gpudb.functions.library import Function
from gpudb.functions.registry import Operands, declare
from gpudb.types import TEXT, SqlType
from gpudb.types.facts import STRINGS

REWRITE_ALL = Function(0, "ts-rewrite-all", (SqlType("tsquery"), TEXT.array), SqlType("tsquery"), strict=True)
"""ts_rewrite over rows of targets and substitutes, each an array of two texts; the name cannot be called from SQL."""
VALUES = frozenset({"tsvector", "tsquery"})
CONFIGURED = frozenset(
    "to_tsvector to_tsquery plainto_tsquery phraseto_tsquery websearch_to_tsquery ts_headline ts_match_tt ts_match_tq"
    " ts_debug"
    .split()
)  # fmt: skip
"""Functions that take a configuration first, or the session's."""

declare("get_current_ts_config", session="get_current_ts_config")
declare("to_tsvector(regconfig,text)", "pg_to_tsvector({0}, {1})")
declare("to_tsvector(regconfig,json) to_tsvector(regconfig,jsonb)", "pg_json_to_tsvector({0}, {1})")
for _name in ("to_tsquery", "plainto_tsquery", "phraseto_tsquery", "websearch_to_tsquery"):
    declare(f"{_name}(regconfig,text)", f"pg_{_name}({{0}}, {{1}})")
declare("ts_lexize", "pg_ts_lexize({0}, {1})")


def _make_headline(function: str, *last: str) -> Callable[[Operands], str]:
    def render(operands: Operands) -> str:
        options = operands.sql[3] if len(operands.sql) > 3 else "''"
        return f"{function}({', '.join((*operands.sql[:3], options, *last))})"

    return render


for _type, _headline in {
    "text": _make_headline("pg_ts_headline"),
    "json": _make_headline("pg_json_ts_headline", "true"),
    "jsonb": _make_headline("pg_json_ts_headline", "false"),
}.items():
    declare(f"ts_headline(regconfig,{_type},tsquery) ts_headline(regconfig,{_type},tsquery,text)", _headline)

# ---------------------------------------------------------------------------------------------- matching and ranks

declare("ts_match_vq", "pg_ts_match({0}, {1})")
declare("ts_match_qv", "pg_ts_match({1}, {0})")
for _name in ("ts_rank", "ts_rank_cd"):
    _default = "CAST([0.1, 0.2, 0.4, 1] AS FLOAT[])"
    declare(f"{_name}(_float4,tsvector,tsquery,int4)", f"pg_{_name}({{0}}, {{1}}, {{2}}, {{3}})")
    declare(f"{_name}(_float4,tsvector,tsquery)", f"pg_{_name}({{0}}, {{1}}, {{2}}, 0)")
    declare(f"{_name}(tsvector,tsquery,int4)", f"pg_{_name}({_default}, {{0}}, {{1}}, {{2}})")
    declare(f"{_name}(tsvector,tsquery)", f"pg_{_name}({_default}, {{0}}, {{1}}, 0)")

# ---------------------------------------------------------------------------------------------- vectors

declare("tsvector_eq tsquery_eq", "({0} = {1})")
declare("tsvector_ne tsquery_ne", "({0} <> {1})")
declare("tsvector_concat", "pg_tsvector_concat({0}, {1})")
declare("strip(tsvector)", "pg_tsvector_strip({0})")
declare("length(tsvector)", "pg_tsvector_length({0})")
declare("setweight(tsvector,char)", "pg_tsvector_weigh({0}, {1})")
declare("setweight(tsvector,char,_text)", "pg_tsvector_weigh_words({0}, {1}, {2})")
declare("ts_delete(tsvector,text)", "pg_tsvector_delete({0}, [{1}])")
declare("ts_delete(tsvector,_text)", "pg_tsvector_delete({0}, {1})")
declare("ts_filter", "pg_tsvector_filter({0}, {1})")
declare("tsvector_to_array", "pg_tsvector_lexemes({0})")
declare("unnest(tsvector)", "pg_tsvector_unnest({0})")
declare("array_to_tsvector", "pg_tsvector_of({0})")

# ---------------------------------------------------------------------------------------------- steps of the way

declare("ts_parse(oid,text)", "pg_ts_parse({0}, {1})")
declare("ts_parse(text,text)", "pg_ts_parse(pg_ts_parser({0}), {1})")
declare("ts_token_type(oid)", "pg_ts_token_type({0})")
declare("ts_token_type(text)", "pg_ts_token_type(pg_ts_parser({0}))")
declare("ts_debug(regconfig,text)", "pg_ts_debug({0}, {1})")

# ---------------------------------------------------------------------------------------------- queries

declare("tsquery_and", "pg_tsquery_and({0}, {1})")
declare("tsquery_or", "pg_tsquery_or({0}, {1})")
declare("tsquery_not", "pg_tsquery_not({0})")
declare("tsquery_phrase(tsquery,tsquery)", "pg_tsquery_phrase({0}, {1}, 1)")
declare("tsquery_phrase(tsquery,tsquery,int4)", "pg_tsquery_phrase({0}, {1}, {2})")
declare("tsq_mcontains", "pg_tsquery_contains({0}, {1})")
declare("tsq_mcontained", "pg_tsquery_contains({1}, {0})")
declare("ts_rewrite(tsquery,tsquery,tsquery)", "pg_ts_rewrite({0}, {1}, {2})")
declare("ts-rewrite-all", "pg_ts_rewrite_all({0}, {1})")
declare("numnode", "pg_tsquery_nodes({0})")
declare("querytree", "pg_tsquery_tree({0})")


def to_text_search(sql: str, source: SqlType, target: SqlType) -> str | None:
    """Converts a text to a vector or a query."""
    return f"pg_{target.name}_in({sql})" if source.name in STRINGS else sql if source.name == target.name else None
