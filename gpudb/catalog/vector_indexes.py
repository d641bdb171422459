"""Indexes of vectors as the catalog has them: which of a table's indexes answers which distance of which column."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gpudb.catalog.tables import Column, Index, Table
from gpudb.vector_indexes.definition import PARAMETERS, IndexDefinition, Metric

VECTOR_METHODS = frozenset(PARAMETERS)
METRICS: Mapping[str, Metric] = {
    "l2_distance": "l2",
    "vector_negative_inner_product": "ip",
    "halfvec_negative_inner_product": "ip",
    "cosine_distance": "cosine",
    "l1_distance": "l1",
    "hamming_distance": "hamming",
    "jaccard_distance": "jaccard",
}
"""The distances that indexes are searched for, by the functions behind pgvector's operators."""
_CLASSES: Mapping[str, Metric] = {
    "vector_l2_ops": "l2",
    "vector_ip_ops": "ip",
    "vector_cosine_ops": "cosine",
    "vector_l1_ops": "l1",
    "halfvec_l2_ops": "l2",
    "halfvec_ip_ops": "ip",
    "halfvec_cosine_ops": "cosine",
    "halfvec_l1_ops": "l1",
    "bit_hamming_ops": "hamming",
    "bit_jaccard_ops": "jaccard",
}
_DEFAULT_CLASSES = {"vector": "vector_l2_ops", "halfvec": "halfvec_l2_ops", "bit": "bit_hamming_ops"}


def define_vector_index(table: Table, index: Index) -> tuple[Column, IndexDefinition] | None:
    """Returns the column of an index of vectors, and what is built for it.

    None for other indexes, and for those of expressions, of some of the rows, or of sparse vectors, which are only
    declared.
    """
    if index.method not in VECTOR_METHODS:
        return None
    name, operator_class, storage = index.columns[0], "", tuple[str, ...]()
    if index.details is not None:
        key = index.details.keys[0]
        if key.expression or index.details.predicate:
            return None
        name, operator_class, storage = key.column, key.operator_class, index.details.storage
    column = next(each for each in table.columns if each.name == name)
    dimensions = column.type.length
    metric = _CLASSES.get(operator_class or _DEFAULT_CLASSES.get(column.type.name, ""))
    if metric is None or dimensions is None:
        return None
    options = [re.fullmatch(r"(\w+)='[+]?(\d+)'", each) for each in storage]
    given = tuple(sorted((each[1], int(each[2])) for each in options if each is not None))
    return column, IndexDefinition(index.method, metric, dimensions, given, half=column.type.name == "halfvec")


def find_vector_index(table: Table, column: Column, function: str) -> tuple[Index, IndexDefinition] | None:
    """Returns the first index that answers a distance of a column, by the name of its function."""
    metric = METRICS.get(function)
    for constraint in table.constraints if metric is not None else ():
        if isinstance(constraint, Index):
            defined = define_vector_index(table, constraint)
            if defined is not None and defined[0] is column and defined[1].metric == metric:
                return constraint, defined[1]
    return None
