"""Tortoise ORM: schema generation, relations, transactions, aggregates, over asyncpg."""
# /// script
# requires-python = ">=3.11"
# dependencies = ["tortoise-orm[asyncpg]"]
# [tool.uv]
# exclude-newer = "2026-11-25T00:00:00Z"
# ///

from __future__ import annotations

import asyncio
import datetime as dt
import decimal
import enum
import uuid
from importlib.metadata import version as installed

from scenario import check, same, url, version
from tortoise import Tortoise, fields
from tortoise.contrib.postgres.fields import ArrayField
from tortoise.exceptions import IntegrityError
from tortoise.expressions import F, Q, Subquery
from tortoise.functions import Count, Max, Sum
from tortoise.models import Model
from tortoise.transactions import in_transaction


class Mood(enum.StrEnum):
    """A choice."""

    SAD = "sad"
    OK = "ok"


class Author(Model):
    """A writer of books."""

    id = fields.IntField(primary_key=True)
    name = fields.CharField(80, unique=True, description="who writes")
    born = fields.DateField(null=True)
    notes = fields.JSONField(default=dict)
    created = fields.DatetimeField(auto_now_add=True)
    books: fields.ReverseRelation[Book]


class Tag(Model):
    """A word."""

    id = fields.UUIDField(primary_key=True)
    word = fields.CharField(20)


class Book(Model):
    """A book with everything that a column can be."""

    id = fields.BigIntField(primary_key=True)
    author = fields.ForeignKeyField("models.Author", related_name="books", on_delete=fields.CASCADE)
    title = fields.TextField()
    price = fields.DecimalField(10, 2, default=0)
    mood = fields.CharEnumField(Mood, default=Mood.OK)
    pages = fields.SmallIntField(null=True)
    lent = fields.TimeDeltaField(null=True)
    content = fields.BinaryField(null=True)
    words = ArrayField("text", null=True)
    tags = fields.ManyToManyField("models.Tag", related_name="books")

    class Meta:
        """A key of two columns, and an index."""

        unique_together = (("author", "title"),)
        indexes = (("price", "mood"),)


async def main() -> None:
    """Runs all checks."""
    version(installed("tortoise-orm"))
    with check("connect", "with a password"):
        await Tortoise.init(db_url=url("asyncpg"), modules={"models": [__name__]})
    with check("migrations", "schemas, twice"):
        await Tortoise.generate_schemas()
        await Tortoise.generate_schemas(safe=True)
    with check("queries", "create, get, filter"):
        ann = await Author.create(name="Ann", born=dt.date(1990, 1, 2), notes={"a": [1, None]})
        for number in range(1, 5):
            await Book.create(
                author=ann, title=f"T{number}", price=decimal.Decimal(number) / 2, pages=number, words=["a", 'b"c'],
                content=b"\0\xff", lent=dt.timedelta(days=1, seconds=2), mood=Mood.SAD if number % 2 else Mood.OK,
            )  # fmt: skip
        found = await Book.filter(Q(price__gte=1) & ~Q(mood=Mood.SAD)).order_by("-price").values_list("title", "price")
        same(found, [("T4", decimal.Decimal("2.00")), ("T2", decimal.Decimal("1.00"))])
    with check("types", "read back"):
        book = await Book.get(title="T1").prefetch_related("author")
        same((book.words, bytes(book.content), book.lent), (["a", 'b"c'], b"\0\xff", dt.timedelta(days=1, seconds=2)))
        same(book.author.notes, {"a": [1, None]})
    with check("queries", "json and text filters"):
        same(await Author.filter(notes__contains={"a": [1]}).count(), 1)
        same(await Author.filter(name__icontains="AN", name__istartswith="a").count(), 1)
        same(await Book.filter(title__in=["T1", "T9"]).count(), 1)
    with check("queries", "relations"):
        tag = await Tag.create(id=uuid.uuid4(), word="x")
        await book.tags.add(tag)
        same(await Book.filter(tags__word="x").values_list("title", flat=True), ["T1"])
        same([each.word for each in await book.tags.all()], ["x"])
        same(await Author.all().prefetch_related("books__tags").count(), 1)
    with check("queries", "aggregates and groups"):
        found = await Author.annotate(n=Count("books"), s=Sum("books__price"), m=Max("books__pages")).values(
            "n", "s", "m"
        )
        same(found, [{"n": 4, "s": decimal.Decimal("5.00"), "m": 4}])
        grouped = await Book.annotate(n=Count("id")).group_by("mood").order_by("mood").values("mood", "n")
        same([each["n"] for each in grouped], [2, 2])
    with check("queries", "update, F, subquery, delete"):
        same(await Book.filter(pages__lt=3).update(pages=F("pages") + 10), 2)
        dearest = Book.all().order_by("-price").limit(1).values("id")
        same(await Book.filter(id__in=Subquery(dearest)).values_list("title", flat=True), ["T4"])
        same(await Book.filter(title="T4").delete(), 1)
    with check("queries", "upsert and bulk"):
        await Author.bulk_create([Author(name=name) for name in ("Ann", "Bob", "Cid")], ignore_conflicts=True)
        made, created = await Author.get_or_create(name="Bob", defaults={"born": dt.date(2000, 1, 1)})
        same((made.name, created), ("Bob", False))
        other, _ = await Author.update_or_create(name="Cid", defaults={"born": dt.date(2000, 1, 1)})
        same(other.born, dt.date(2000, 1, 1))
        await Author.bulk_create(
            [Author(name="Ann", born=dt.date(1, 1, 1))], on_conflict=["name"], update_fields=["born"]
        )
        same((await Author.get(name="Ann")).born, dt.date(1, 1, 1))
    with check("transactions", "rollback, savepoints, locks"):
        try:
            async with in_transaction():
                await Author.create(name="Dan")
                await Author.select_for_update().get(name="Dan")
                await Author.create(name="Dan")
        except IntegrityError:
            pass
        same(await Author.filter(name="Dan").exists(), False)
        async with in_transaction() as outer:
            await Author.create(name="Eve", using_db=outer)
            try:
                async with in_transaction() as nested:
                    await Author.create(name="Fay", using_db=nested)
                    raise ValueError
            except ValueError:
                pass
        same(sorted(await Author.filter(name__in=["Eve", "Fay"]).values_list("name", flat=True)), ["Eve"])
    with check("metadata", "raw statements and EXPLAIN"):
        rows = await Tortoise.get_connection("default").execute_query_dict(
            "SELECT count(*) AS n FROM book WHERE id > $1", [0]
        )
        same(rows, [{"n": 3}])
        same(bool(await Book.filter(title="T1").explain()), True)
    await Tortoise.close_connections()


asyncio.run(main())
