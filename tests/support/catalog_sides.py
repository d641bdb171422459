"""A server with the objects of the catalog tests, and names for the OIDs of those objects."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.support.oracle.wire import Outcome, WireClient

SETUP = (Path(__file__).parents[1] / "catalog" / "setup.sql").read_text(encoding="utf-8").splitlines()

# Every kind of user object that has an OID, labelled by a name that both servers share.
_LABELS = """
    SELECT c.oid, 'relation ' || n.nspname || '.' || c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
    UNION ALL SELECT t.oid, 'type ' || n.nspname || '.' || t.typname FROM pg_type t JOIN pg_namespace n ON n.oid = typnamespace
    UNION ALL SELECT oid, 'schema ' || nspname FROM pg_namespace
    UNION ALL SELECT oid, 'role ' || rolname FROM pg_roles
    UNION ALL SELECT oid, 'constraint ' || conname FROM pg_constraint
    UNION ALL SELECT oid, 'default ' || adrelid::regclass::text || ' ' || adnum::text FROM pg_attrdef
    UNION ALL SELECT oid, 'rule of ' || ev_class::regclass::text FROM pg_rewrite
"""

FIRST_OWN = 12000


@dataclass(frozen=True)
class Side:
    """A server: a session, its connection string, and the labels of its user objects' OIDs."""

    client: WireClient
    dsn: str
    labels: dict[str, str]
    oids: dict[str, str]

    def run(self, sql: str) -> Outcome:
        """Runs a statement after putting this server's OIDs into its placeholders."""
        return self.client.execute(sql.format(**self.oids))


def open_side(dsn: str) -> Side:
    """Creates the objects of `setup.sql` on a server and reads their OIDs."""
    client = WireClient(dsn)
    for sql in SETUP:
        outcome = client.execute(sql)
        assert not outcome.failed, f"{sql}: {outcome.sqlstate} {outcome.message}"
    labels = client.execute(_LABELS)
    assert not labels.failed, f"{labels.sqlstate} {labels.message}"
    named = {label: oid for oid, label in labels.rows if oid is not None and label is not None}
    oids = {name: named[f"relation public.{name}"] for name in ("customers", "v_cust")}
    own = {oid: label for label, oid in named.items() if int(oid) >= FIRST_OWN}
    return Side(client, dsn, own, oids)
