"""Rows of pg_language but for `c` and `internal`, and of the functions that pg_language names for created languages."""

from __future__ import annotations

from collections.abc import Mapping

from gpudb.catalog.extensions import PLPGSQL
from gpudb.catalog.languages import Language, list_languages
from gpudb.catalog.model import FIRST_USER_OID, Catalog
from gpudb.catalog.postgres import oids
from gpudb.catalog.postgres.privilege_rows import show_acl
from gpudb.catalog.postgres.row_builder import SystemRows

_C = 13
_FUNCTIONS = (("call_handler", "language_handler", 2280, ()), ("inline_handler", "void", 2278, ("internal",)),
              ("validator", "void", 2278, ("oid",)))  # fmt: skip
_ARGUMENTS = {"internal": 2281, "oid": 26}


def add_languages(rows: SystemRows, catalog: Catalog, owners: Mapping[str, int]) -> None:
    """Adds the rows of all languages of a database; `owners` are OIDs of roles by name."""
    for each in list_languages(catalog.languages).values():
        traits, created = each.traits, each.oid >= FIRST_USER_OID
        handler, inline, validator = traits.functions
        rows.add(
            "pg_language", oid=each.oid, lanname=each.name, lanowner=owners.get(each.owner, oids.BOOTSTRAP_ROLE),
            lanispl=not traits.is_query, lanpltrusted=traits.trusted, lanplcallfoid=handler, laninline=inline,
            lanvalidator=validator, lanacl=show_acl(each.acl),
        )  # fmt: skip
        extension = catalog.extensions.get(each.name)
        if created and extension is not None:
            rows.depend(oids.PG_LANGUAGE, each.oid, 0, oids.PG_EXTENSION, extension.oid, 0, "e")
            rows.describe(oids.PG_LANGUAGE, each.oid, 0, each.comment or traits.comment)
            _add_functions(rows, each)
    rows.describe(oids.PG_LANGUAGE, oids.PLPGSQL_LANGUAGE, 0, PLPGSQL.comment)
    rows.depend(oids.PG_LANGUAGE, oids.PLPGSQL_LANGUAGE, 0, oids.PG_EXTENSION, PLPGSQL.oid, 0, "e")


def _add_functions(rows: SystemRows, language: Language) -> None:
    prefix = language.name.removesuffix("u")
    for oid, (suffix, result, result_oid, arguments) in zip(language.traits.functions, _FUNCTIONS, strict=True):
        if not oid:
            continue
        name, shown = f"{prefix}_{suffix}", ", ".join(arguments)
        rows.add(
            "pg_proc", oid=oid, proname=name, pronamespace=oids.CATALOG_SCHEMA, proowner=oids.BOOTSTRAP_ROLE,
            prolang=_C, procost=1.0, prorows=0.0, prokind="f", prosecdef=False, proacl=None, proleakproof=False,
            proisstrict=bool(arguments), proretset=False, provolatile="v", proparallel="u", pronargs=len(arguments),
            pronargdefaults=0, proargdefaults=None, provariadic=0, prorettype=result_oid,
            proargtypes=[_ARGUMENTS[each] for each in arguments], proallargtypes=None, proargmodes=None,
            proargnames=None, prosrc=name, prosqlbody=None,
        )  # fmt: skip
        rows.add("function_signatures", oid=oid, result=result, arguments=shown, identity_arguments=shown)
        rows.add(
            "procedure_names", oid=oid, proname=name, namespace=oids.CATALOG_SCHEMA, nspname="pg_catalog", name=name,
            arguments=shown,
        )  # fmt: skip
