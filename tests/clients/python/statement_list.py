"""Statements that a program sends: read from their file and run one by one, each a check of the matrix.

A file begins with the program's version. A statement follows a line `-- FEATURE: WHAT`. `{schema_sales}` and the like
stand for the OIDs of objects that `setup.sql` makes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).with_name("statements")

OIDS = """
    SELECT 'schema_' || nspname, oid FROM pg_namespace WHERE nspname = 'sales'
    UNION ALL SELECT 'relation_' || relname, oid FROM pg_class WHERE relnamespace = 'sales'::regnamespace
    UNION ALL SELECT 'type_' || typname, oid FROM pg_type WHERE typnamespace = 'sales'::regnamespace
    UNION ALL SELECT 'function_' || proname, oid FROM pg_proc WHERE pronamespace = 'sales'::regnamespace
    UNION ALL SELECT 'trigger_' || tgname, oid FROM pg_trigger WHERE NOT tgisinternal
"""
"""Names of placeholders and their OIDs, of the objects in the schema `sales`."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement, what the program wants to know by it, and the matrix's feature that it belongs to."""

    feature: str
    what: str
    text: str

    def fill(self, oids: dict[str, str]) -> str:
        """The text with OIDs in place of names in braces."""
        return re.sub(r"\{(\w+)\}", lambda found: oids.get(found[1], found[0]), self.text)


def read(program: str) -> tuple[str, list[Statement]]:
    """The version of a program and its statements."""
    version, *parts = (FOLDER / f"{program}.sql").read_text(encoding="utf-8").strip().split("\n\n")
    statements = []
    for part in parts:
        heading, _, text = part.partition("\n")
        feature, _, what = heading.removeprefix("-- ").partition(": ")
        statements.append(Statement(feature, what, text))
    return version.removeprefix("-- "), statements


def setup() -> Sequence[str]:
    """The statements that make the objects."""
    return (FOLDER / "setup.sql").read_text(encoding="utf-8").splitlines()


def run_all(program: str, check: Callable[..., object], version: Callable[[str], None]) -> None:
    """Makes the objects, then runs the statements as checks by psycopg; the version says how many passed."""
    import psycopg

    with psycopg.connect(autocommit=True) as connection:
        for text in setup():
            connection.execute(text.encode())
        oids = {str(name): str(oid) for name, oid in connection.execute(OIDS)}
        of, statements = read(program)
        passed = 0
        for each in statements:
            with check(each.feature, each.what):  # type: ignore[attr-defined]
                connection.execute(each.fill(oids).encode())
                passed += 1
    version(f"{of}: {passed} of {len(statements)} statements")
