"""CREATE, ALTER, DROP and COMMENT of schemas, tables and views, and CREATE TABLE AS."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.model import Catalog, Column, Distribution, Relation, Schema, Table, View
from gpudb.errors import DuplicateTable, FeatureNotSupported, SqlError, UndefinedTable
from gpudb.session.context import Context, command, handles
from gpudb.session.results import Result
from gpudb.sql.bind.changes import bind_default
from gpudb.sql.bind.from_clause import SYSTEM_SCHEMAS
from gpudb.sql.bind.select import bind_query
from gpudb.sql.bind.type_names import type_name
from gpudb.sql.bound import Cast, Derived, OutputColumn, Query, Scan, Select
from gpudb.sql.bound import Column as Reference
from gpudb.sql.parse import deparse, inner, kind, parse, strings
from gpudb.sql.rewrite.qualify_names import qualified
from gpudb.sql.traverse import walk
from gpudb.types import COLUMN_TYPES, TEXT, SqlType

if TYPE_CHECKING:
    from gpudb.session.session import Session

MAX_COLUMNS = 1600
_RESERVED = {"tableoid", "ctid", "xmin", "xmax", "cmin", "cmax"}


# ------------------------------------------------------------------------------------------------ names


def target_schema(context: Context, schema: str, *, temporary: bool = False) -> str:
    """The schema in which something is made; 3F000 if it does not exist."""
    session, catalog = context.session, context.transaction.catalog
    if temporary or schema == "pg_temp":
        name = session.temporary_schema
        if name not in catalog.schemas:
            oid, catalog = catalog.allocate_oid()
            context.transaction.set_catalog(catalog.with_schema(Schema(oid, name, session.user)))
        return name
    if schema:
        if schema in SYSTEM_SCHEMAS:
            raise SqlError.of("insufficient_privilege", f'permission denied to create in "{schema}"')
        if schema not in catalog.schemas:
            raise SqlError.of("invalid_schema_name", f'schema "{schema}" does not exist')
        return schema
    for name in session.search_path()[1:]:
        if name in catalog.schemas:
            return name
    raise SqlError.of("invalid_schema_name", "no schema has been selected to create in")


def named_relation(context: Context, node: Any) -> Relation | None:
    """The relation that a RangeVar names, as the transaction sees it."""
    path = (node.schemaname,) if node.schemaname else context.session.search_path()
    return context.transaction.catalog.find(node.relname, path)


def spoken(node: Any) -> str:
    """A RangeVar as messages write it."""
    return f"{node.schemaname}.{node.relname}" if node.schemaname else str(node.relname)


def check_free(catalog: Catalog, schema: str, name: str) -> None:
    """42P07 if a relation has that name."""
    if catalog.relation(schema, name) is not None:
        raise DuplicateTable(f'relation "{name}" already exists')


def identifier(name: str) -> str:
    """PostgreSQL cuts identifiers at 63 bytes."""
    return name.encode()[:63].decode(errors="ignore")


# ------------------------------------------------------------------------------------------------ CREATE TABLE


@handles("CreateStmt")
def create_table(context: Context) -> Result:
    """CREATE [TEMPORARY] TABLE [IF NOT EXISTS] … [DISTRIBUTE BY …]."""
    node: Any = context.statement.node
    context.session.check_writable("CREATE TABLE")
    for field, what in (("inh_relations", "INHERITS"), ("options", "WITH"), ("partspec", "PARTITION BY")):
        if node.HasField(field) if field == "partspec" else len(getattr(node, field)):
            raise FeatureNotSupported(f"CREATE TABLE … {what} is not supported")
    if node.HasField("of_typename") or node.HasField("partbound") or node.access_method not in ("", "iceberg"):
        raise FeatureNotSupported("this form of CREATE TABLE is not supported")
    temporary = node.relation.relpersistence == "t"
    if temporary and node.oncommit not in (pg.ONCOMMIT_NOOP, pg.ONCOMMIT_PRESERVE_ROWS, 0):
        raise FeatureNotSupported("ON COMMIT DELETE ROWS and ON COMMIT DROP are not supported")
    schema = target_schema(context, node.relation.schemaname, temporary=temporary)
    name = identifier(node.relation.relname)
    if node.if_not_exists and context.transaction.catalog.relation(schema, name) is not None:
        context.notice(f'relation "{name}" already exists, skipping', sqlstate="42P07")
        return command("CREATE TABLE")
    check_free(context.transaction.catalog, schema, name)
    columns, key, key_name = _elements(context, node.table_elts)
    oid, catalog = context.transaction.catalog.allocate_oid()
    table = Table(
        oid,
        schema,
        name,
        tuple(columns),
        context.session.user,
        tuple(key),
        key_name or (f"{name}_pkey" if key else None),
        _distribution(context, columns),
        temporary,
    )
    context.transaction.set_catalog(catalog.with_relation(table))
    return command("CREATE TABLE")


def _distribution(context: Context, columns: list[Column]) -> Distribution | None:
    clause = context.statement.distribution
    if clause is None:
        return None
    for name in clause.columns:
        if all(column.name != name for column in columns):
            raise SqlError.of("undefined_column", f'column "{name}" named in DISTRIBUTE BY does not exist')
    if clause.kind == "hash" and not clause.columns:
        raise SqlError.of("syntax_error", "DISTRIBUTE BY HASH needs a column")
    return Distribution(clause.kind, clause.columns)


def _elements(context: Context, elements: Any) -> tuple[list[Column], list[str], str | None]:
    columns: list[Column] = []
    key: list[str] = []
    key_name = None
    for each in elements:
        node = inner(each)
        if kind(each) == "column_def":
            column, is_key = column_definition(context, node)
            if any(other.name == column.name for other in columns):
                raise SqlError.of("duplicate_column", f'column "{column.name}" specified more than once')
            columns.append(column)
            if is_key:
                key = _one_key(key, [column.name])
        elif kind(each) == "constraint":
            names = _table_constraint(node)
            if names:
                key, key_name = _one_key(key, names), node.conname or None
        else:
            raise FeatureNotSupported("LIKE in CREATE TABLE is not supported")
    if len(columns) > MAX_COLUMNS:
        raise SqlError.of("too_many_columns", f"tables can have at most {MAX_COLUMNS} columns")
    for name in key:
        if all(column.name != name for column in columns):
            raise SqlError.of("undefined_column", f'column "{name}" named in key does not exist')
    return [replace(c, not_null=True) if c.name in key else c for c in columns], key, key_name


def _one_key(old: list[str], new: list[str]) -> list[str]:
    if old:
        raise SqlError.of("invalid_table_definition", "multiple primary keys for table are not allowed")
    if len(set(new)) != len(new):
        raise SqlError.of("duplicate_column", "a column appears twice in primary key constraint")
    return new


def _table_constraint(node: Any) -> list[str]:
    if node.contype != pg.CONSTR_PRIMARY:
        what = pg.ConstrType.Name(node.contype).removeprefix("CONSTR_")
        raise FeatureNotSupported(f"{what} constraints are not supported")
    return list(strings(node.keys))


def column_definition(context: Context, node: Any) -> tuple[Column, bool]:
    """A ColumnDef message as a column, and whether it declares the primary key."""
    if node.colname in _RESERVED:
        message = f'column name "{node.colname}" conflicts with a system column name'
        raise SqlError.of("duplicate_column", message)
    try:
        column_type = type_name(node.type_name)
        check_column_type(node.colname, column_type)
    except SqlError as error:
        raise context.session.binder(context).locate(error, node.type_name.location) from None
    if node.HasField("coll_clause") and strings(node.coll_clause.collname)[-1] not in {
        "C",
        "POSIX",
        "default",
    }:
        raise FeatureNotSupported("collations other than C are not supported")
    column = Column(identifier(node.colname), column_type)
    is_key = False
    for each in node.constraints:
        constraint = inner(each)
        match pg.ConstrType.Name(constraint.contype).removeprefix("CONSTR_"):
            case "NOTNULL":
                column = replace(column, not_null=True)
            case "NULL":
                pass
            case "DEFAULT":
                text = deparse_expression(constraint.raw_expr)
                bind_default(context.session.binder(context), text, column)
                column = replace(column, default=text)
            case "PRIMARY":
                is_key = True
            case other:
                raise FeatureNotSupported(f"{other} constraints are not supported")
    return column, is_key


def check_column_type(name: str, item: SqlType) -> None:
    """0A000 or 42P16 for a type that no column may have."""
    base = item.element or item
    if base.name not in COLUMN_TYPES:
        if base.category == "P" or base.name in {"unknown", "record"}:
            raise SqlError.of("invalid_table_definition", f'column "{name}" has pseudo-type {item}')
        raise FeatureNotSupported(f'columns of type {item} are not supported (column "{name}")')


def deparse_expression(node: Any) -> str:
    """An expression as SQL text."""
    select = pg.SelectStmt()
    target = select.target_list.add()
    target.res_target.val.CopyFrom(node)
    select.limit_option = pg.LIMIT_OPTION_DEFAULT
    select.op = pg.SETOP_NONE
    return deparse(select).removeprefix("SELECT ")


# ------------------------------------------------------------------------------------------------ CREATE TABLE AS, views


@handles("CreateTableAsStmt")
def create_table_as(context: Context) -> Result:
    """CREATE TABLE … AS query [WITH NO DATA]; SELECT … INTO."""
    node: Any = context.statement.node
    if node.objtype == pg.OBJECT_MATVIEW:
        raise FeatureNotSupported("materialized views are not supported")
    context.session.check_writable("CREATE TABLE AS")
    into = node.into
    if len(into.options) or into.access_method not in ("", "iceberg"):
        raise FeatureNotSupported("CREATE TABLE … WITH is not supported")
    temporary = into.rel.relpersistence == "t"
    schema = target_schema(context, into.rel.schemaname, temporary=temporary)
    name = identifier(into.rel.relname)
    if node.if_not_exists and context.transaction.catalog.relation(schema, name) is not None:
        context.notice(f'relation "{name}" already exists, skipping', sqlstate="42P07")
        return command("CREATE TABLE AS")
    check_free(context.transaction.catalog, schema, name)
    source = inner(node.query)
    if source.DESCRIPTOR.name != "SelectStmt":
        raise FeatureNotSupported("CREATE TABLE AS EXECUTE is not supported")
    query = bind_query(context.session.binder(context), source, None)
    columns = query_columns(query, strings(into.col_names), "CREATE TABLE AS")
    for column in columns:
        check_column_type(column.name, column.type)
    oid, catalog = context.transaction.catalog.allocate_oid()
    table = Table(
        oid,
        schema,
        name,
        columns,
        context.session.user,
        temporary=temporary,
        distribution=_distribution(context, list(columns)),
    )
    context.transaction.set_catalog(catalog.with_relation(table))
    if into.skip_data:
        return command("CREATE TABLE AS")
    stream = context.session.engine(query).run(context.request(as_stored(query, columns)))
    try:
        count = context.transaction.append(oid, iter(stream))
    finally:
        stream.close()
    return command(f"SELECT {count}")


def as_stored(query: Query, columns: tuple[Column, ...]) -> Query:
    """The query with its columns held as the table holds them."""
    rel = 1_000_000
    targets = []
    for index, (output, column) in enumerate(zip(query.columns, columns, strict=True)):
        reference = Reference(rel, index, output.type, output.name)
        targets.append(reference if output.type == column.type else Cast(reference, column.type))
    outputs = tuple(OutputColumn(column.name, column.type) for column in columns)
    return Select(outputs, tuple(targets), Derived(rel, query))


def query_columns(query: Query, names: tuple[str, ...], what: str) -> tuple[Column, ...]:
    """A query's columns as those of a table or view; numerics without modifier are stored carried."""
    if len(names) > len(query.columns):
        raise SqlError.of("syntax_error", f"{what} specifies too many column names")
    made: list[Column] = []
    for index, output in enumerate(query.columns):
        name = names[index] if index < len(names) else output.name
        if any(each.name == name for each in made):
            raise SqlError.of("duplicate_column", f'column "{name}" specified more than once')
        item = output.type if output.type.name != "unknown" else TEXT
        base = item.element or item
        if base.name == "numeric" and base.modifier == -1:
            item = SqlType(item.name)
        if base.name == "name":
            item = TEXT
        made.append(Column(name, item))
    return tuple(made)


@handles("ViewStmt")
def create_view(context: Context) -> Result:
    """CREATE [OR REPLACE] [TEMPORARY] VIEW."""
    node: Any = context.statement.node
    context.session.check_writable("CREATE VIEW")
    if len(node.options) or node.with_check_option not in (0, pg.NO_CHECK_OPTION):
        raise FeatureNotSupported("view options and WITH CHECK OPTION are not supported")
    temporary = node.view.relpersistence == "t"
    binder = context.session.binder(context)
    body = inner(node.query)
    query = bind_query(binder, body, None)
    if binder.parameters:
        raise SqlError.of("undefined_parameter", "there is no parameter $1")
    used = {n.table.schema for n in walk(query) if isinstance(n, Scan)}
    temporary = temporary or context.session.temporary_schema in used
    schema = target_schema(context, node.view.schemaname, temporary=temporary)
    name = identifier(node.view.relname)
    columns = query_columns(query, strings(node.aliases), "CREATE VIEW")
    text = deparse(qualified(body, context.transaction.catalog, context.session.search_path()))
    old = context.transaction.catalog.relation(schema, name)
    if old is not None and not node.replace:
        check_free(context.transaction.catalog, schema, name)
    if old is not None:
        if not isinstance(old, View):
            raise SqlError.of("wrong_object_type", f'"{name}" is not a view')
        _check_replaced(old, columns)
        made = replace(old, columns=columns, query=text)
        context.transaction.set_catalog(context.transaction.catalog.with_relation(made))
        return command("CREATE VIEW")
    oid, catalog = context.transaction.catalog.allocate_oid()
    context.transaction.set_catalog(catalog.with_relation(View(oid, schema, name, columns, context.session.user, text)))
    return command("CREATE VIEW")


def _check_replaced(old: View, columns: tuple[Column, ...]) -> None:
    if len(columns) < len(old.columns):
        raise SqlError.of("invalid_table_definition", "cannot drop columns from view")
    for before, after in zip(old.columns, columns, strict=False):
        if before.name != after.name:
            message = f'cannot change name of view column "{before.name}" to "{after.name}"'
            raise SqlError.of("invalid_table_definition", message)
        if before.type != after.type:
            message = f'cannot change data type of view column "{before.name}" from {before.type} to {after.type}'
            raise SqlError.of("invalid_table_definition", message)


# ------------------------------------------------------------------------------------------------ schemas


@handles("CreateSchemaStmt")
def create_schema(context: Context) -> Result:
    """CREATE SCHEMA [IF NOT EXISTS] name."""
    node: Any = context.statement.node
    context.session.check_writable("CREATE SCHEMA")
    if len(node.schema_elts):
        raise FeatureNotSupported("CREATE SCHEMA with elements is not supported")
    name = node.schemaname or node.authrole.rolename
    catalog = context.transaction.catalog
    if name.startswith("pg_"):
        message = f'unacceptable schema name "{name}"'
        detail = 'The prefix "pg_" is reserved for system schemas.'
        raise SqlError.of("reserved_name", message, detail=detail)
    if name in catalog.schemas or name in SYSTEM_SCHEMAS:
        if node.if_not_exists:
            context.notice(f'schema "{name}" already exists, skipping', sqlstate="42P06")
            return command("CREATE SCHEMA")
        raise SqlError.of("duplicate_schema", f'schema "{name}" already exists')
    oid, catalog = catalog.allocate_oid()
    context.transaction.set_catalog(catalog.with_schema(Schema(oid, name, context.session.user)))
    return command("CREATE SCHEMA")


# ------------------------------------------------------------------------------------------------ DROP


@handles("DropStmt")
def drop(context: Context) -> Result:
    """DROP TABLE, VIEW or SCHEMA [IF EXISTS] … [CASCADE]."""
    node: Any = context.statement.node
    what = pg.ObjectType.Name(node.remove_type).removeprefix("OBJECT_")
    context.session.check_writable(f"DROP {what}")
    cascade = node.behavior == pg.DROP_CASCADE
    if what not in {"TABLE", "VIEW", "SCHEMA"}:
        raise FeatureNotSupported(f"DROP {what} is not supported")
    for each in node.objects:
        if what == "SCHEMA":
            _drop_schema(context, inner(each).sval, node.missing_ok, cascade)
        else:
            names = strings(inner(each).items)
            _drop_relation(context, names, what, node.missing_ok, cascade)
    return command(f"DROP {what}")


def _drop_relation(context: Context, names: tuple[str, ...], what: str, missing_ok: bool, cascade: bool) -> None:
    catalog = context.transaction.catalog
    path = names[-2:-1] or context.session.search_path()
    if len(names) > 1 and names[-2] not in catalog.schemas:
        if missing_ok:
            context.notice(f'schema "{names[-2]}" does not exist, skipping')
            return
        raise SqlError.of("invalid_schema_name", f'schema "{names[-2]}" does not exist')
    found = catalog.find(names[-1], path)
    noun = what.lower()
    if found is None:
        if missing_ok:
            context.notice(f'{noun} "{names[-1]}" does not exist, skipping')
            return
        raise UndefinedTable(f'{noun} "{".".join(names)}" does not exist')
    if isinstance(found, Table) != (what == "TABLE"):
        hint = f"Use DROP {'TABLE' if isinstance(found, Table) else 'VIEW'} to remove a {_noun(found)}."
        raise SqlError.of("wrong_object_type", f'"{names[-1]}" is not a {noun}', hint=hint)
    drop_with_dependents(context, [found], cascade)


def _noun(relation: Relation) -> str:
    return "table" if isinstance(relation, Table) else "view"


def drop_with_dependents(context: Context, doomed: list[Relation], cascade: bool) -> None:
    """Drops relations and, with CASCADE, the views over them; 2BP01 without."""
    catalog = context.transaction.catalog
    gone = {relation.oid: relation for relation in doomed}
    queue = list(doomed)
    while queue:
        relation = queue.pop()
        for view in dependents(context, relation):
            if view.oid in gone:
                continue
            if not cascade:
                message = f"cannot drop {_noun(relation)} {relation.name} because other objects depend on it"
                detail = f"view {view.name} depends on {_noun(relation)} {relation.name}"
                hint = "Use DROP ... CASCADE to drop the dependent objects too."
                raise SqlError.of("dependent_objects_still_exist", message, detail=detail, hint=hint)
            context.notice(f"drop cascades to view {view.name}")
            gone[view.oid] = view
            queue.append(view)
    for relation in gone.values():
        catalog = catalog.without_relation(relation.schema, relation.name)
    context.transaction.set_catalog(catalog)


def dependents(context: Context, relation: Relation) -> list[View]:
    """The views whose queries name a relation."""
    found = []
    for view in context.transaction.catalog.relations.values():
        if isinstance(view, View) and view.oid != relation.oid:
            names = relation_names(parse(view.query)[0].node)
            if (relation.schema, relation.name) in names:
                found.append(view)
    return found


def relation_names(node: Any) -> set[tuple[str, str]]:
    """Every qualified relation name in a parse tree."""
    if node.DESCRIPTOR.name == "RangeVar":
        return {(node.schemaname, node.relname)}
    names: set[tuple[str, str]] = set()
    for field, value in node.ListFields():
        if field.message_type is not None:
            for each in value if not hasattr(value, "DESCRIPTOR") else (value,):
                names |= relation_names(each)
    return names


def _drop_schema(context: Context, name: str, missing_ok: bool, cascade: bool) -> None:
    catalog = context.transaction.catalog
    if name in SYSTEM_SCHEMAS:
        message = f"cannot drop schema {name} because it is required by the database system"
        raise SqlError.of("dependent_objects_still_exist", message)
    if name not in catalog.schemas:
        if missing_ok:
            context.notice(f'schema "{name}" does not exist, skipping')
            return
        raise SqlError.of("invalid_schema_name", f'schema "{name}" does not exist')
    inside = [relation for relation in catalog.relations.values() if relation.schema == name]
    if inside and not cascade:
        message = f"cannot drop schema {name} because other objects depend on it"
        detail = "\n".join(f"{_noun(r)} {name}.{r.name} depends on schema {name}" for r in inside)
        hint = "Use DROP ... CASCADE to drop the dependent objects too."
        raise SqlError.of("dependent_objects_still_exist", message, detail=detail, hint=hint)
    for relation in inside:
        context.notice(f"drop cascades to {_noun(relation)} {name}.{relation.name}")
    drop_with_dependents(context, inside, cascade)
    context.transaction.set_catalog(context.transaction.catalog.without_schema(name))


def drop_temporary_in(context: Context) -> None:
    """DISCARD TEMP: drops the session's temporary relations."""
    schema = context.session.temporary_schema
    inside = [r for r in context.transaction.catalog.relations.values() if r.schema == schema]
    if inside:
        drop_with_dependents(context, inside, True)


def drop_temporary(session: Session) -> None:
    """At a session's end its temporary relations go, with their schema."""
    schema = session.temporary_schema
    if schema not in session.database.store.catalog().schemas:
        return
    with session.database.store.begin() as transaction:
        catalog = transaction.catalog
        for relation in [r for r in catalog.relations.values() if r.schema == schema]:
            catalog = catalog.without_relation(schema, relation.name)
        transaction.set_catalog(catalog.without_schema(schema))
        transaction.commit()
