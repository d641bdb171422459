"""ALTER VIEW … ALTER COLUMN … SET or DROP DEFAULT: the default of a column in INSERTs through the view."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gpudb.catalog.model import View
from gpudb.errors import UndefinedColumn
from gpudb.session.context import Context
from gpudb.session.objects.stored_expressions import default_expression
from gpudb.sql.bind.dml.targets import bind_declared_default


def set_view_default(context: Context, view: View, name: str, node: Any) -> None:
    """Sets the default of a view's column, or removes it if `node` is None; 42703."""
    column = next((each for each in view.columns if each.name == name), None)
    if column is None:
        raise UndefinedColumn(f'column "{name}" of relation "{view.name}" does not exist')
    text = None
    if node is not None:
        text = bind_declared_default(context.binder(), default_expression(context, node), column)
    columns = tuple(replace(each, default=text) if each is column else each for each in view.columns)
    catalog = context.transaction.catalog
    context.transaction.set_catalog(catalog.with_relation(replace(view, columns=columns)))
