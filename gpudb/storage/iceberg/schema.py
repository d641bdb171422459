"""Maps SQL types to Iceberg types, and a table's definition to an Iceberg schema with properties.

What Iceberg cannot express (smallint, varchar(3), json, int4range, …) is in the table property `gpudb.type.FIELD_ID`;
other engines read the same files by the Iceberg type alone. Importing pyiceberg takes over a second, so this module is
not imported before a durable table is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadataV2
from pyiceberg.transforms import BucketTransform
from pyiceberg.typedef import Record
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from gpudb.catalog.distribution import BUCKETS, NULLS
from gpudb.catalog.tables import Column, DataFile, Table
from gpudb.storage.iceberg.column_layout import member_ids
from gpudb.types import SqlType
from gpudb.types.facts import GEOMETRIC

TYPE_PROPERTY = "gpudb.type."

_TYPES: dict[str, IcebergType] = {
    "bool": BooleanType(),
    "int2": IntegerType(),
    "int4": IntegerType(),
    "int8": LongType(),
    "float4": FloatType(),
    "float8": DoubleType(),
    "text": StringType(),
    "varchar": StringType(),
    "bpchar": StringType(),
    "json": StringType(),
    "jsonb": StringType(),
    "macaddr": StringType(),
    "macaddr8": StringType(),
    "bit": StringType(),
    "varbit": StringType(),
    "jsonpath": StringType(),
    "tsvector": StringType(),
    "tsquery": StringType(),
    "name": StringType(),
    "oid": LongType(),
    "bytea": BinaryType(),
    "matrix": BinaryType(),
    **dict.fromkeys(GEOMETRIC, BinaryType()),
    "halfvec": BinaryType(),
    "sparsevec": BinaryType(),
    "date": DateType(),
    "time": TimeType(),
    "timestamp": TimestampType(),
    "timestamptz": TimestamptzType(),
    "uuid": UUIDType(),
}

# SQL types that the Iceberg type implies; every other type needs its property.
_IMPLIED_TYPES: dict[type[IcebergType], str] = {
    BooleanType: "bool",
    IntegerType: "int4",
    LongType: "int8",
    FloatType: "float4",
    DoubleType: "float8",
    StringType: "text",
    BinaryType: "bytea",
    DateType: "date",
    TimeType: "time",
    TimestampType: "timestamp",
    TimestamptzType: "timestamptz",
    UUIDType: "uuid",
}


def iceberg_type(type: SqlType, field_id: int) -> IcebergType:
    """Returns the Iceberg type of a column with this field id; members take the following ids (see `column_layout`)."""
    if type.item is not None:
        element = iceberg_type(type.item, field_id + 1)
        return ListType(element_id=field_id + 1, element=element, element_required=False)
    if type.fields:
        ids = zip(type.arrow, type.fields, member_ids(type, field_id), strict=True)
        parts = ((id, each.name, iceberg_type(item, id)) for each, (_, item), id in ids)
        return StructType(*(NestedField(id, name, kind, required=False) for id, name, kind in parts))
    if type.name == "interval":
        return StructType(
            NestedField(field_id + 1, "months", IntegerType(), required=False),
            NestedField(field_id + 2, "days", IntegerType(), required=False),
            NestedField(field_id + 3, "microseconds", LongType(), required=False),
        )
    if type.name in {"inet", "cidr"} or (type.name == "numeric" and type.wide):
        return StructType(
            NestedField(field_id + 1, "text", StringType(), required=False),
            NestedField(field_id + 2, "key", BinaryType(), required=False),
        )
    if type.name == "vector":
        return ListType(element_id=field_id + 1, element=FloatType(), element_required=False)
    if type.name == "money":
        return DecimalType(19, 2)
    if type.name == "timetz":
        return StructType(
            NestedField(field_id + 1, "time", TimeType(), required=False),
            NestedField(field_id + 2, "east", IntegerType(), required=False),
        )
    if (subtype := type.subtype) is not None:
        bound: IcebergType = DecimalType(*subtype.numeric_digits) if subtype.is_carried else iceberg_type(subtype, 0)
        kinds = {"empty": BooleanType(), "lower": bound, "upper": bound}
        kinds |= {"lower_inc": BooleanType(), "upper_inc": BooleanType()}
        kinds |= {"scales": IntegerType()} if type.is_carried else {}
        named = enumerate(kinds.items(), field_id + 1)
        return StructType(*(NestedField(id, name, kind, required=False) for id, (name, kind) in named))
    if type.name == "numeric":
        decimal: IcebergType = DecimalType(*type.numeric_digits)
        if not type.is_carried:
            return decimal
        return StructType(
            NestedField(field_id + 1, "v", decimal, required=False),
            NestedField(field_id + 2, "s", IntegerType(), required=False),
        )
    return _TYPES["text" if type.user is not None else type.name]


def iceberg_schema(table: Table, schema_id: int) -> Schema:
    """Returns the table's columns as an Iceberg schema; a primary key becomes its identifier fields."""
    fields = [
        NestedField(c.field_id, c.name, iceberg_type(c.type, c.field_id), required=c.not_null, doc=c.comment)
        for c in table.columns
    ]
    # Iceberg allows only primitive types other than floats as identifiers, and requires all columns of a key.
    keys = [field for field, c in zip(fields, table.columns) if c.name in table.primary_key]
    fit = all(
        f.required and f.field_type.is_primitive and not isinstance(f.field_type, FloatType | DoubleType) for f in keys
    )
    return Schema(*fields, schema_id=schema_id, identifier_field_ids=[f.field_id for f in keys] if fit else [])


def partition_spec(table: Table, known: Sequence[PartitionSpec]) -> PartitionSpec:
    """Returns the partition spec of the table's files: by the buckets of its distribution column, or unpartitioned.

    It is one of the `known` specs, of which the first is the unpartitioned one, or a new one.
    """
    column = table.hashed_by
    if column is None:
        return known[0]
    by: BucketTransform[Any] = BucketTransform(BUCKETS)
    for spec in known[1:]:
        if spec.fields[0].source_id == column.field_id and spec.fields[0].transform == by:
            return spec
    field = PartitionField(column.field_id, 1000 + len(known) - 1, by, "gpudb_bucket")
    return PartitionSpec(field, spec_id=known[-1].spec_id + 1)


def partition_record(file: DataFile) -> Record:
    """Returns a file's partition values; NULL is a partition of its own."""
    return Record() if file.bucket is None else Record(None if file.bucket == NULLS else file.bucket)


def type_properties(columns: tuple[Column, ...]) -> dict[str, str]:
    """Returns the properties for SQL types beyond Iceberg's: `NAME` or `NAME MODIFIER`."""
    found = {}
    for column in columns:
        type = column.type
        if type.user is not None or type.domain is not None:
            found[f"{TYPE_PROPERTY}{column.field_id}"] = str(type)
        elif implied_sql_type(iceberg_type(type, column.field_id)) != SqlType(type.name, type.modifier):
            found[f"{TYPE_PROPERTY}{column.field_id}"] = f"{type.name} {type.modifier}".removesuffix(" -1")
    return found


def implied_sql_type(type: IcebergType) -> SqlType | None:
    """Returns the SQL type that an Iceberg type implies; None if there is none."""
    if isinstance(type, DecimalType):
        return SqlType("numeric", ((type.precision << 16) | type.scale) + 4)
    if isinstance(type, ListType):
        element = implied_sql_type(type.element_type)
        return None if element is None or element.element is not None else element.array
    name = _IMPLIED_TYPES.get(type.__class__, "")
    return SqlType(name) if name else None


@dataclass(frozen=True, slots=True)
class Layout:
    """The schema and the partition spec of a version; `changed` if one is not that of the version before."""

    schema: Schema
    spec: PartitionSpec
    specs: list[PartitionSpec]
    changed: bool

    @classmethod
    def of(cls, old: TableMetadataV2 | None, table: Table) -> Layout:
        """Keeps what the version before has, and adds what it lacks."""
        if old is None:
            specs = [UNPARTITIONED_PARTITION_SPEC]
        else:
            specs = sorted(old.partition_specs, key=lambda each: each.spec_id)
        spec = partition_spec(table, specs)
        specs += [spec] if spec not in specs else []
        schema = iceberg_schema(table, 0)
        if old is None:
            return cls(schema, spec, specs, changed=True)
        current = old.schema()
        changed = current.fields != schema.fields or current.identifier_field_ids != schema.identifier_field_ids
        # A snapshot's definition is found by its schema, and says how the rows of its files are distributed.
        changed = changed or spec.spec_id != old.default_spec_id
        schema = iceberg_schema(table, max(each.schema_id for each in old.schemas) + 1) if changed else current
        return cls(schema, spec, specs, changed)
