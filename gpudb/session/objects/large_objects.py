"""Large objects as statements name them, by their OID."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gpudb.catalog.large_objects import LargeObject
from gpudb.catalog.model import Catalog
from gpudb.errors import SqlError
from gpudb.session.authorization.privileges import check_owner, get_current_role
from gpudb.session.context import Context


def find_large_object(catalog: Catalog, node: Any) -> LargeObject:
    """Returns the large object whose OID a parse tree's Integer or Float message is; 42704."""
    text = str(node.ival) if node.DESCRIPTOR.name == "Integer" else str(node.fval)
    found = catalog.large_objects.get(text)
    if found is None:
        raise SqlError.of("undefined_object", f"large object {text} does not exist")
    return found


def comment_on_large_object(context: Context, node: Any, text: str | None) -> None:
    """COMMENT ON LARGE OBJECT; 42704, 42501."""
    catalog = context.transaction.catalog
    found = find_large_object(catalog, node)
    check_owner(catalog, get_current_role(context), found)
    context.transaction.set_catalog(catalog.put(replace(found, comment=text)))
