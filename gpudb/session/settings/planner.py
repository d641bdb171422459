"""PostgreSQL's settings of its planner, of operator memory and of VACUUM: accepted and shown, without effect.

They choose among plans with the same result, or when pages are cleaned; gpudb's planner, engines and storage have
settings of their own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from gpudb import pgdata
from gpudb.errors import SqlError
from gpudb.session.settings.checks import Setting, boolean, choice, invalid_value

_SECTIONS = ("Query Tuning /",)
_NAMES = frozenset(
    """work_mem maintenance_work_mem hash_mem_multiplier max_parallel_workers max_parallel_workers_per_gather
    max_parallel_maintenance_workers parallel_leader_participation debug_parallel_query effective_io_concurrency
    maintenance_io_concurrency jit_debugging_support temp_buffers""".split()
)
_SIZES = {"B": 1, "kB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
_TIMES = {"us": 0.001, "ms": 1, "s": 1000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
_UNITS = {"kB": 1 << 10, "8kB": 8 << 10, "ms": 1}


def planner_settings() -> tuple[Setting, ...]:
    """The settings, with PostgreSQL's defaults and bounds."""
    return tuple(_setting(row) for row in pgdata.load_table("settings").rows() if _is_planner_setting(row))


def _is_planner_setting(row: Mapping[str, object]) -> bool:
    return row["context"] == "user" and (
        row["name"] in _NAMES or str(row["name"]).startswith("vacuum_") or str(row["category"]).startswith(_SECTIONS)
    )


def _setting(row: Mapping[str, object]) -> Setting:
    name, kind = str(row["name"]), str(row["vartype"])
    words = [str(row[key]) for key in ("short_desc", "boot_val")]
    match kind:
        case "bool":
            check = boolean(name)
        case "enum":
            check = choice(name, *_enum_values(row["enumvals"]))
        case _:
            check = _Number(name, row).check
    return Setting(name, check(words[1]), words[0], check, kind=kind)


def _enum_values(values: object) -> list[str]:
    import json

    listed: list[str] = json.loads(str(values))
    return listed


class _Number:
    """A number within bounds, in the setting's unit or with a unit suffix."""

    def __init__(self, name: str, row: Mapping[str, object]) -> None:
        self._name, self._whole = name, row["vartype"] == "integer"
        self._low, self._high = float(str(row["min_val"])), float(str(row["max_val"]))
        self._bounds = f"{row['min_val']} .. {row['max_val']}"
        self._unit = _UNITS.get(str(row["unit"]))
        self._scales: Mapping[str, float] = _TIMES if row["unit"] == "ms" else _SIZES

    def check(self, text: str) -> str:
        """Returns the number as SHOW prints it."""
        found = re.fullmatch(r"\s*([+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)\s*([A-Za-z]*)\s*", text)
        if found is None or (found[2] and (self._unit is None or found[2] not in self._scales)):
            raise invalid_value(self._name, text)
        number = float(found[1])
        if found[2] and self._unit is not None:
            number = number * self._scales[found[2]] / self._unit
        if self._whole:
            number = round(number)
        if not self._low <= number <= self._high:
            unit = " ms" if self._scales is _TIMES else ""
            message = f'{number:g}{unit} is outside the valid range for parameter "{self._name}" ({self._bounds})'
            raise SqlError.of("invalid_parameter_value", message)
        return self._format(number)

    def _format(self, number: float) -> str:
        if self._unit is None or number <= 0:
            return str(int(number)) if self._whole else f"{number:g}"
        if self._scales is _TIMES:
            return f"{number:g}ms" if number.is_integer() else f"{number * 1000:g}us"
        size = int(number) * self._unit
        unit = next(each for each in ("TB", "GB", "MB", "kB") if size % _SIZES[each] == 0)
        return f"{size // _SIZES[unit]}{unit}"


def base_units(text: str, unit: str) -> str:
    """A size as SHOW prints it, in the unit of pg_settings."""
    found = re.fullmatch(r"(\d+)(kB|MB|GB|TB)", text)
    return text if found is None else str(int(found[1]) * _SIZES[found[2]] // _UNITS[unit])
