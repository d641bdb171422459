"""Languages that extensions bring: they come and go with their extension."""

from __future__ import annotations

from gpudb.catalog.languages import make_language
from gpudb.session.context import Context
from gpudb.session.objects.dependents import Dependent, refuse_or_report
from gpudb.session.routines.alter_drop import drop_routine


def create_language(context: Context, name: str) -> None:
    """Adds the language of an extension, which the current role then owns."""
    oid, catalog = context.transaction.catalog.allocate_oid()
    context.transaction.set_catalog(catalog.put(make_language(oid, name, context.session.user)))


def drop_language(context: Context, name: str, *, cascade: bool) -> None:
    """Drops the language of an extension; 2BP01 if there are routines in it, unless with CASCADE."""
    used = [each for each in context.transaction.catalog.routines.values() if each.language == name]
    found = [Dependent(f"{each.noun} {each.identity}", f"language {name}") for each in used]
    refuse_or_report(context, f"extension {name}", found, cascade=cascade)
    for each in used:
        if each.key in context.transaction.catalog.routines:
            drop_routine(context, each, cascade=cascade)
    catalog = context.transaction.catalog
    context.transaction.set_catalog(catalog.drop(catalog.languages[name]))
