"""Expressions over the columns of a frame: lowered to values, deferred past the lazy frame, or evaluated on the host.

`lowered_frame` is the frame with its columns' values; `arrow` and `text_codes` convert columns. May import `functions`,
`values` and `error_codes` of `lower`.
"""

from __future__ import annotations
