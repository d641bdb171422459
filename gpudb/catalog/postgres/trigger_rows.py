"""Rows of pg_trigger, and the definitions that pg_get_triggerdef shows."""

from __future__ import annotations

from collections.abc import Sequence as Several
from functools import cache

import pyarrow as pa

from gpudb import pgdata
from gpudb.catalog.identifiers import quote_name
from gpudb.catalog.model import Catalog
from gpudb.catalog.pinned_routines import show_expression_names
from gpudb.catalog.postgres import oids
from gpudb.catalog.postgres.deparse_operations import deparse_expression
from gpudb.catalog.postgres.names import build_relation_names, map_schema_oids
from gpudb.catalog.postgres.row_builder import SystemRows
from gpudb.catalog.relations import View
from gpudb.catalog.routines import Routine
from gpudb.catalog.tables import Table
from gpudb.catalog.triggers import BEFORE, INSTEAD, UPDATE, Trigger

_TRIGGER_TYPE = "2279"
# The bits of pg_trigger.tgtype
_ROW = 1
_TIMINGS = {BEFORE: 2, INSTEAD: 64}
_EVENTS = {"INSERT": 4, "DELETE": 8, "UPDATE": 16, "TRUNCATE": 32}


def add_triggers(rows: SystemRows, relation: Table | View) -> None:
    """Adds the rows of a relation's triggers."""
    names = [column.name for column in relation.columns]
    for each in relation.triggers:
        numbers = [names.index(name) + 1 for name in each.columns]
        bits = _TIMINGS.get(each.timing, 0) | (_ROW if each.for_each_row else 0)
        rows.add(
            "pg_trigger", oid=each.oid, tgrelid=relation.oid, tgparentid=each.parent, tgname=each.name,
            tgfoid=each.function, tgtype=bits | sum(_EVENTS[event] for event in each.events),
            tgenabled=each.enabled, tgisinternal=False,
            tgconstrrelid=0, tgconstrindid=0, tgconstraint=0, tgdeferrable=False, tginitdeferred=False,
            tgnargs=len(each.arguments), tgattr=numbers,
            tgargs=b"".join(argument.encode() + b"\0" for argument in each.arguments),
            tgqual=None if each.condition is None else deparse_expression(each.condition),
            tgoldtable=each.old_table or None, tgnewtable=each.new_table or None,
        )  # fmt: skip
        rows.describe(oids.PG_TRIGGER, each.oid, 0, each.comment)
        rows.depend(oids.PG_TRIGGER, each.oid, 0, oids.PG_PROC, each.function, 0, "n")
        rows.depend(oids.PG_TRIGGER, each.oid, 0, oids.PG_CLASS, relation.oid, 0, "a")
        for number in numbers:
            rows.depend(oids.PG_TRIGGER, each.oid, 0, oids.PG_CLASS, relation.oid, number, "n")


def build_trigger_definitions(catalog: Catalog, path: Several[int]) -> pa.Table:
    """Returns the definition of each trigger, and its pretty-printed form, under a search path."""
    found: dict[str, list[object]] = {"oid": [], "definition": [], "pretty": []}
    holders = [each for each in catalog.relations.values() if isinstance(each, Table | View) and each.triggers]
    if holders:
        names = {row["oid"]: row for row in build_relation_names(catalog, path).to_pylist()}
        functions = _name_functions(catalog, path)
        for relation in holders:
            shown = names[relation.oid]
            for each in relation.triggers:
                function = functions.get(each.function, "")
                found["oid"].append(each.oid)
                found["definition"].append(_define(each, shown["qualified"], function, pretty=False))
                found["pretty"].append(_define(each, shown["name"], function, pretty=True))
    kinds = {"oid": pa.int64()}
    return pa.table({name: pa.array(values, type=kinds.get(name, pa.string())) for name, values in found.items()})


def _name_functions(catalog: Catalog, path: Several[int]) -> dict[int, str]:
    """Returns the names of trigger functions by OID, qualified if the path hides them."""
    schemas = map_schema_oids(catalog)
    rank = {namespace: position for position, namespace in reversed(list(enumerate(path)))}
    first: dict[str, Routine] = {}
    found = [each for each in catalog.routines.values() if not each.inputs]
    for each in sorted(found, key=lambda each: rank.get(schemas.get(each.schema, 0), len(rank))):
        if schemas.get(each.schema) in rank:
            first.setdefault(each.name, each)
    return _name_built_in() | {
        each.oid: quote_name(each.name)
        if first.get(each.name) is each
        else f"{quote_name(each.schema)}.{quote_name(each.name)}"
        for each in found
    }


@cache
def _name_built_in() -> dict[int, str]:
    """Returns the names of PostgreSQL's own trigger functions."""
    rows = pgdata.load_table("pg_proc").select("oid", "proname", "prorettype")
    return {int(oid): quote_name(name) for oid, name, result in rows if result == _TRIGGER_TYPE}


def _define(trigger: Trigger, relation: str, function: str, *, pretty: bool) -> str:
    events = []
    for event in ("INSERT", "DELETE", "UPDATE", "TRUNCATE"):
        if event in trigger.events:
            columns = f" OF {', '.join(map(quote_name, trigger.columns))}" if trigger.columns else ""
            events.append(event + (columns if event == UPDATE else ""))
    text = f"CREATE TRIGGER {quote_name(trigger.name)} {trigger.timing} {' OR '.join(events)} ON {relation} "
    if trigger.old_table or trigger.new_table:
        text += "REFERENCING "
        text += f"OLD TABLE AS {quote_name(trigger.old_table)} " if trigger.old_table else ""
        text += f"NEW TABLE AS {quote_name(trigger.new_table)} " if trigger.new_table else ""
    text += f"FOR EACH {'ROW' if trigger.for_each_row else 'STATEMENT'} "
    if trigger.condition is not None:
        condition = show_expression_names(trigger.condition) if pretty else deparse_expression(trigger.condition)
        text += f"WHEN ({condition}) "
    arguments = ", ".join("'" + each.replace("'", "''") + "'" for each in trigger.arguments)
    return f"{text}EXECUTE FUNCTION {function}({arguments})"
