"""Rows of pg_proc for user-defined functions and procedures, and their printed definitions."""

from __future__ import annotations

from gpudb.catalog.identifiers import quote_name
from gpudb.catalog.models import LANGUAGE
from gpudb.catalog.pinned_routines import show_names
from gpudb.catalog.postgres import oids
from gpudb.catalog.postgres.deparse import deparse_default, split_names
from gpudb.catalog.postgres.privilege_rows import show_acl
from gpudb.catalog.postgres.row_builder import SystemRows
from gpudb.catalog.routines import Aggregation, Argument, Routine
from gpudb.functions.text_literal import quote_literal
from gpudb.types import SqlType

_INTERNAL = 12
_LANGUAGES = {"sql": 14, "plpgsql": oids.PLPGSQL_LANGUAGE, LANGUAGE: _INTERNAL}
_MODES = {"o": "OUT ", "b": "INOUT ", "t": "", "v": "VARIADIC "}
_ITEMS = {"anyarray": SqlType("anyelement"), "anycompatiblearray": SqlType("anycompatible")}
_VOLATILITY = {"v": "", "s": "STABLE", "i": "IMMUTABLE"}
_PARALLEL = {"u": "", "r": "PARALLEL RESTRICTED", "s": "PARALLEL SAFE"}


def add_routine(
    rows: SystemRows, routine: Routine, namespace: int, owner: int, language: int, relation: str | None
) -> None:
    """Adds the rows of one routine, its signature and definition; `relation` is the table whose rows it returns."""
    inputs, all_arguments = routine.inputs, routine.arguments
    if routine.rows_of:
        all_arguments = tuple(argument for argument in all_arguments if argument.mode != "t")
    if routine.kind == "p":
        inputs = tuple(argument for argument in all_arguments if argument.mode in {"i", "b", "v"})
    extended = any(argument.mode != "i" for argument in all_arguments)
    named = any(argument.name for argument in all_arguments)
    last = next((argument.type for argument in all_arguments if argument.mode == "v"), None)
    variadic = None if last is None else _ITEMS.get(last.name) or last.element
    rows.add(
        "pg_proc", oid=routine.oid, proname=routine.name, pronamespace=namespace, proowner=owner,
        prolang=_INTERNAL if routine.kind == "a" else language,
        procost=routine.cost, prorows=routine.rows,
        prokind=routine.kind, prosecdef=routine.definer, proacl=show_acl(routine.acl),
        proconfig=[f"{name}={value}" for name, value in routine.settings] or None,
        proleakproof=routine.leakproof, proisstrict=routine.strict, proretset=routine.returns_set,
        provolatile=routine.volatility, proparallel=routine.parallel, pronargs=len(inputs),
        pronargdefaults=sum(argument.default is not None for argument in inputs),
        proargdefaults=", ".join(
            deparse_default(argument.default, _get_default_type(argument.type))
            for argument in inputs if argument.default
        ) or None,
        provariadic=variadic.declared_oid if variadic is not None else 0,
        prorettype=oids.row_type(routine.rows_of) if routine.rows_of else routine.result.declared_oid,
        proargtypes=[argument.type.declared_oid for argument in inputs],
        proallargtypes=[argument.type.declared_oid for argument in all_arguments] if extended else None,
        proargmodes=[argument.mode for argument in all_arguments] if extended else None,
        proargnames=[argument.name for argument in all_arguments] if named else None,
        prosrc=_get_source(routine), prosqlbody=_deparse_body(routine) if routine.standard else None,
    )  # fmt: skip
    arguments = ", ".join(
        _deparse_argument(argument, routine, defaults=True) for argument in all_arguments if argument.mode != "t"
    )
    identity = ", ".join(
        _deparse_argument(argument, routine, defaults=False) for argument in all_arguments if argument.mode != "t"
    )
    rows.add(
        "function_signatures", oid=routine.oid, result=_deparse_result(routine, relation), arguments=arguments,
        identity_arguments=identity,
    )  # fmt: skip
    types = ",".join(str(argument.type) for argument in inputs)
    rows.add(
        "procedure_names", oid=routine.oid, proname=routine.name, namespace=namespace, nspname=routine.schema,
        name=quote_name(routine.name), arguments=types,
    )  # fmt: skip
    if routine.aggregate is not None:
        _add_aggregate(rows, routine.oid, routine.aggregate)
    else:
        rows.add("function_definitions", oid=routine.oid, definition=_deparse_routine(routine, arguments, relation))
    rows.describe(oids.PG_PROC, routine.oid, 0, routine.comment)
    rows.depend(oids.PG_PROC, routine.oid, 0, oids.PG_NAMESPACE, namespace, 0, "n")
    if language >= oids.FIRST_USER:
        rows.depend(oids.PG_PROC, routine.oid, 0, oids.PG_LANGUAGE, language, 0, "n")
    if routine.model is not None and routine.model.content:
        # Internal to its model, whose bytes the table has: pg_dump leaves such functions out
        rows.depend(oids.PG_PROC, routine.oid, 0, oids.PG_CLASS, routine.model.content, 0, "i")


def _get_source(routine: Routine) -> str:
    if routine.kind == "a":
        return "aggregate_dummy"
    return "" if routine.standard else routine.body


def _add_aggregate(rows: SystemRows, oid: int, aggregation: Aggregation) -> None:
    rows.add(
        "pg_aggregate", aggfnoid=oid, aggkind="n", aggnumdirectargs=0, aggtransfn=aggregation.transition,
        aggfinalfn=aggregation.final, aggcombinefn=aggregation.combine, aggserialfn=0, aggdeserialfn=0, aggmtransfn=0,
        aggminvtransfn=0, aggmfinalfn=0, aggfinalextra=aggregation.final_extra, aggmfinalextra=False,
        aggfinalmodify="r", aggmfinalmodify="r",
        aggsortop=0, aggtranstype=aggregation.state.declared_oid, aggtransspace=0, aggmtranstype=0, aggmtransspace=0,
        agginitval=aggregation.initial, aggminitval=None,
    )  # fmt: skip


def _deparse_argument(argument: Argument, routine: Routine, *, defaults: bool) -> str:
    mode = "IN " if routine.kind == "p" and argument.mode == "i" else _MODES.get(argument.mode, "")
    name = f"{quote_name(argument.name)} " if argument.name else ""
    has_default = argument.default is not None and defaults
    default = (
        f" DEFAULT {deparse_default(argument.default, _get_default_type(argument.type))}"
        if has_default and argument.default
        else ""
    )
    return f"{mode}{name}{argument.type}{default}"


def _get_default_type(item: SqlType) -> SqlType:
    """Returns the type of a default; the default of a polymorphic parameter has no type yet."""
    return SqlType("unknown") if item.name.startswith("any") else item


def _deparse_result(routine: Routine, relation: str | None) -> str | None:
    if routine.kind == "p":
        return None
    if relation is not None:
        return f"{'SETOF ' if routine.returns_set else ''}{quote_name(relation)}"
    table = [argument for argument in routine.arguments if argument.mode == "t"]
    if table:
        return f"TABLE({', '.join(f'{quote_name(argument.name)} {argument.type}' for argument in table)})"
    return f"{'SETOF ' if routine.returns_set else ''}{routine.result}"


def _deparse_body(routine: Routine) -> str:
    return f"BEGIN ATOMIC\n {show_names(routine.body).replace(chr(10), chr(10) + ' ')};\nEND"


def _deparse_setting(name: str, value: str) -> str:
    """Returns a value as SET takes it: the names of a search path are constants each."""
    return ", ".join(map(quote_literal, split_names(value) if name == "search_path" else [value]))


def _deparse_routine(routine: Routine, arguments: str, relation: str | None) -> str:
    """Returns CREATE OR REPLACE …, as pg_get_functiondef prints it."""
    kind, tag = ("PROCEDURE", "$procedure$") if routine.kind == "p" else ("FUNCTION", "$function$")
    head = f"CREATE OR REPLACE {kind} {quote_name(routine.schema)}.{quote_name(routine.name)}({arguments})\n"
    result = _deparse_result(routine, relation)
    head += f" RETURNS {result}\n" if result is not None else ""
    head += f" LANGUAGE {routine.language}\n"
    words = [_VOLATILITY[routine.volatility], _PARALLEL[routine.parallel], "STRICT" if routine.strict else ""]
    words += ["SECURITY DEFINER" if routine.definer else ""]
    words += ["LEAKPROOF" if routine.leakproof else "", f"COST {routine.cost:g}" if routine.cost != 100 else ""]
    words += [f"ROWS {routine.rows:g}" if routine.returns_set and routine.rows != 1000 else ""]
    attributes = " ".join(word for word in words if word)
    head += f" {attributes}\n" if attributes else ""
    head += "".join(f" SET {quote_name(name)} TO {_deparse_setting(name, value)}\n" for name, value in routine.settings)
    if routine.standard:
        return head + _deparse_body(routine) + "\n"
    return f"{head}AS {tag}{routine.body}{tag}\n"
