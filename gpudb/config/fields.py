"""Limits of fields, and sizes in bytes, which pydantic reads where it is imported and nothing else does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler


@dataclass(frozen=True, slots=True)
class Within:
    """Limits of a number: at least `ge`, more than `gt`, at most `le`."""

    ge: float | None = None
    le: float | None = None
    gt: float | None = None

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> Any:
        """Returns the number's schema with these limits."""
        given = {"ge": self.ge, "le": self.le, "gt": self.gt}
        return {**handler(source), **{name: limit for name, limit in given.items() if limit is not None}}


@dataclass(frozen=True, slots=True)
class Matching:
    """A regular expression that a text matches."""

    pattern: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> Any:
        """Returns the text's schema with this pattern."""
        return {**handler(source), "pattern": self.pattern}


class Size:
    """A number of bytes, which a text may give in a unit."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> Any:
        """Returns the schema of pydantic's sizes, with PostgreSQL's units."""
        from pydantic import ByteSize
        from pydantic_core.core_schema import no_info_before_validator_function

        return no_info_before_validator_function(_normalize_unit, handler.generate_schema(ByteSize))


def _normalize_unit(value: object) -> object:
    """Size units: PostgreSQL's (`512MB` is 512 × 2²⁰ bytes) and IEC's (`GiB`). A plain number is bytes."""
    if isinstance(value, str):
        text = value.strip().lower()
        for unit in ("kb", "mb", "gb", "tb"):
            if text.endswith(unit):
                return text[:-2] + unit[0] + "ib"
    return value


Bytes = Annotated[int, Size()]
