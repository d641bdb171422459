"""Settings of sessions: the default limits of their statements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from gpudb.config.fields import Within


@dataclass(frozen=True)
class SessionSettings:
    """The defaults of sessions' parameters."""

    max_running_statements: Annotated[int, Within(ge=0)] = 0
    """Default of `gpudb.max_running_statements`: how many statements of a role run at once, short ones aside. 0 is any
    number."""
    max_statement_timeout: str = "0"
    """Default of `gpudb.max_statement_timeout`: the longest `statement_timeout` of roles (`10min`). 0 is any."""
