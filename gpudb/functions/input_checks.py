"""What reading a text as a value of a type ends in: pg_input_is_valid and pg_input_error_info of any texts.

The function is gpudb's own; a hyphen in its name keeps it from being called as one.
"""

from __future__ import annotations

from gpudb.functions.library import Function
from gpudb.functions.registry import declare
from gpudb.types import TEXT

ERROR_OF = Function(0, "input-error", (TEXT, TEXT), TEXT.array, strict=True)
"""Of a text and a type's name the error's message, detail, hint and SQLSTATE; NULL where the text is a value."""

declare("input-error", "pg_input_error({0}, {1}, current_setting('TimeZone'))")
