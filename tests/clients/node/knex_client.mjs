// knex: query builder, schema builder, migrations with their lock, seeds.
import { mkdirSync, writeFileSync } from "node:fs";
import Knex from "knex";
import { check, refused, same, server, tls, version } from "./scenario.mjs";

version("knex");
await check("tls", "verified", async () => {
  const secure = Knex({ client: "pg", connection: { ...server, ssl: tls } });
  same((await secure.raw("SELECT 1 AS a")).rows, [{ a: 1 }]);
  await secure.destroy();
});
const knex = Knex({ client: "pg", connection: server, pool: { min: 0, max: 4 } });
await check("connect", "with a password", async () => same((await knex.raw("SELECT 1 AS a")).rows, [{ a: 1 }]));
mkdirSync("migrations");
writeFileSync("migrations/1_authors.cjs", `
exports.up = (knex) => knex.schema.createTable("authors", (t) => {
  t.increments("id"); t.string("name", 80).notNullable().unique(); t.timestamps(true, true); t.jsonb("notes").defaultTo("{}");
});
exports.down = (knex) => knex.schema.dropTable("authors");`);
writeFileSync("migrations/2_books.cjs", `
exports.up = async (knex) => {
  await knex.schema.createTable("books", (t) => {
    t.bigIncrements("id"); t.integer("author_id").references("authors.id").onDelete("CASCADE").index();
    t.text("title").notNullable(); t.decimal("price", 10, 2).checkPositive(); t.enu("mood", ["sad", "ok"]);
    t.specificType("tags", "text[]"); t.comment("what is read");
  });
  await knex.schema.alterTable("books", (t) => {
    t.integer("pages").defaultTo(1); t.renameColumn("title", "name"); t.unique(["author_id", "name"]); t.dropNullable("price");
  });
};
exports.down = (knex) => knex.schema.dropTable("books");`);
const migrations = { directory: "./migrations" };
await check("migrations", "latest, rollback, again", async () => {
  same((await knex.migrate.latest(migrations))[1], ["1_authors.cjs", "2_books.cjs"]);
  same((await knex.migrate.rollback(migrations, true))[1].length, 2);
  await knex.migrate.up(migrations);
  await knex.migrate.up(migrations);
  same((await knex.migrate.list(migrations))[1].length, 0);
});
await check("metadata", "hasTable, columnInfo", async () => {
  same([await knex.schema.hasTable("books"), await knex.schema.hasColumn("books", "title")], [true, false]);
  const { name } = await knex("authors").columnInfo();
  same([name.type, name.maxLength, name.nullable], ["character varying", 80, false]);
});
await check("queries", "insert, returning, join, group", async () => {
  const [{ id }] = await knex("authors").insert({ name: "Ann" }).returning("id");
  await knex("books").insert([1, 2, 3].map((n) => ({ author_id: id, name: `T${n}`, price: n, mood: "ok", tags: ["a"] })));
  const found = await knex("authors").join("books", "authors.id", "books.author_id").groupBy("authors.name")
    .select("authors.name").count("* as n").sum({ s: "price" });
  same(found, [{ name: "Ann", n: "3", s: "6.00" }]);
});
await check("queries", "upsert, update, delete", async () => {
  await knex("authors").insert({ name: "Ann", notes: { a: 1 } }).onConflict("name").merge();
  same((await knex("authors").where({ name: "Ann" }).first()).notes, { a: 1 });
  same(await knex("books").where("price", ">", 2).update({ price: 9 }), 1);
  same(await knex("books").whereIn("name", ["T1", "T2"]).del(), 2);
});
await check("queries", "with, window, subquery", async () => {
  const found = await knex.with("few", knex("books").select("name", "price")).select("name")
    .rank("r", (r) => r.orderBy("price")).from("few");
  same(found, [{ name: "T3", r: "1" }]);
});
await check("queries", "errors", () => refused(knex("missing").select(), "42P01"));
await check("copy", "batchInsert", async () => {
  const [{ id }] = await knex("authors").select("id").limit(1);
  const rows = Array.from({ length: 500 }, (_, n) => ({ author_id: id, name: `B${n}`, price: n + 1 }));
  await knex.batchInsert("books", rows, 100);
  same(await knex("books").count("* as n"), [{ n: "501" }]);
});
await check("transactions", "commit, rollback, nested", async () => {
  await knex.transaction(async (tx) => {
    await tx("authors").insert({ name: "Bob" });
    await tx.transaction(async (inner) => {
      await inner("authors").insert({ name: "Bob" });
    }).catch((error) => same(error.code, "23505"));
  });
  same(await knex("authors").count("* as n"), [{ n: "2" }]);
});
await check("transactions", "forUpdate", () =>
  knex.transaction(async (tx) => same((await tx("authors").where({ name: "Bob" }).forUpdate()).length, 1)));
await check("cancel", "timeout with cancel", async () => {
  const error = await knex.raw("SELECT sum(a.n % b.n) FROM generate_series(1, 100000) a(n), generate_series(1, 100000) b(n)")
    .timeout(500, { cancel: true }).then(() => null, (raised) => raised);
  same(error?.name, "KnexTimeoutError");
});
await check("prepared", "stream by a cursor", async () => {
  let seen = 0;
  for await (const row of knex("books").select("id").stream()) seen += row.id ? 1 : 0;
  same(seen, 501);
});
await knex.destroy();
