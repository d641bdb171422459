"""Input validation: pg_input_is_valid and pg_input_error_info of texts that are not constant.

The function is gpudb's own; the hyphen in its name prevents calls from SQL.
"""

from __future__ import annotations

from gpudb.functions.library import Function
from gpudb.functions.registry import declare
from gpudb.types import TEXT

ERROR_OF = Function(0, "input-error", (TEXT, TEXT), TEXT.array, strict=True)
"""Returns message, detail, hint and SQLSTATE for a text and a type's name; NULL if the text is a value."""

declare("input-error", "pg_input_error({0}, {1}, current_setting('TimeZone'), pg_style())")
