// Drizzle: queries of its ORM, its migrator, and drizzle-kit's push and introspection.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { eq, gt, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import { migrate } from "drizzle-orm/node-postgres/migrator";
import driver from "pg";
import { check, refused, same, server, tls, url, version } from "./scenario.mjs";

version("drizzle-orm");
const here = import.meta.dirname;
const run = path.basename(process.cwd());
const folder = path.join(here, "drizzle", run);
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
const SCHEMA = `import * as pg from "drizzle-orm/pg-core";
export const mood = pg.pgEnum("mood", ["sad", "ok"]);
export const authors = pg.pgTable("authors", {
  id: pg.serial("id").primaryKey(), name: pg.varchar("name", { length: 80 }).notNull().unique(),
  mood: mood("mood").default("ok"), notes: pg.jsonb("notes"),
});
export const books = pg.pgTable("books", {
  id: pg.uuid("id").defaultRandom().primaryKey(),
  authorId: pg.integer("author_id").references(() => authors.id, { onDelete: "cascade" }),
  title: pg.text("title").notNull(), price: pg.numeric("price", { precision: 10, scale: 2 }),
  tags: pg.text("tags").array(), printed: pg.timestamp("printed", { withTimezone: true }).defaultNow(),
}, (t) => [pg.index("price_title").on(t.price, t.title)]);
`;
writeFileSync(path.join(folder, "schema.mjs"), SCHEMA);
const { authors, books } = await import(path.join(folder, "schema.mjs"));
const kit = path.join(here, "node_modules/drizzle-kit/bin.cjs");
const config = path.join(folder, "drizzle.config.mjs");
const configure = (schema, out) => writeFileSync(config, `export default { dialect: "postgresql", schema: ${JSON.stringify(path.join("drizzle", run, schema))}, out: ${JSON.stringify(path.join("drizzle", run, out))}, dbCredentials: { url: ${JSON.stringify(url)}, ssl: false } };`);
const tool = (...options) => {
  try {
    return execFileSync(process.execPath, [kit, ...options, "--config", path.relative(here, config)], { cwd: here, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], timeout: 120000 });
  } catch (error) {
    const said = `${error.stdout}${error.stderr}`.split("\n").filter((line) => /error/i.test(line));
    throw new Error(said[0] ?? error.message);
  }
};
await check("tls", "verified", async () => {
  const pool = new driver.Pool({ ...server, ssl: tls });
  same((await drizzle(pool).execute(sql`SELECT 1 AS a`)).rows, [{ a: 1 }]);
  await pool.end();
});
const pool = new driver.Pool(server);
const db = drizzle(pool, { schema: { authors, books } });
await check("connect", "with a password", async () => same((await db.execute(sql`SELECT 1 AS a`)).rows, [{ a: 1 }]));
await check("migrations", "drizzle-kit generate, and the migrator", async () => {
  configure("schema.mjs", "migrations");
  tool("generate");
  await migrate(db, { migrationsFolder: path.join(folder, "migrations") });
  await migrate(db, { migrationsFolder: path.join(folder, "migrations") });
  same((await db.select().from(books)).length, 0);
});
await check("migrations", "drizzle-kit push", async () => {
  writeFileSync(path.join(folder, "later.mjs"), SCHEMA.replace('notes: pg.jsonb("notes")', 'notes: pg.jsonb("notes"), country: pg.varchar("country", { length: 2 }).default("no")'));
  configure("later.mjs", "pushed");
  tool("push", "--force");
  same((await db.execute(sql`SELECT country FROM authors`)).rows, []);
});
await check("metadata", "drizzle-kit pull", async () => {
  configure("schema.mjs", "pulled");
  tool("pull");
  const made = readFileSync(path.join(folder, "pulled", "schema.ts"), "utf8");
  same([/pgTable\("books"/.test(made), /precision: 10, scale:\s*2/.test(made), /onDelete\("cascade"\)/.test(made)], [true, true, true]);
});
await check("queries", "insert, join, group", async () => {
  const [{ id }] = await db.insert(authors).values({ name: "Ann", notes: { a: [1] } }).returning({ id: authors.id });
  await db.insert(books).values([1, 2, 3].map((n) => ({ authorId: id, title: `T${n}`, price: String(n), tags: ["x"] })));
  const found = await db.select({ name: authors.name, s: sql`sum(${books.price})` }).from(books)
    .innerJoin(authors, eq(authors.id, books.authorId)).groupBy(authors.name);
  same(found, [{ name: "Ann", s: "6.00" }]);
  same((await db.query.books.findMany({ where: gt(books.price, "1"), orderBy: books.title })).map((each) => each.title), ["T2", "T3"]);
});
await check("queries", "upsert, update, delete", async () => {
  await db.insert(authors).values({ name: "Ann" }).onConflictDoUpdate({ target: authors.name, set: { mood: "sad" } });
  same((await db.update(books).set({ price: "9.00" }).where(eq(books.title, "T1")).returning()).length, 1);
  same((await db.delete(books).where(eq(books.title, "T2"))).rowCount, 1);
});
await check("queries", "errors", () => refused(db.execute(sql`SELECT * FROM missing`), "42P01"));
await check("prepared", "named", async () => {
  const few = db.select().from(books).where(eq(books.title, sql.placeholder("title"))).prepare("few");
  same((await few.execute({ title: "T1" })).length, 1);
  same((await few.execute({ title: "T9" })).length, 0);
});
await check("types", "there and back", async () => {
  const row = { title: "né \"x' \\ 😀", price: "12.30", tags: ["a", 'b "c"'], printed: new Date(Date.UTC(2024, 6, 1)) };
  const [made] = await db.insert(books).values(row).returning();
  const { title, price, tags, printed } = made;
  same({ title, price, tags, printed }, row);
});
await check("transactions", "nested, rolled back", async () => {
  await db.transaction(async (tx) => {
    await tx.insert(authors).values({ name: "Bob" });
    await tx.transaction((inner) => inner.insert(authors).values({ name: "Bob" }))
      .catch((error) => same((error.cause ?? error).code, "23505"));
  }, { isolationLevel: "repeatable read" });
  same(await db.$count(authors), 2);
});
await pool.end();
