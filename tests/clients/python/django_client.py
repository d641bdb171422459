"""Django: migrate with its own applications, and an ORM scenario."""
# /// script
# requires-python = ">=3.11"
# dependencies = ["django==5.2.9", "psycopg[binary]==3.3.9"]
# [tool.uv]
# exclude-newer = "2026-11-25T00:00:00Z"
# ///

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import django
from django.conf import settings
from django.core.management import call_command
from scenario import check, refused, same, version

MODELS = """
from django.contrib.postgres.fields import ArrayField
from django.db import models
import uuid

class Author(models.Model):
    name = models.CharField(max_length=80, unique=True)
    born = models.DateField(null=True)

class Tag(models.Model):
    label = models.SlugField(unique=True)

class Book(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    author = models.ForeignKey(Author, on_delete=models.CASCADE, related_name="books")
    title = models.TextField(db_index=True)
    price = models.DecimalField(max_digits=10, decimal_places=2)
    notes = models.JSONField(default=dict)
    scores = ArrayField(models.IntegerField(), default=list)
    tags = models.ManyToManyField(Tag)
    printed = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(price__gte=0), name="price_is_positive"),
            models.UniqueConstraint(fields=["author", "title"], name="one_title"),
        ]
        indexes = [models.Index(fields=["price", "-title"], name="price_title")]
"""

Path("shop/migrations").mkdir(parents=True)
Path("shop/__init__.py").touch()
Path("shop/migrations/__init__.py").touch()
Path("shop/models.py").write_text(MODELS)
sys.path.insert(0, str(Path.cwd()))
server = {
    "ENGINE": "django.db.backends.postgresql",
    "NAME": os.environ["PGDATABASE"],
    "USER": os.environ["PGUSER"],
    "PASSWORD": os.environ["PGPASSWORD"],
    "HOST": os.environ["PGHOST"],
    "PORT": os.environ["PGPORT"],
}
settings.configure(
    DATABASES={
        "default": server,
        "secure": {**server, "OPTIONS": {"sslmode": "verify-full", "server_side_binding": True}},
    },
    INSTALLED_APPS=[
        "django.contrib.admin",
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "django.contrib.messages",
        "django.contrib.postgres",
        "django.contrib.sessions",
        "django.contrib.sites",
        "shop",
    ],
    SITE_ID=1,
    USE_TZ=True,
    TIME_ZONE="UTC",
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    SECRET_KEY="only for this scenario",
    CACHES={"default": {"BACKEND": "django.core.cache.backends.db.DatabaseCache", "LOCATION": "cached"}},
)
django.setup()

from django.contrib.auth.models import Group, Permission, User  # noqa: E402
from django.core.cache import cache  # noqa: E402
from django.db import IntegrityError, connection, connections, transaction  # noqa: E402
from django.db.models import Avg, Count, F, OuterRef, Q, Subquery, Sum, Window  # noqa: E402
from django.db.models.functions import Lower, Rank, TruncYear  # noqa: E402

version(django.__version__)
with check("connect", "with a password"), connection.cursor() as cursor:
    cursor.execute("SELECT 1")
    same(cursor.fetchone(), (1,))
with check("tls", "verify-full"), connections["secure"].cursor() as cursor:
    cursor.execute("SELECT %s::int", [1])
    same(cursor.fetchone(), (1,))
with check("migrations", "makemigrations and migrate"):
    call_command("makemigrations", "shop", verbosity=0)
    call_command("migrate", verbosity=0)
    same("auth_permission" in connection.introspection.table_names(), True)
with check("migrations", "a later change, back and forth"):
    changed = MODELS.replace("max_length=80, unique=True", 'max_length=120, unique=True, db_comment="as printed"')
    Path("shop/models.py").write_text(
        changed.replace("class Tag", "    country = models.CharField(max_length=2, default='no')\n\nclass Tag")
    )
    for name in [name for name in sys.modules if name.startswith("shop")]:
        del sys.modules[name]

    manage = (
        "import django, sys; from django.conf import settings; from django.core.management import call_command; "
        f"sys.path.insert(0, '.'); settings.configure(DATABASES={{'default': {server!r}}}, USE_TZ=True, SECRET_KEY='x', "
        "DEFAULT_AUTO_FIELD='django.db.models.BigAutoField', INSTALLED_APPS=['django.contrib.postgres', 'shop']); "
        "django.setup(); call_command('makemigrations', 'shop', name='second', verbosity=0); "
        "call_command('migrate', 'shop', verbosity=0); call_command('migrate', 'shop', '0001', verbosity=0); "
        "call_command('migrate', 'shop', verbosity=0); call_command('migrate', 'shop', '0001', verbosity=0)"
    )
    done = subprocess.run([sys.executable, "-c", manage], capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(done.stderr.strip().splitlines()[-1])

from django.apps import apps  # noqa: E402

Author, Book, Tag = (apps.get_model("shop", name) for name in ("Author", "Book", "Tag"))
with check("queries", "created, filtered, ordered"):
    ann, bob = Author.objects.create(name="Ann"), Author.objects.create(name="Bob", born="1970-01-02")
    Book.objects.bulk_create(
        Book(author=ann if n % 2 else bob, title=f"T{n}", price=n, notes={"n": n}, scores=[n, n + 1]) for n in range(20)
    )
    same(
        list(Book.objects.filter(price__gt=15, author__name="Ann").order_by("-price").values_list("title", flat=True)),
        ["T19", "T17"],
    )
    same(Author.objects.get_or_create(name="Ann")[1], False)
    same(Author.objects.update_or_create(name="Ann", defaults={"born": "1960-01-01"})[1], False)
with check("queries", "aggregates, subqueries, windows"):
    found = Author.objects.annotate(n=Count("books"), s=Sum("books__price", filter=Q(books__price__gt=10))).order_by(
        "name"
    )
    same([(each.name, each.n, int(each.s)) for each in found], [("Ann", 10, 75), ("Bob", 10, 60)])
    latest = Book.objects.filter(author=OuterRef("pk")).order_by("-price").values("title")[:1]
    same(
        list(Author.objects.annotate(last=Subquery(latest)).order_by("name").values_list("last", flat=True)),
        ["T19", "T18"],
    )
    ranked = Book.objects.annotate(r=Window(Rank(), partition_by="author", order_by=F("price").desc()))
    same(ranked.filter(r=1).count(), 2)
    same(Book.objects.annotate(y=TruncYear("printed")).values("y").annotate(a=Avg("price")).count(), 1)
    same(Book.objects.annotate(low=Lower("title")).filter(low="t3").count(), 1)
with check("queries", "JSON and arrays"):
    same(Book.objects.filter(notes__n=3).get().title, "T3")
    same(Book.objects.filter(scores__contains=[4, 5]).get().title, "T4")
    same(Book.objects.filter(notes__has_key="n").count(), 20)
with check("queries", "upserts and many-to-many"):
    Tag.objects.bulk_create([Tag(label="a"), Tag(label="b")])
    Tag.objects.bulk_create([Tag(label="a")], ignore_conflicts=True)
    book = Book.objects.get(title="T1")
    book.tags.set(Tag.objects.all())
    same(Book.objects.filter(tags__label="a").count(), 1)
    same(Book.objects.prefetch_related("tags").select_related("author").get(title="T1").tags.count(), 2)
with check("queries", "iterator by a server-side cursor"):
    same(len(list(Book.objects.order_by("price").iterator(chunk_size=5))), 20)
with check("queries", "update and delete by expressions"):
    same(Book.objects.filter(price__lt=5).update(price=F("price") + 100), 5)
    same(Book.objects.filter(price__gte=100).delete()[1]["shop.Book"], 5)
with check("queries", "users, groups, permissions, cache"):
    user = User.objects.create_superuser("root", "r@example.org", "secret")
    group = Group.objects.create(name="staff")
    group.permissions.add(*Permission.objects.filter(codename__startswith="view"))
    user.groups.add(group)
    same(user.check_password("secret"), True)
    call_command("createcachetable", verbosity=0)
    cache.set("k", {"v": 1}, 60)
    same(cache.get("k"), {"v": 1})
with check("types", "there and back"):
    book = Book.objects.create(author=ann, title="né \"x' 😀", price="12.30", notes={"a": [1, None]}, scores=[1, 2])
    found = Book.objects.get(pk=book.pk)
    same(
        (found.title, str(found.price), found.notes, found.scores, found.pk),
        (book.title, "12.30", {"a": [1, None]}, [1, 2], book.pk),
    )
with check("transactions", "atomic blocks, savepoints, constraints"):
    with transaction.atomic():
        Author.objects.create(name="Cid")
        try:
            with transaction.atomic():
                Author.objects.create(name="Cid")
        except IntegrityError:
            pass
    same(Author.objects.filter(name="Cid").count(), 1)
    refused(lambda: Book.objects.create(author=ann, title="x", price=-1), "23514")
with check("transactions", "select_for_update, on_commit"):
    seen: list[int] = []
    with transaction.atomic():
        same(Author.objects.select_for_update().get(name="Ann").name, "Ann")
        transaction.on_commit(lambda: seen.append(1))
    same(seen, [1])
with check("metadata", "inspectdb"):
    out = Path("inspected.py")
    with out.open("w") as file:
        call_command("inspectdb", stdout=file)
    text = out.read_text()
    same(
        "class ShopBook" in text and "models.ForeignKey(ShopAuthor" in text and "DecimalField(max_digits=10" in text,
        True,
    )
with check("metadata", "introspection"), connection.cursor() as cursor:
    found = connection.introspection.get_constraints(cursor, "shop_book")
    same(
        [name for name in ("price_is_positive", "one_title", "price_title") if name in found],
        ["price_is_positive", "one_title", "price_title"],
    )
with check("migrations", "flush and sqlsequencereset"):
    call_command("flush", interactive=False, verbosity=0)
    same(Author.objects.count(), 0)
