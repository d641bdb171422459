"""Types that users made as rows of pg_type, pg_enum, pg_class, pg_attribute and pg_constraint."""

from __future__ import annotations

from gpudb.catalog.model import TypeDefinition
from gpudb.catalog.postgres import oids
from gpudb.catalog.postgres.collect import Rows

_FUNCTIONS = {
    "e": ("enum_in", "enum_out", "enum_recv", "enum_send"),
    "c": ("record_in", "record_out", "record_recv", "record_send"),
}


def add_type(rows: Rows, made: TypeDefinition, namespace: int, owner: int) -> None:
    """One type, its array's, and what it is made of."""
    user = made.user
    shared = {"typnamespace": namespace, "typowner": owner}
    reader, writer, receiver, sender = _FUNCTIONS[user.kind]
    small = user.kind == "e"
    rows.add(
        "pg_type", oid=user.oid, typname=made.name, typtype=user.kind, typcategory=user.kind.upper(),
        typlen=4 if small else -1, typbyval=small, typalign="i" if small else "d", typstorage="p" if small else "x",
        typarray=user.array_oid, typinput=reader, typoutput=writer, typreceive=receiver, typsend=sender, **shared,
    )  # fmt: skip
    rows.add(
        "pg_type", oid=user.array_oid, typname=f"_{made.name}"[:63], typtype="b", typcategory="A", typelem=user.oid,
        typlen=-1, typalign="i" if small else "d", typstorage="x", typsubscript="array_subscript_handler",
        typinput="array_in", typoutput="array_out", typreceive="array_recv", typsend="array_send",
        typanalyze="array_typanalyze", **shared,
    )  # fmt: skip
    rows.depend(oids.PG_TYPE, user.array_oid, 0, oids.PG_TYPE, user.oid, 0, "i")
    rows.depend(oids.PG_TYPE, user.oid, 0, oids.PG_NAMESPACE, namespace, 0, "n")
    rows.describe(oids.PG_TYPE, user.oid, 0, made.comment)
    for place, label in enumerate(user.labels, 1):
        rows.add("pg_enum", oid=label.oid, enumtypid=user.oid, enumsortorder=float(place), enumlabel=label.name)
