// Kysely: typed query builder over pg: schema, migrations, introspection, CTEs, cursors, merge.
import { Kysely, Migrator, PostgresDialect, sql } from "kysely";
import { jsonArrayFrom, jsonObjectFrom } from "kysely/helpers/postgres";
import pg from "pg";
import Cursor from "pg-cursor";
import { check, refused, same, server, tls, version } from "./scenario.mjs";

version("kysely");
const open = (options = {}) =>
  new Kysely({ dialect: new PostgresDialect({ pool: new pg.Pool({ ...server, max: 4, ...options }), cursor: Cursor }) });
await check("tls", "verified", async () => {
  const secure = open({ ssl: tls });
  same((await sql`SELECT 1 AS a`.execute(secure)).rows, [{ a: 1 }]);
  await secure.destroy();
});
const db = open();
await check("connect", "with a password", async () => same((await sql`SELECT 1 AS a`.execute(db)).rows, [{ a: 1 }]));
const migrations = {
  one: {
    up: async (k) => {
      await sql`CREATE TYPE mood AS ENUM ('sad', 'ok')`.execute(k);
      await k.schema.createTable("author").addColumn("id", "serial", (c) => c.primaryKey())
        .addColumn("name", "varchar(80)", (c) => c.notNull().unique()).addColumn("notes", "jsonb", (c) => c.defaultTo("{}"))
        .addColumn("created", "timestamptz", (c) => c.defaultTo(sql`now()`)).execute();
    },
    down: async (k) => { await k.schema.dropTable("author").execute(); await sql`DROP TYPE mood`.execute(k); },
  },
  two: {
    up: async (k) => {
      await k.schema.createTable("book").addColumn("id", "bigint", (c) => c.generatedAlwaysAsIdentity().primaryKey())
        .addColumn("author_id", "integer", (c) => c.references("author.id").onDelete("cascade").notNull())
        .addColumn("title", "text", (c) => c.notNull()).addColumn("price", "numeric(10, 2)", (c) => c.check(sql`price >= 0`))
        .addColumn("mood", sql`mood`, (c) => c.defaultTo("ok"))
        .addColumn("twice", "numeric", (c) => c.generatedAlwaysAs(sql`price * 2`).stored())
        .addUniqueConstraint("book_of_author", ["author_id", "title"]).execute();
      await k.schema.createIndex("book_price").on("book").columns(["price desc", "title"]).execute();
      await k.schema.alterTable("book").addColumn("pages", "int2").alterColumn("pages", (c) => c.setDefault(1)).execute();
    },
    down: async (k) => k.schema.dropTable("book").execute(),
  },
};
await check("migrations", "latest, down, up, with their lock", async () => {
  const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } });
  for (const step of ["migrateToLatest", "migrateDown", "migrateDown", "migrateToLatest"]) {
    const { error, results } = await migrator[step]();
    if (error) throw error;
    same(results.every((each) => each.status === "Success"), true);
  }
});
await check("metadata", "introspection", async () => {
  const tables = await db.introspection.getTables();
  same(tables.map((t) => t.name), ["author", "book"]);
  const columns = Object.fromEntries(tables[1].columns.map((c) => [c.name, [c.dataType, c.isNullable, c.isAutoIncrementing, c.hasDefaultValue]]));
  same(columns.id, ["int8", false, true, false]);
  same(columns.mood, ["mood", true, false, true]);
  same((await db.introspection.getSchemas()).some((s) => s.name === "public"), true);
});
await check("queries", "insert, returning, upsert", async () => {
  const made = await db.insertInto("author").values([{ name: "Ann", notes: { a: [1] } }, { name: "Bob" }]).returningAll().execute();
  same(made.map((m) => [m.id, m.name, m.notes]), [[1, "Ann", { a: [1] }], [2, "Bob", {}]]);
  const again = await db.insertInto("author").values({ name: "Ann" }).onConflict((oc) => oc.column("name").doUpdateSet({ notes: { b: 2 } })).returning("notes").executeTakeFirst();
  same(again, { notes: { b: 2 } });
  await db.insertInto("book").values([1, 2, 3].map((n) => ({ author_id: 1, title: `T${n}`, price: n / 2 }))).execute();
  await refused(db.insertInto("book").values({ author_id: 9, title: "x" }).execute(), "23503");
});
await check("queries", "joins, groups, windows", async () => {
  const found = await db.selectFrom("author as a").leftJoin("book as b", "b.author_id", "a.id").groupBy("a.id")
    .select((e) => ["a.name", e.fn.count("b.id").as("n"), e.fn.sum("b.twice").as("s")]).orderBy("a.name").execute();
  same(found, [{ name: "Ann", n: "3", s: "6.00" }, { name: "Bob", n: "0", s: null }]);
  const ranked = await db.selectFrom("book").select((e) => ["title", e.fn.agg("rank").over((o) => o.orderBy("price", "desc")).as("r")]).orderBy("r").execute();
  same(ranked.map((r) => r.r), ["1", "2", "3"]);
});
await check("queries", "nested objects as JSON", async () => {
  const found = await db.selectFrom("author as a").select((e) => ["a.name",
    jsonArrayFrom(e.selectFrom("book as b").select(["b.title", "b.price"]).whereRef("b.author_id", "=", "a.id").orderBy("b.title")).as("books"),
    jsonObjectFrom(e.selectFrom("book as c").select("c.mood").whereRef("c.author_id", "=", "a.id").limit(1)).as("first")]).orderBy("a.id").execute();
  same(found[0].books[2], { title: "T3", price: 1.5 });
  same([found[0].first, found[1].books, found[1].first], [{ mood: "ok" }, [], null]);
});
await check("queries", "CTEs that change, recursion, lateral, DISTINCT ON", async () => {
  const moved = await db.with("gone", (k) => k.deleteFrom("book").where("title", "=", "T1").returning(["author_id", "price"]))
    .insertInto("book").columns(["author_id", "title", "price"]).expression((e) => e.selectFrom("gone").select((s) => ["author_id", s.val("T4").as("title"), "price"])).returning("title").execute();
  same(moved, [{ title: "T4" }]);
  const few = await db.selectFrom("author as a").innerJoinLateral((e) => e.selectFrom("book").selectAll().whereRef("author_id", "=", "a.id").orderBy("price").limit(1).as("b"), (j) => j.onTrue()).select(["a.name", "b.title"]).execute();
  same(few, [{ name: "Ann", title: "T4" }]);
  same((await db.selectFrom("book").distinctOn("author_id").select(["author_id", "title"]).orderBy("author_id").orderBy("title").execute())[0].title, "T2");
  const counted = await db.withRecursive("n(i)", (k) => k.selectFrom(sql`(SELECT 1)`.as("one")).select(sql`1`.as("i")).unionAll(k.selectFrom("n").select(sql`i + 1`.as("i")).where("i", "<", 4))).selectFrom("n").select((e) => e.fn.sum("i").as("s")).execute();
  same(counted, [{ s: "10" }]);
});
await check("queries", "update from, merge, values", async () => {
  await db.updateTable("book as b").from("author as a").set((e) => ({ pages: e.ref("a.id") })).whereRef("a.id", "=", "b.author_id").execute();
  const merged = await db.mergeInto("author as a").using(sql`(VALUES ('Bob'), ('Cid'))`.as(sql`v(name)`), (j) => j.onRef("v.name", "=", "a.name"))
    .whenMatched().thenUpdateSet({ notes: { m: 1 } }).whenNotMatched().thenInsertValues((e) => ({ name: e.ref("v.name") })).executeTakeFirst();
  same(merged.numChangedRows, 2n);
  same((await db.selectFrom("author").select("name").where("notes", "@>", sql`'{"m": 1}'`).execute()), [{ name: "Bob" }]);
});
await check("queries", "rows through a cursor", async () => {
  let sum = 0;
  for await (const row of db.selectFrom(sql`generate_series(1, 1000)`.as(sql`g(n)`)).select(sql`n`.as("n")).stream(100)) sum += row.n;
  same(sum, 500500);
});
await check("transactions", "rollback, levels, savepoints, locks", async () => {
  await refused(db.transaction().setIsolationLevel("repeatable read").execute(async (t) => {
    await t.insertInto("author").values({ name: "Dan" }).execute();
    await t.selectFrom("author").selectAll().where("name", "=", "Dan").forUpdate().skipLocked().execute();
    await t.insertInto("author").values({ name: "Dan" }).execute();
  }), "23505");
  const t = await db.startTransaction().execute();
  await t.insertInto("author").values({ name: "Eve" }).execute();
  const saved = await t.savepoint("s").execute();
  await saved.insertInto("author").values({ name: "Fay" }).execute();
  await saved.rollbackToSavepoint("s").execute();
  await t.commit().execute();
  same((await db.selectFrom("author").select("name").where("name", "in", ["Dan", "Eve", "Fay"]).execute()), [{ name: "Eve" }]);
});
await check("queries", "explain, views, schemas", async () => {
  same((await db.selectFrom("book").selectAll().explain()).length > 0, true);
  await db.schema.createView("dear").orReplace().as(db.selectFrom("book").select(["id", "title"]).where(sql`price`, ">", 0.5)).execute();
  same((await db.selectFrom("dear").selectAll().execute()).length, 2);
  await db.schema.createSchema("other").ifNotExists().execute();
  await db.withSchema("other").schema.createTable("x").addColumn("a", sql`int[]`).execute();
  await db.withSchema("other").insertInto("x").values({ a: [1, 2] }).execute();
  same(await db.withSchema("other").selectFrom("x").selectAll().execute(), [{ a: [1, 2] }]);
});
await db.destroy();
