"""jsonb_path_exists and related functions: evaluation of jsonpaths over jsonb."""

from __future__ import annotations

import json
from decimal import Decimal
from functools import lru_cache
from typing import Any

from gpudb.duckdb.udf.regex import is_match
from gpudb.duckdb.udf.registry import FunctionRegistry
from gpudb.errors import GpudbError, SqlError
from gpudb.values.json import format_jsonb
from gpudb.values.jsonpath import parse, parse_jsonpath
from gpudb.values.jsonpath.datetimes import DatetimeValue
from gpudb.values.jsonpath.evaluate import Evaluation, is_suppressible
from gpudb.values.zones import parse_session_zone

_DECODER = json.JSONDecoder(parse_float=Decimal, parse_int=Decimal)
_OPERANDS = "VARCHAR VARCHAR VARCHAR BOOLEAN VARCHAR"


def register(registry: FunctionRegistry) -> None:
    """Registers the functions. Operands: jsonb, jsonpath, variables, silent, session time zone ('' for none)."""
    registry.add_scalar("pg_jsonpath_in", "VARCHAR", "VARCHAR", parse_jsonpath)
    registry.add_scalar("pg_jsonb_path_query", _OPERANDS, "VARCHAR[]", _query)
    registry.add_scalar("pg_jsonb_path_exists", _OPERANDS, "BOOLEAN", _exists)
    registry.add_scalar("pg_jsonb_path_match", _OPERANDS, "BOOLEAN", _match)


def _evaluate(text: str, path: str, variables: str, zone: str) -> Evaluation:
    # the operators take no variables: there each variable is null
    values = _read_variables(variables) if variables else None
    if variables and not isinstance(values, dict):
        detail = 'Jsonpath parameters should be encoded as key-value pairs of "vars" object.'
        raise SqlError.of("invalid_parameter_value", '"vars" argument is not an object', detail=detail)
    session_tz = parse_session_zone(zone) if zone else None
    return Evaluation(parse(path), _DECODER.decode(text), values, _matches, session_tz)


@lru_cache(256)
def _read_variables(text: str) -> Any:
    return _DECODER.decode(text)


def _matches(text: str, pattern: str, flags: str) -> bool:
    # XQuery's dot excludes newlines unless s is set; its anchors match at newlines with m
    newlines = ("w" if "s" in flags else "n") if "m" in flags else ("s" if "s" in flags else "p")
    options = newlines + ("i" if "i" in flags else "") + ("q" if "q" in flags else "")
    return is_match(text, pattern, options)


def _to_json(value: Any) -> Any:
    """Converts a result to JSON: a value of .datetime() becomes a string."""
    if isinstance(value, DatetimeValue):
        return value.format()
    if isinstance(value, dict):
        return {key: _to_json(each) for key, each in value.items()}
    return [_to_json(each) for each in value] if isinstance(value, list) else value


def _query(text: str, path: str, variables: str, silent: bool, zone: str) -> list[str]:
    found: list[str] = []
    try:
        for each in _evaluate(text, path, variables, zone).results():
            found.append(format_jsonb(_to_json(each)))
    except GpudbError as error:
        if not silent or not is_suppressible(error):
            raise
    return found


def _exists(text: str, path: str, variables: str, silent: bool, zone: str) -> bool | None:
    try:
        return _evaluate(text, path, variables, zone).has_result()
    except GpudbError as error:
        if silent and is_suppressible(error):
            return None
        raise


def _match(text: str, path: str, variables: str, silent: bool, zone: str) -> bool | None:
    try:
        found = _evaluate(text, path, variables, zone).run()
    except GpudbError as error:
        if silent and is_suppressible(error):
            return None
        raise
    if len(found) == 1 and (found[0] is None or isinstance(found[0], bool)):
        return found[0]
    if silent:
        return None
    raise SqlError.of("singleton_sql_json_item_required", "single boolean result is expected")
