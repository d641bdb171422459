// Prisma: queries over its adapter of pg; its schema engine, as WebAssembly, pushes, introspects and migrates.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { PrismaPg } from "@prisma/adapter-pg";
import { bindMigrationAwareSqlAdapterFactory } from "@prisma/driver-adapter-utils";
import * as engines from "@prisma/schema-engine-wasm/schema_engine_bg";
import driver from "pg";
import { check, same, server, tls, url, version } from "./scenario.mjs";

version("prisma");
const here = import.meta.dirname;
const folder = path.join(here, "prisma", path.basename(process.cwd()));
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
const SCHEMA = `generator client {
  provider = "prisma-client-js"
  output   = "./generated"
}
datasource db {
  provider = "postgresql"
}
enum Mood {
  sad
  ok
}
model Author {
  id    Int     @id @default(autoincrement())
  name  String  @unique @db.VarChar(80)
  mood  Mood    @default(ok)
  notes Json?
  books Book[]
}
model Book {
  id       String   @id @default(uuid()) @db.Uuid
  title    String
  price    Decimal  @db.Decimal(10, 2)
  tags     String[]
  printed  DateTime @default(now()) @db.Timestamptz(6)
  raw      Bytes?
  big      BigInt?
  author   Author   @relation(fields: [authorId], references: [id], onDelete: Cascade)
  authorId Int
  @@unique([authorId, title])
  @@index([price, title(sort: Desc)])
}
`;
const file = (content) => ({ files: [{ path: "schema.prisma", content }] });
writeFileSync(path.join(folder, "schema.prisma"), SCHEMA);
writeFileSync(path.join(folder, "prisma.config.ts"), 'export default { schema: "schema.prisma", datasource: { url: "" } };\n');
// The command would fetch a schema engine for commands that ask the database; this one only writes files.
const command = [path.join(here, "node_modules/prisma/build/index.js"), "generate"];
const environment = { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, CHECKPOINT_DISABLE: "1" };
execFileSync(process.execPath, command, { cwd: folder, env: environment, stdio: ["ignore", "ignore", "inherit"] });
const { PrismaClient, Prisma } = (await import(path.join(folder, "generated", "index.js"))).default;

// The adapter cannot read the type "char", of any server, in which the catalog's codes are; its engine asks for them.
class Pool extends driver.Pool {
  async query(...given) {
    const found = await super.query(...given);
    for (const each of found?.fields ?? []) if (each.dataTypeID === 18) each.dataTypeID = 25;
    return found;
  }
}
const binary = readFileSync(path.join(here, "node_modules/@prisma/schema-engine-wasm/schema_engine_bg.wasm"));
const compiled = await WebAssembly.compile(binary);
const instance = await WebAssembly.instantiate(compiled, { "./schema_engine_bg.js": engines });
engines.__wbg_set_wasm(instance.exports);
instance.exports.__wbindgen_start();
const filters = { externalTables: [], externalEnums: [] };

/** Runs a body with a schema engine for a schema; its errors keep their text. */
async function migrating(content, body) {
  const adapter = bindMigrationAwareSqlAdapterFactory(new PrismaPg(new Pool(server)));
  const engine = await engines.SchemaEngine.new({ datamodels: [["schema.prisma", content]] }, () => {}, adapter);
  try {
    return await body(engine);
  } finally {
    engine.free();
  }
}

await check("connect", "with a password", async () => {
  const client = new PrismaClient({ adapter: new PrismaPg({ connectionString: url }) });
  same(await client.$queryRaw`SELECT 1 AS a`, [{ a: 1 }]);
  await client.$disconnect();
});
await check("tls", "verified", async () => {
  const client = new PrismaClient({ adapter: new PrismaPg({ ...server, ssl: tls }) });
  same(await client.$queryRaw`SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()`, [{ ssl: true }]);
  await client.$disconnect();
});
await check("migrations", "db push", () => migrating(SCHEMA, async (engine) => {
  same((await engine.schemaPush({ schema: file(SCHEMA), force: false, filters })).executedSteps > 0, true);
  same((await engine.schemaPush({ schema: file(SCHEMA), force: false, filters })).executedSteps, 0);
}));
const CHANGED = SCHEMA.replace("tags     String[]", 'tags     String[]\n  pages    Int      @default(1)');
await check("migrations", "db push of a changed schema, back and forth", async () => {
  const push = (content) => migrating(content, (engine) => engine.schemaPush({ schema: file(content), force: true, filters }));
  same((await push(CHANGED)).unexecutable, []);
  same((await push(CHANGED)).executedSteps, 0);
  same((await push(SCHEMA)).unexecutable, []);
});
await check("metadata", "db pull", () => migrating(SCHEMA, async (engine) => {
  const empty = file('datasource db {\n  provider = "postgresql"\n}\n');
  const found = await engine.introspect(
    { schema: empty, baseDirectoryPath: ".", force: true, compositeTypeDepth: -1, namespaces: null });
  const text = found.schema.files[0].content.replaceAll(/ +/g, " ");
  for (const part of [
    "enum Mood {", "@unique @db.VarChar(80)", "mood Mood @default(ok)", "notes Json?", "@id @db.Uuid", "@db.Decimal(10, 2)",
    "tags String[]", "@default(now()) @db.Timestamptz(6)", "raw Bytes?", "big BigInt?", "@@unique([authorId, title])",
    "@relation(fields: [authorId], references: [id], onDelete: Cascade)", "@@index([price, title(sort: Desc)])",
  ]) same([part, text.includes(part)], [part, true]);
}));

const db = new PrismaClient({ adapter: new PrismaPg(server) });
await check("queries", "nested creates, includes, filters", async () => {
  await db.author.create({ data: { name: "Ann", notes: { a: [1] }, books: { create: [1, 2, 3].map((n) => ({ title: `T${n}`, price: n, tags: ["x"] })) } } });
  const ann = await db.author.findUnique({ where: { name: "Ann" }, include: { books: { where: { price: { gt: 1 } }, orderBy: { price: "desc" } } } });
  same(ann.books.map((each) => each.title), ["T3", "T2"]);
  same(await db.author.count({ where: { books: { some: { title: { startsWith: "T", mode: "insensitive" } } } } }), 1);
  same(await db.author.count({ where: { books: { none: { price: { lt: 0 } } }, mood: "ok" } }), 1);
});
await check("queries", "aggregates, groups, distinct, pages", async () => {
  const [found] = await db.book.groupBy({ by: ["authorId"], _count: true, _sum: { price: true }, _max: { title: true } });
  same([found._count, String(found._sum.price), found._max.title], [3, "6", "T3"]);
  same(String((await db.book.aggregate({ _avg: { price: true } }))._avg.price), "2");
  const page = await db.book.findMany({ orderBy: { title: "asc" }, skip: 1, take: 1, distinct: ["authorId", "title"] });
  same(page.map((each) => each.title), ["T2"]);
  const next = await db.book.findMany({ cursor: { id: page[0].id }, skip: 1, take: 2, orderBy: { title: "asc" } });
  same(next.map((each) => each.title), ["T3"]);
});
await check("queries", "JSON and arrays", async () => {
  same(await db.author.count({ where: { notes: { path: ["a"], array_contains: 1 } } }), 1);
  same(await db.author.count({ where: { notes: { path: ["a", "0"], equals: 1 } } }), 1);
  same(await db.book.count({ where: { tags: { has: "x" } } }), 3);
  await db.book.updateMany({ where: { title: "T1" }, data: { tags: { push: "y" } } });
  same((await db.book.findFirst({ where: { tags: { hasEvery: ["x", "y"] } } })).title, "T1");
});
await check("queries", "upsert, increment, createMany and return", async () => {
  const upsert = () => db.author.upsert({ where: { name: "Bob" }, create: { name: "Bob" }, update: { mood: "sad" } });
  same([(await upsert()).mood, (await upsert()).mood], ["ok", "sad"]);
  await db.book.updateMany({ where: { title: "T1" }, data: { price: { increment: 2 } } });
  same(String((await db.book.findFirst({ where: { title: "T1" } })).price), "3");
  same((await db.author.createManyAndReturn({ data: [{ name: "Cid" }, { name: "Dan" }] })).length, 2);
  same((await db.author.createMany({ data: [{ name: "Cid" }], skipDuplicates: true })).count, 0);
});
await check("queries", "errors", async () => {
  await db.author.create({ data: { name: "Ann" } }).then(() => same(1, 2), (error) => same(error.code, "P2002"));
  await db.book.create({ data: { title: "x", price: 1, authorId: 999 } }).then(() => same(1, 2), (error) => same(error.code, "P2003"));
  const missing = await db.$queryRaw`SELECT * FROM missing`.then(() => null, (error) => error);
  same([missing.code, missing.message.includes("42P01")], ["P2010", true]);
});
await check("prepared", "raw queries with parameters", async () => {
  same(await db.$queryRaw`SELECT ${1}::int + ${2}::int AS s`, [{ s: 3 }]);
  same(await db.$executeRaw`UPDATE "Author" SET mood = ${"ok"}::"Mood" WHERE name IN (${Prisma.join(["Bob", "Cid"])})`, 2);
});
await check("types", "there and back", async () => {
  const data = { title: "né \"x' \\ 😀", price: "12.30", tags: ["a", 'b "c"'], raw: new Uint8Array([0, 255]), big: 2n ** 60n, printed: new Date("2024-02-29T12:30:00.123Z"), authorId: 1 };
  const { id } = await db.book.create({ data });
  const { title, price, tags, raw, big, printed, authorId } = await db.book.findUnique({ where: { id } });
  same({ title, price: price.toFixed(2), tags, raw: new Uint8Array(raw), big, printed, authorId }, data);
});
await check("copy", "createMany of many rows", async () => {
  const data = Array.from({ length: 3000 }, (_, n) => ({ title: `B${n}`, price: n, authorId: 1 }));
  same((await db.book.createMany({ data })).count, 3000);
});
await check("transactions", "batches, interactive ones, isolation", async () => {
  await db.$transaction([db.author.create({ data: { name: "Eve" } }), db.author.delete({ where: { name: "Dan" } })]);
  const failed = db.$transaction(async (inner) => {
    await inner.author.create({ data: { name: "Fay" } });
    throw new Error("no");
  }, { isolationLevel: "RepeatableRead" });
  same(await failed.then(() => "", (error) => error.message), "no");
  same(await db.author.count(), 4);
});
await check("migrations", "delete with what refers to it", async () => {
  await db.author.delete({ where: { name: "Ann" } });
  same(await db.book.count(), 0);
});
await db.$disconnect();
rmSync(folder, { recursive: true, force: true });
process.exit(0);
