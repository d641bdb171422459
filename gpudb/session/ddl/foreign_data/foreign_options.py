"""OPTIONS (…) of foreign objects: added, set and dropped, and checked by the wrapper's validator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.foreign import ForeignDataWrapper, Options
from gpudb.catalog.wrappers import KnownWrapper, Level, check_names, find_by_validator
from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.session.authorization.membership import has_privileges_of
from gpudb.session.context import Context
from gpudb.session.execution.foreign_data.files import READERS
from gpudb.session.execution.foreign_data.foreign_tables import split_paths
from gpudb.session.execution.foreign_data.object_stores import WRAPPER, make_options
from gpudb.sql.parse.parser import inner, kind, present
from gpudb.storage.copy.options import OptionError, RawOption, validate_options

_LAKE_FORMATS = ("arrow", "csv", "delta", "iceberg", "json", "parquet")
_FORCE = ("force_not_null", "force_null")


def change_options(context: Context, old: Options, elements: Any, wrapper: ForeignDataWrapper, level: Level) -> Options:
    """Returns options after OPTIONS ([ADD] a 'b', SET c 'd', DROP e); 42710, 42704, and what the validator raises."""
    held = dict(each.partition("=")[::2] for each in old)
    changed: list[str] = []
    for each in map(inner, elements):
        name = each.defname
        if each.defaction in (pg.DEFELEM_SET, pg.DEFELEM_DROP):
            if name not in held:
                raise SqlError.of("undefined_object", f'option "{name}" not found')
        elif name in held:
            raise SqlError.of("duplicate_object", f'option "{name}" provided more than once')
        if "=" in name:
            message = f'invalid option name "{name}": must not contain "="'
            raise SqlError.of("invalid_parameter_value", message)
        if each.defaction == pg.DEFELEM_DROP:
            del held[name]
        else:
            held[name] = _text(each)
            changed.append(name)
    known = find_by_validator(wrapper.validator)
    if known is not None:
        check_names(known, level, list(held))
        _check_values(context, known, level, held, changed)
    return tuple(f"{name}={value}" for name, value in held.items())


def _text(element: Any) -> str:
    return inner(element.arg).sval if present(element.arg) and kind(element.arg) == "string" else ""


def _check_values(
    context: Context, known: KnownWrapper, level: Level, held: Mapping[str, str], changed: list[str]
) -> None:
    if level == "column":
        for name in _FORCE:
            if name in held:
                read_boolean(name, held[name])
        return
    if level == "server" and known.name == WRAPPER:
        make_options("", held, {})
    if level != "table":
        return
    for name in known.files:
        if name in held:
            _check_file_access(context, known, name)
    if known.name == "file_fdw":
        _check_file_options(held)
    elif known.name == "parquet_fdw" and "filename" in held:
        split_paths(held["filename"])
    elif known.name == WRAPPER:
        _check_lake_options(held)
    elif known.stored:
        for name in ("max_size", "index"):
            if name in held and not held[name].isdecimal():
                message = f'invalid value for option "{name}": "{held[name]}"'
                raise SqlError.of("fdw_invalid_attribute_value", message)
    elif known.files and not any(name in held for name in known.files):
        message = f"{' or '.join(known.files)} is required for {known.name} foreign tables"
        raise SqlError.of("fdw_dynamic_parameter_value_needed", message)


def _check_file_access(context: Context, known: KnownWrapper, name: str) -> None:
    role = "pg_execute_server_program" if name == "program" else READERS
    if not has_privileges_of(context.transaction.catalog, context.session.user, role):
        message = f'permission denied to set the "{name}" option of a {known.name} foreign table'
        detail = f'Only roles with privileges of the "{role}" role may set this option.'
        raise SqlError.of("insufficient_privilege", message, detail=detail)
    if name == "program":
        raise FeatureNotSupported("the option program of file_fdw is not supported")


def _check_lake_options(held: Mapping[str, str]) -> None:
    if "address" not in held:
        message = "address is required for lake_fdw foreign tables"
        raise SqlError.of("fdw_dynamic_parameter_value_needed", message)
    if held.get("format", "csv") not in _LAKE_FORMATS:
        message = f'invalid value for option "format": "{held["format"]}"'
        hint = f"Formats are {', '.join(_LAKE_FORMATS)}."
        raise SqlError.of("fdw_invalid_attribute_value", message, hint=hint)


def _check_file_options(held: Mapping[str, str]) -> None:
    if "filename" not in held:
        message = "either filename or program is required for file_fdw foreign tables"
        raise SqlError.of("fdw_dynamic_parameter_value_needed", message)
    raw = [RawOption(name, value) for name, value in held.items() if name not in ("filename", *_FORCE)]
    try:
        options = validate_options(raw, reading=True)
    except OptionError as error:
        raise error.error from None
    if options.format not in ("text", "csv"):
        raise FeatureNotSupported(f"foreign tables over files in the format {options.format} are not supported")


def read_boolean(name: str, value: str) -> bool:
    """Returns a Boolean option's value; 42601."""
    found = {"true": True, "on": True, "1": True, "false": False, "off": False, "0": False}.get(value.lower())
    if found is None:
        raise SqlError.of("syntax_error", f"{name} requires a Boolean value")
    return found
