"""The rules file: loaded when the server starts, and again on request; a broken file leaves the rules as they are."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gpudb.errors import SqlError
from gpudb.server.wire.hba.matching import ConnectionRequest, IsMember, find_rule
from gpudb.server.wire.hba.rules import Rule, RuleError, parse_rule
from gpudb.server.wire.hba.tokens import Field, split_lines

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class InvalidLine:
    """A line that is no rule, and why."""

    line: int
    cause: str


class HbaFile:
    """The rules of a file. Thread-safe: `reload` replaces them all at once."""

    def __init__(self, path: Path, *, verifies_certificates: bool = False) -> None:
        """Loads the file; F0000 naming the line and the cause if it is not valid, cannot be read, or has no rule.

        `verifies_certificates` is whether the server can check clients' certificates.
        """
        self.path = path
        self._verifies_certificates = verifies_certificates
        self._rules = self._load()

    def find(self, request: ConnectionRequest, is_member: IsMember) -> Rule | None:
        """Returns the first rule that matches a connection, or None."""
        return find_rule(self._rules, request, is_member)

    def reload(self) -> bool:
        """Loads the file again; logs why, and keeps the rules, if it is not valid. Returns whether it was loaded."""
        try:
            self._rules = self._load()
        except SqlError as error:
            detail = f" ({error.detail})" if error.detail else ""
            _LOG.error("%s%s; the rules stay as they were", error.message, detail)
            return False
        return True

    def read_rows(self) -> list[Mapping[str, object]]:
        """Returns the rows of the view pg_hba_file_rules: the file's lines as they are now, valid or not.

        F0000 if the file cannot be read.
        """
        rows: list[Mapping[str, object]] = []
        numbers = itertools.count(1)
        for each in self._parse():
            place = {"file_name": str(self.path), "line_number": each.line}
            if isinstance(each, InvalidLine):
                rows.append({**place, "error": each.cause})
            else:
                rows.append({**place, "rule_number": next(numbers), **_describe(each)})
        return rows

    def _load(self) -> tuple[Rule, ...]:
        parsed = self._parse()
        causes = [
            f'line {each.line} of configuration file "{self.path}": {each.cause}'
            for each in parsed
            if isinstance(each, InvalidLine)
        ]
        if causes:
            detail = "\n".join(causes[1:]) or None
            raise SqlError.of("config_file_error", causes[0], detail=detail)
        if not parsed:
            raise SqlError.of("config_file_error", f'configuration file "{self.path}" contains no entries')
        return tuple(each for each in parsed if isinstance(each, Rule))

    def _parse(self) -> list[Rule | InvalidLine]:
        try:
            text = self.path.read_text(encoding="utf-8")
        except OSError as error:
            message = f'could not open file "{self.path}": {error.strerror}'
            raise SqlError.of("config_file_error", message) from error
        except UnicodeDecodeError as error:
            message = f'file "{self.path}" is not encoded in UTF-8: {error}'
            raise SqlError.of("config_file_error", message) from error
        found: list[Rule | InvalidLine] = []
        for line in split_lines(text):
            try:
                found.append(parse_rule(line, verifies_certificates=self._verifies_certificates))
            except RuleError as error:
                found.append(InvalidLine(line.number, str(error)))
        return found


def _describe(rule: Rule) -> Mapping[str, object]:
    return {
        "type": rule.type,
        "database": _show(rule.databases),
        "user_name": _show(rule.roles),
        "address": None if rule.address is None else str(rule.address),
        "netmask": None if rule.mask is None else str(rule.mask),
        "auth_method": rule.method,
        "options": list(rule.options) or None,
    }


def _show(field: Field) -> list[str]:
    return [word.text for word in field]
