"""The rows of gpudb_models: the models that the current role may score rows with.

What training read is for the owner alone: the texts of features, the query and the snapshots.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator, Mapping

from gpudb.catalog.models import PROBABILITY
from gpudb.catalog.tables import Table
from gpudb.session.authorization.privileges import get_current_role, is_owner, may_call
from gpudb.session.context import Context


def model_rows(context: Context) -> list[Mapping[str, object]]:
    """Returns the rows by schema and name."""
    return sorted(_iter_rows(context), key=lambda row: (row["schema"], row["model"]))


def _iter_rows(context: Context) -> Iterator[Mapping[str, object]]:
    catalog, role = context.transaction.catalog, get_current_role(context)
    for routine in catalog.routines.values():
        model = routine.model
        if model is None or model.output == PROBABILITY or not may_call(catalog, role, routine):
            continue
        content = catalog.find_relation_by_oid(model.content) if model.content else None
        owned = is_owner(catalog, role, routine)
        features = [
            {"name": each.name, "type": str(argument.type)}
            | ({} if each.categories is None or not owned else {"categories": list(each.categories)})
            for each, argument in zip(model.features, routine.inputs, strict=True)
        ]
        yield {
            "model": model.name,
            "schema": routine.schema,
            "owner": routine.owner,
            "function": routine.identity,
            "kind": model.kind,
            "task": model.task,
            "state": "READY",
            "version": model.version,
            "created": dt.datetime.fromisoformat(model.created),
            "rows": model.rows,
            "features": _to_json(features),
            "target": model.target or None,
            "labels": _to_json(list(model.labels)),
            "metrics": model.metrics,
            "parameters": _to_json(dict(model.parameters)),
            "library": model.library,
            "bytes": sum(file.bytes for file in content.files) if isinstance(content, Table) else 0,
            "snapshots": _to_json(dict(model.snapshots)) if owned else None,
            "training_query": model.query if owned else None,
        }


def _to_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
