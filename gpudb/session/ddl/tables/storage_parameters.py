"""Storage parameters, WITH (fillfactor = 70): PostgreSQL's are accepted without effect, since files have no pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.sql.parse.parser import inner

_KNOWN = frozenset("fillfactor parallel_workers toast_tuple_target vacuum_truncate vacuum_index_cleanup".split())
_PREFIXES = ("autovacuum_", "log_autovacuum_")


def check_storage_parameters(options: Sequence[Any]) -> None:
    """22023 for an unknown parameter; 0A000 for one that would change the semantics of a table."""
    for each in map(inner, options):
        name = each.defname
        if each.defnamespace not in ("", "toast"):
            message = f'unrecognized parameter namespace "{each.defnamespace}"'
            raise SqlError.of("invalid_parameter_value", message)
        if name in ("user_catalog_table", "location"):
            raise FeatureNotSupported(f'storage parameter "{name}" is not supported')
        if name == "oids":
            if each.HasField("arg") and str(inner(each.arg)).find("false") < 0:
                raise FeatureNotSupported("tables declared WITH OIDS are not supported")
        elif name not in _KNOWN and not name.startswith(_PREFIXES):
            raise SqlError.of("invalid_parameter_value", f'unrecognized parameter "{name}"')
