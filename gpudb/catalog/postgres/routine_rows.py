"""Rows of pg_proc for user-defined functions and procedures, and their printed definitions."""

from __future__ import annotations

from gpudb.catalog.model import Aggregation, Argument, Routine
from gpudb.catalog.postgres import oids
from gpudb.catalog.postgres.deparse import default_text, quoted_name
from gpudb.catalog.postgres.row_builder import Rows
from gpudb.types import SqlType

_SQL_LANGUAGE = 14
_INTERNAL = 12
_MODES = {"o": "OUT ", "b": "INOUT ", "t": "", "v": "VARIADIC "}
_ITEMS = {"anyarray": SqlType("anyelement"), "anycompatiblearray": SqlType("anycompatible")}
_VOLATILITY = {"v": "", "s": "STABLE", "i": "IMMUTABLE"}
_PARALLEL = {"u": "", "r": "PARALLEL RESTRICTED", "s": "PARALLEL SAFE"}


def add_routine(rows: Rows, routine: Routine, namespace: int, owner: int, relation: str | None) -> None:
    """Adds the rows of one routine, its signature and definition; `relation` is the table whose rows it returns."""
    inputs, every = routine.inputs, routine.arguments
    if routine.rows_of:
        every = tuple(each for each in every if each.mode != "t")
    if routine.kind == "p":
        inputs = tuple(each for each in every if each.mode in {"i", "b", "v"})
    extended = any(each.mode != "i" for each in every)
    named = any(each.name for each in every)
    last = next((each.type for each in every if each.mode == "v"), None)
    variadic = None if last is None else _ITEMS.get(last.name) or last.element
    rows.add(
        "pg_proc", oid=routine.oid, proname=routine.name, pronamespace=namespace, proowner=owner,
        prolang=_INTERNAL if routine.kind == "a" else _SQL_LANGUAGE, procost=routine.cost, prorows=routine.rows,
        prokind=routine.kind,
        proleakproof=routine.leakproof, proisstrict=routine.strict, proretset=routine.returns_set,
        provolatile=routine.volatility, proparallel=routine.parallel, pronargs=len(inputs),
        pronargdefaults=sum(each.default is not None for each in inputs),
        provariadic=variadic.declared_oid if variadic is not None else 0,
        prorettype=oids.row_type(routine.rows_of) if routine.rows_of else routine.result.declared_oid,
        proargtypes=[each.type.declared_oid for each in inputs],
        proallargtypes=[each.type.declared_oid for each in every] if extended else None,
        proargmodes=[each.mode for each in every] if extended else None,
        proargnames=[each.name for each in every] if named else None,
        prosrc=_source(routine), prosqlbody=_standard(routine) if routine.standard else None,
    )  # fmt: skip
    arguments = ", ".join(_argument(each, routine, defaults=True) for each in every if each.mode != "t")
    identity = ", ".join(_argument(each, routine, defaults=False) for each in every if each.mode != "t")
    rows.add(
        "function_signatures", oid=routine.oid, result=_result(routine, relation), arguments=arguments,
        identity_arguments=identity,
    )  # fmt: skip
    types = ",".join(str(each.type) for each in inputs)
    rows.add(
        "procedure_names", oid=routine.oid, proname=routine.name, namespace=namespace, nspname=routine.schema,
        name=quoted_name(routine.name), arguments=types,
    )  # fmt: skip
    if routine.aggregate is not None:
        _add_aggregate(rows, routine.oid, routine.aggregate)
    else:
        rows.add("function_definitions", oid=routine.oid, definition=_definition(routine, arguments, relation))
    rows.describe(oids.PG_PROC, routine.oid, 0, routine.comment)
    rows.depend(oids.PG_PROC, routine.oid, 0, oids.PG_NAMESPACE, namespace, 0, "n")


def _source(routine: Routine) -> str:
    if routine.kind == "a":
        return "aggregate_dummy"
    return "" if routine.standard else routine.body


def _add_aggregate(rows: Rows, oid: int, how: Aggregation) -> None:
    rows.add(
        "pg_aggregate", aggfnoid=oid, aggkind="n", aggnumdirectargs=0, aggtransfn=how.transition,
        aggfinalfn=how.final, aggcombinefn=how.combine, aggserialfn=0, aggdeserialfn=0, aggmtransfn=0, aggminvtransfn=0,
        aggmfinalfn=0, aggfinalextra=how.final_extra, aggmfinalextra=False, aggfinalmodify="r", aggmfinalmodify="r",
        aggsortop=0, aggtranstype=how.state.declared_oid, aggtransspace=0, aggmtranstype=0, aggmtransspace=0,
        agginitval=how.initial, aggminitval=None,
    )  # fmt: skip


def _argument(argument: Argument, routine: Routine, *, defaults: bool) -> str:
    mode = "IN " if routine.kind == "p" and argument.mode == "i" else _MODES.get(argument.mode, "")
    name = f"{quoted_name(argument.name)} " if argument.name else ""
    given = argument.default is not None and defaults
    default = f" DEFAULT {default_text(argument.default, _shown(argument.type))}" if given and argument.default else ""
    return f"{mode}{name}{argument.type}{default}"


def _shown(item: SqlType) -> SqlType:
    """Returns the type of a default; the default of a polymorphic parameter has no type yet."""
    return SqlType("unknown") if item.name.startswith("any") else item


def _result(routine: Routine, relation: str | None) -> str | None:
    if routine.kind == "p":
        return None
    if relation is not None:
        return f"{'SETOF ' if routine.returns_set else ''}{quoted_name(relation)}"
    table = [each for each in routine.arguments if each.mode == "t"]
    if table:
        return f"TABLE({', '.join(f'{quoted_name(each.name)} {each.type}' for each in table)})"
    return f"{'SETOF ' if routine.returns_set else ''}{routine.result}"


def _standard(routine: Routine) -> str:
    return f"BEGIN ATOMIC\n {routine.body.replace(chr(10), chr(10) + ' ')};\nEND"


def _definition(routine: Routine, arguments: str, relation: str | None) -> str:
    """Returns CREATE OR REPLACE …, as pg_get_functiondef prints it."""
    what, tag = ("PROCEDURE", "$procedure$") if routine.kind == "p" else ("FUNCTION", "$function$")
    head = f"CREATE OR REPLACE {what} {quoted_name(routine.schema)}.{quoted_name(routine.name)}({arguments})\n"
    result = _result(routine, relation)
    head += f" RETURNS {result}\n" if result is not None else ""
    head += " LANGUAGE sql\n"
    words = [_VOLATILITY[routine.volatility], _PARALLEL[routine.parallel], "STRICT" if routine.strict else ""]
    words += ["LEAKPROOF" if routine.leakproof else "", f"COST {routine.cost:g}" if routine.cost != 100 else ""]
    words += [f"ROWS {routine.rows:g}" if routine.returns_set and routine.rows != 1000 else ""]
    said = " ".join(word for word in words if word)
    head += f" {said}\n" if said else ""
    if routine.standard:
        return head + _standard(routine) + "\n"
    return f"{head}AS {tag}{routine.body}{tag}\n"
