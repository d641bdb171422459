"""Full-text search: functions over vectors and queries in their printed forms."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from gpudb.duckdb.udf.registry import FunctionRegistry
from gpudb.text_search import parsing, values
from gpudb.text_search.columns import match_column
from gpudb.text_search.queries import parse_query
from gpudb.text_search.vectors import parse_vector

_RANKED = "FLOAT[] VARCHAR VARCHAR INTEGER"


def register(registry: FunctionRegistry) -> None:
    """Registers the functions. A configuration or dictionary is its OID."""
    add = registry.add_scalar
    add("pg_tsvector_in", "VARCHAR", "VARCHAR", parse_vector)
    add("pg_tsquery_in", "VARCHAR", "VARCHAR", parse_query)
    add("pg_to_tsvector", "BIGINT VARCHAR", "VARCHAR", values.to_vector)
    add("pg_json_to_tsvector", "BIGINT VARCHAR", "VARCHAR", values.to_vector_of_json)
    for name, make in (
        ("to", values.to_query),
        ("plainto", values.to_plain_query),
        ("phraseto", values.to_phrase_query),
        ("websearch_to", values.to_web_query),
    ):
        add(f"pg_{name}_tsquery", "BIGINT VARCHAR", "VARCHAR", make)
    add("pg_ts_headline", "BIGINT VARCHAR VARCHAR VARCHAR", "VARCHAR", values.headline)
    add("pg_json_ts_headline", "BIGINT VARCHAR VARCHAR VARCHAR BOOLEAN", "VARCHAR", values.headline_of_json)
    add("pg_ts_lexize", "BIGINT VARCHAR", "VARCHAR[]", values.lexize)
    registry.add_columnar("pg_ts_match", "VARCHAR VARCHAR", "BOOLEAN", _match)
    add("pg_ts_rank", _RANKED, "FLOAT", values.rank_by_words)
    add("pg_ts_rank_cd", _RANKED, "FLOAT", values.rank_by_covers)
    add("pg_tsvector_concat", "VARCHAR VARCHAR", "VARCHAR", values.join_vectors)
    add("pg_tsvector_strip", "VARCHAR", "VARCHAR", values.strip)
    add("pg_tsvector_length", "VARCHAR", "INTEGER", values.count_lexemes)
    add("pg_tsvector_weigh", "VARCHAR VARCHAR", "VARCHAR", values.weigh)
    add("pg_tsvector_weigh_words", "VARCHAR VARCHAR VARCHAR[]", "VARCHAR", values.weigh_words)
    add("pg_tsvector_delete", "VARCHAR VARCHAR[]", "VARCHAR", values.delete)
    add("pg_tsvector_filter", "VARCHAR VARCHAR[]", "VARCHAR", values.keep_weights)
    add("pg_tsvector_lexemes", "VARCHAR", "VARCHAR[]", values.list_lexemes)
    add("pg_tsvector_of", "VARCHAR[]", "VARCHAR", values.from_lexemes)
    add(
        "pg_tsvector_unnest",
        "VARCHAR",
        "STRUCT(lexeme VARCHAR, positions SMALLINT[], weights VARCHAR[])[]",
        parsing.list_parts,
    )
    add("pg_ts_parser", "VARCHAR", "BIGINT", parsing.get_parser_oid)
    add("pg_ts_parse", "BIGINT VARCHAR", "STRUCT(tokid INTEGER, token VARCHAR)[]", parsing.list_tokens)
    add(
        "pg_ts_token_type",
        "BIGINT",
        "STRUCT(tokid INTEGER, alias VARCHAR, description VARCHAR)[]",
        parsing.list_token_types,
    )
    add(
        "pg_ts_debug",
        "BIGINT VARCHAR",
        "STRUCT(alias VARCHAR, description VARCHAR, token VARCHAR, dictionaries BIGINT[], dictionary BIGINT,"
        " lexemes VARCHAR[])[]",
        parsing.explain_tokens,
    )
    add("pg_ts_rewrite", "VARCHAR VARCHAR VARCHAR", "VARCHAR", values.rewrite)
    add("pg_ts_rewrite_all", "VARCHAR VARCHAR[][]", "VARCHAR", values.rewrite_all)
    add("pg_tsquery_and", "VARCHAR VARCHAR", "VARCHAR", values.both)
    add("pg_tsquery_or", "VARCHAR VARCHAR", "VARCHAR", values.either)
    add("pg_tsquery_not", "VARCHAR", "VARCHAR", values.negate)
    add("pg_tsquery_phrase", "VARCHAR VARCHAR INTEGER", "VARCHAR", values.follow)
    add("pg_tsquery_contains", "VARCHAR VARCHAR", "BOOLEAN", values.contains)
    add("pg_tsquery_nodes", "VARCHAR", "INTEGER", values.count_query_nodes)
    add("pg_tsquery_tree", "VARCHAR", "VARCHAR", values.show_indexable)


def _match(vectors: pa.StringArray, queries: pa.StringArray) -> pa.BooleanArray:
    """Matches each vector with its query; those of one query at once."""
    if len(queries) and queries.null_count < len(queries):
        distinct = queries.unique().drop_null()
        if len(distinct) == 1:
            found = match_column(vectors, distinct[0].as_py())
            return pc.if_else(queries.is_null(), None, found) if queries.null_count else found
    return pa.array(
        [
            None if vector is None or query is None else match_column(pa.array([vector]), query)[0].as_py()
            for vector, query in zip(vectors.to_pylist(), queries.to_pylist(), strict=True)
        ],
        pa.bool_(),
    )
