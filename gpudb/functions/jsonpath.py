"""jsonpath queries of jsonb: the jsonb_path_ functions and the operators @? and @@."""

from __future__ import annotations

from collections.abc import Callable

from gpudb.functions.registry import Operands, declare


def _make_query(name: str, zone: str, *, silent: str = "false") -> Callable[[Operands], str]:
    def render(operands: Operands) -> str:
        text, path, *rest = operands.sql
        variables = rest[0] if rest else "''" if silent == "true" else "'{}'"
        quiet = rest[1] if len(rest) > 1 else silent
        return f"{name}({text}, {path}, {variables}, {quiet}, {zone})"

    return render


def _make_first(render: Callable[[Operands], str]) -> Callable[[Operands], str]:
    return lambda operands: f"list_extract({render(operands)}, 1)"


def _make_array(render: Callable[[Operands], str]) -> Callable[[Operands], str]:
    return lambda operands: f"('[' || array_to_string({render(operands)}, ', ') || ']')"


for _suffix, _zone in (("", "''"), ("_tz", "current_setting('TimeZone')")):
    _query = _make_query("pg_jsonb_path_query", _zone)
    declare(f"jsonb_path_query{_suffix}", _query)
    declare(f"jsonb_path_query_first{_suffix}", _make_first(_query))
    declare(f"jsonb_path_query_array{_suffix}", _make_array(_query))
    declare(f"jsonb_path_exists{_suffix}", _make_query("pg_jsonb_path_exists", _zone))
    declare(f"jsonb_path_match{_suffix}", _make_query("pg_jsonb_path_match", _zone))
declare("jsonb_path_exists_opr", _make_query("pg_jsonb_path_exists", "''", silent="true"))
declare("jsonb_path_match_opr", _make_query("pg_jsonb_path_match", "''", silent="true"))
