"""Rows of pg_available_extensions and pg_available_extension_versions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpudb.catalog.extensions import AVAILABLE

Row = Mapping[str, object]


def extension_rows() -> Sequence[Row]:
    """What CREATE EXTENSION takes."""
    return [
        {"name": each.name, "default_version": each.version, "comment": each.comment} for each in AVAILABLE.values()
    ]


def version_rows() -> Sequence[Row]:
    """The versions of these, one each."""
    return [
        {
            "name": each.name, "version": each.version, "superuser": True, "trusted": False,
            "relocatable": each.relocatable, "comment": each.comment,
        }
        for each in AVAILABLE.values()
    ]  # fmt: skip
