"""Named prepared statements of a session, from Parse messages and from PREPARE."""

from __future__ import annotations

from gpudb.errors import SqlError
from gpudb.session.results import Prepared


class PreparedStatements(dict[str, Prepared]):
    """A session's prepared statements by name; 26000 for a name that is not in use."""

    def __missing__(self, name: str) -> Prepared:
        raise _make_unknown_error(name)

    def add(self, name: str, prepared: Prepared) -> None:
        """Adds a statement; 42P05 if the name is in use."""
        self.check_new(name)
        self[name] = prepared

    def check_new(self, name: str) -> None:
        """42P05 for a name that is in use."""
        if name in self:
            message = f'prepared statement "{name}" already exists'
            raise SqlError.of("duplicate_prepared_statement", message)

    def remove(self, name: str) -> None:
        """Removes a statement; 26000."""
        if self.pop(name, None) is None:
            raise _make_unknown_error(name)


def _make_unknown_error(name: str) -> SqlError:
    return SqlError.of("invalid_sql_statement_name", f'prepared statement "{name}" does not exist')
