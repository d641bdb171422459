"""What a child process serves: it builds the index of a data file."""

from __future__ import annotations

from gpudb.vector_indexes import graphs, lists
from gpudb.vector_indexes.definition import IndexDefinition
from gpudb.vector_indexes.rows import read_vectors


def build_index(path: str, field_id: int, definition: IndexDefinition, target: str) -> int:
    """Writes the index of a column of a Parquet file to the file `target`; returns the number of its rows."""
    build = graphs.build if definition.is_graph else lists.build
    return build(read_vectors(path, field_id, definition), definition, target)
