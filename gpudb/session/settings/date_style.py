"""The setting DateStyle: a format and an order, of which SET may give one alone. As PostgreSQL 16's check_datestyle."""

from __future__ import annotations

from gpudb.errors import SqlError
from gpudb.values.datetime_style import FORMATS, ORDERS

_DEFAULT = f"{FORMATS[0]}, {ORDERS[0]}"


def check_date_style(value: str) -> str:
    """Returns the canonical text of a value that is set where there is none; 22023."""
    return merge_date_style(value, _DEFAULT, _DEFAULT)


def merge_date_style(value: str, current: str, default: str) -> str:
    """Returns the value of the setting after SET: what the text does not name stays as it is; 22023.

    The last word counts; two formats, or two orders, that differ are refused.
    """
    form: str | None = None
    order: str | None = None
    has_form = has_order = False
    for word in (each.strip() for each in value.split(",")):
        key = word.strip('"').lower()
        new_form, new_order = _read_word(key)
        if key == "default":
            of_default = default.split(", ")
            form, order = (form if has_form else of_default[0]), (order if has_order else of_default[1])
        elif new_form is not None:
            if has_form and new_form != form:
                raise _invalid(value, 'Conflicting "datestyle" specifications.')
            form, has_form = new_form, True
            if key.startswith("german") and not has_order:
                order = "DMY"
        elif new_order is not None:
            if has_order and new_order != order:
                raise _invalid(value, 'Conflicting "datestyle" specifications.')
            order, has_order = new_order, True
        else:
            raise _invalid(value, f'Unrecognized key word: "{key}".')
    before = current.split(", ")
    return f"{form or before[0]}, {order or before[1]}"


def _read_word(key: str) -> tuple[str | None, str | None]:
    """Returns the format and the order that a word names."""
    if key in {"iso", "sql"}:
        return key.upper(), None
    if key.startswith("postgres"):
        return "Postgres", None
    if key.startswith("german"):
        return "German", None
    if key == "ymd":
        return None, "YMD"
    if key == "dmy" or key.startswith("euro"):
        return None, "DMY"
    if key in {"mdy", "us"} or key.startswith("noneuro"):
        return None, "MDY"
    return None, None


def _invalid(value: str, detail: str) -> SqlError:
    return SqlError.of("invalid_parameter_value", f'invalid value for parameter "DateStyle": "{value}"', detail=detail)
