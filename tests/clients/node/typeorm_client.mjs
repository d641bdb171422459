// TypeORM: schema synchronized, generated and reverted migrations, repositories, query builder.
import "reflect-metadata";
import { DataSource, EntitySchema, MoreThan } from "typeorm";
import { check, refused, same, server, tls, version } from "./scenario.mjs";

version("typeorm");
const options = { type: "postgres", uuidExtension: "pgcrypto", host: server.host, port: server.port, username: server.user, password: server.password, database: server.database };
const Author = (more = {}) => new EntitySchema({
  name: "author",
  columns: {
    id: { type: "int", primary: true, generated: true },
    name: { type: "varchar", length: 80, unique: true },
    mood: { type: "enum", enum: ["sad", "ok"], default: "ok" },
    notes: { type: "jsonb", nullable: true },
    ...more,
  },
  relations: { books: { type: "one-to-many", target: "book", inverseSide: "author" } },
});
const Book = new EntitySchema({
  name: "book",
  columns: {
    id: { type: "uuid", primary: true, generated: "uuid" },
    title: { type: "text", comment: "as printed" },
    price: { type: "numeric", precision: 10, scale: 2 },
    tags: { type: "text", array: true, default: [] },
    printed: { type: "timestamptz", createDate: true },
  },
  indices: [{ columns: ["price", "title"] }],
  checks: [{ expression: '"price" > 0' }],
  relations: { author: { type: "many-to-one", target: "author", inverseSide: "books", onDelete: "CASCADE" } },
});
const open = (more) => new DataSource({ ...options, entities: [Author(), Book], ...more }).initialize();
await check("connect", "with a password", async () => (await open({})).destroy());
await check("tls", "verified", async () => (await open({ ssl: tls })).destroy());
let db;
await check("migrations", "synchronize", async () => { db = await open({ synchronize: true }); });
await check("metadata", "nothing is left to synchronize", async () => {
  const left = await db.driver.createSchemaBuilder().log();
  same(left.upQueries.map((each) => each.query), []);
});
await check("migrations", "a column is added, and nothing is left", async () => {
  const later = await open({ entities: [Author({ country: { type: "varchar", length: 2, default: "no" } }), Book], synchronize: true });
  same((await later.driver.createSchemaBuilder().log()).upQueries.map((each) => each.query), []);
  await later.destroy();
});
await check("migrations", "run and revert", async () => {
  class First1700000000000 {
    up(run) { return run.query('CREATE TABLE "first" (id serial PRIMARY KEY)'); }
    down(run) { return run.query('DROP TABLE "first"'); }
  }
  const migrated = await open({ migrations: [First1700000000000], migrationsTransactionMode: "all" });
  same((await migrated.runMigrations()).length, 1);
  await migrated.undoLastMigration();
  same(await migrated.createQueryRunner().hasTable("first"), false);
  await migrated.destroy();
});
const authors = db.getRepository("author"), books = db.getRepository("book");
await check("queries", "save with relations, find", async () => {
  const ann = await authors.save({ name: "Ann", notes: { a: [1] } });
  await books.save([1, 2, 3].map((n) => ({ title: `T${n}`, price: n, tags: ["x", "y"], author: ann })));
  const found = await authors.findOne({ where: { name: "Ann", books: { price: MoreThan(1) } }, relations: { books: true } });
  same(found.books.length, 2);
  same((await books.findAndCount({ order: { price: "DESC" }, take: 1 }))[0][0].title, "T3");
});
await check("queries", "query builder", async () => {
  const found = await books.createQueryBuilder("b").innerJoin("b.author", "a").select("a.name", "name")
    .addSelect("SUM(b.price)", "s").groupBy("a.name").getRawMany();
  same(found, [{ name: "Ann", s: "6.00" }]);
  await authors.upsert({ name: "Ann", mood: "sad" }, ["name"]);
  await books.increment({ title: "T1" }, "price", 2);
  same((await books.findOneBy({ title: "T1" })).price, "3.00");
});
await check("queries", "errors", () => refused(db.query("SELECT * FROM missing"), "42P01"));
await check("prepared", "parameters", async () => same(await db.query("SELECT $1::int + $2::int AS s", [1, 2]), [{ s: 3 }]));
await check("types", "there and back", async () => {
  const made = await books.save({ title: "né \"x' \\ 😀", price: "12.30", tags: ["a", 'b "c"'] });
  const { title, price, tags, printed } = await books.findOneBy({ id: made.id });
  same([title, price, tags, printed], [made.title, "12.30", ["a", 'b "c"'], made.printed]);
});
await check("transactions", "nested, rolled back", async () => {
  await db.transaction("REPEATABLE READ", async (tx) => {
    await tx.save("author", { name: "Bob" });
    await tx.transaction((inner) => inner.insert("author", { name: "Bob" })).catch((error) => same(error.code, "23505"));
  });
  same(await authors.count(), 2);
});
await check("transactions", "pessimistic locks", () => db.transaction(async (tx) =>
  same((await tx.findOne("author", { where: { name: "Bob" }, lock: { mode: "pessimistic_write" } })).name, "Bob")));
await check("metadata", "tables as the query runner reads them", async () => {
  const run = db.createQueryRunner();
  const table = await run.getTable("book");
  same(table.foreignKeys.map((each) => each.referencedTableName), ["author"]);
  same(table.columns.find((each) => each.name === "price").scale, 2);
  await run.release();
});
await check("migrations", "drop", () => db.dropDatabase());
await db.destroy();
