"""pgvector: its package for Python, vectors of psycopg in text and binary, COPY, and SQLAlchemy's type and distances."""
# /// script
# requires-python = ">=3.11"
# dependencies = ["pgvector==0.5.1", "psycopg[binary]==3.3.9", "sqlalchemy==2.1.9", "numpy>=2"]
# [tool.uv]
# exclude-newer = "2026-11-25T00:00:00Z"
# ///

from __future__ import annotations

from importlib.metadata import version as version_of

import numpy as np
import psycopg
from pgvector import Bit
from pgvector.psycopg import register_vector
from pgvector.sqlalchemy import Vector as VectorType
from scenario import check, refused, same, url, version
from sqlalchemy import Index, create_engine, inspect, select
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

version(version_of("pgvector"))
ROWS = np.random.default_rng(1).standard_normal((500, 6)).astype(np.float32)
QUERY = ROWS[3] + np.float32(0.1)


def as_list(value: object) -> list[float]:
    """The numbers of a vector as the package returns it: its own class, or an array."""
    return [float(each) for each in (value.to_list() if hasattr(value, "to_list") else value)]  # type: ignore[attr-defined]


with check("connect", "CREATE EXTENSION and register_vector"):
    connection = psycopg.connect(autocommit=True)
    connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    register_vector(connection)
connection.execute("CREATE TABLE items (id bigserial PRIMARY KEY, embedding vector(6))")
for binary in (False, True):
    with check("types", f"a vector there and back, {'binary' if binary else 'text'}"):
        cursor = connection.cursor(binary=binary)
        (found,) = cursor.execute("SELECT %s::vector", (ROWS[0],)).fetchone() or ()
        same(as_list(found), ROWS[0].tolist())
        same(cursor.execute("SELECT NULL::vector").fetchone(), (None,))
with check("types", "an array of vectors"):
    found = connection.execute("SELECT array_agg(v) FROM (VALUES ('[1,2]'::vector), ('[3]')) AS t (v)").fetchone()
    same([as_list(each) for each in found[0]] if found else None, [[1.0, 2.0], [3.0]])
with check("types", "a bit string"):
    same(
        connection.execute("SELECT %s::bit(4) = B'1010'", (Bit("1010"),)).fetchone(),
        (True,),
    )
with check("types", "wrong dimensions"):
    refused(lambda: connection.execute("INSERT INTO items (embedding) VALUES (%s)", (ROWS[0][:2],)), "22000")
with check("copy", "binary COPY of vectors"):
    with connection.cursor().copy("COPY items (embedding) FROM STDIN WITH (FORMAT BINARY)") as copy:
        copy.set_types(["vector"])
        for row in ROWS:
            copy.write_row([row])
    same(connection.execute("SELECT count(*) FROM items").fetchone(), (500,))
nearest = (np.argsort(((ROWS - QUERY) ** 2).sum(1))[:5]).tolist()
with check("queries", "nearest neighbours"):
    sql = "SELECT id - (SELECT min(id) FROM items) FROM items ORDER BY embedding <-> %s LIMIT 5"
    same([number for (number,) in connection.execute(sql, (QUERY,)).fetchall()], nearest)
    same([number for (number,) in connection.execute(sql, (QUERY,), prepare=True).fetchall()], nearest)
with check("queries", "an average"):
    (mean,) = connection.execute("SELECT avg(embedding) FROM items").fetchone() or ()
    same(bool(np.allclose(as_list(mean), ROWS.mean(0), atol=1e-5)), True)
with check("migrations", "an index"):
    connection.execute("CREATE INDEX ON items USING hnsw (embedding vector_l2_ops) WITH (m = 8, ef_construction = 32)")
    connection.execute("SET hnsw.ef_search = 100")


class Base(DeclarativeBase):
    """The mapped tables."""


class Item(Base):
    """A row with a vector."""

    __tablename__ = "orm_item"
    id: Mapped[int] = mapped_column(primary_key=True)
    embedding: Mapped[object] = mapped_column(VectorType(3))


Index(
    "orm_index",
    Item.embedding,
    postgresql_using="hnsw",
    postgresql_with={"m": 16, "ef_construction": 64},
    postgresql_ops={"embedding": "vector_cosine_ops"},
)
engine = create_engine(url("postgresql+psycopg"))
with check("migrations", "SQLAlchemy creates table and index"):
    Base.metadata.create_all(engine)
with Session(engine) as session:
    with check("queries", "SQLAlchemy's distances"):
        session.add_all(
            [
                Item(id=1, embedding=[1, 0, 0]),
                Item(id=2, embedding=np.array([0, 2, 0])),
                Item(id=3, embedding=[3, 3, 0]),
            ]
        )
        session.commit()
        for distance, order in (
            (Item.embedding.l2_distance([1, 1, 0]), [1, 2, 3]),
            (Item.embedding.max_inner_product([1, 1, 0]), [3, 2, 1]),
            (Item.embedding.cosine_distance([0, 1, 0]), [2, 3, 1]),
            (Item.embedding.l1_distance([3, 2, 0]), [3, 2, 1]),
        ):
            same(list(session.scalars(select(Item.id).order_by(distance, Item.id))), order)
    with check("types", "SQLAlchemy's vectors"):
        same(as_list(session.get_one(Item, 2).embedding), [0.0, 2.0, 0.0])
        same(session.scalars(select(Item.id).where(Item.embedding == [1, 0, 0])).all(), [1])
with check("metadata", "SQLAlchemy reflects a vector"):
    (column,) = [each for each in inspect(engine).get_columns("orm_item") if each["name"] == "embedding"]
    same(str(column["type"]), "VECTOR(3)")
    same([each["name"] for each in inspect(engine).get_indexes("orm_item")], ["orm_index"])
