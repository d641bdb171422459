// MikroORM: entities by schema, migrations and diffs, unit of work, relations, JSON, arrays, locks.
import { EntitySchema, LockMode, MikroORM, raw } from "@mikro-orm/postgresql";
import { Migrator } from "@mikro-orm/migrations";
import { check, same, server, version } from "./scenario.mjs";

version("@mikro-orm/core");
class Author {}
class Book {}
class Tag {}
const author = new EntitySchema({
  class: Author,
  properties: {
    id: { type: "integer", primary: true },
    name: { type: "string", length: 80, unique: true },
    notes: { type: "json", nullable: true },
    created: { type: "datetime", defaultRaw: "now()" },
    mood: { enum: true, items: ["sad", "ok"], default: "ok" },
    books: { kind: "1:m", entity: () => Book, mappedBy: "author", orphanRemoval: true },
  },
});
const book = new EntitySchema({
  class: Book,
  uniques: [{ properties: ["author", "title"] }],
  properties: {
    id: { type: "bigint", primary: true },
    title: { type: "text", comment: "what it is called" },
    price: { type: "decimal", precision: 10, scale: 2, default: 0, check: "price >= 0" },
    words: { type: "string[]", nullable: true },
    raw: { type: "blob", nullable: true },
    version: { type: "integer", version: true },
    author: { kind: "m:1", entity: () => Author, deleteRule: "cascade" },
    tags: { kind: "m:n", entity: () => Tag, owner: true },
  },
});
const tag = new EntitySchema({ class: Tag, properties: { id: { type: "uuid", primary: true, defaultRaw: "gen_random_uuid()" }, word: { type: "string", index: true } } });
let orm;
const options = {
  dbName: server.database, host: server.host, port: server.port, user: server.user, password: server.password,
  entities: [author, book, tag], extensions: [Migrator], discovery: { warnWhenNoEntities: false }, allowGlobalContext: true,
  migrations: { path: "./migrations", snapshot: false, emit: "cjs" },
};
await check("connect", "with a password", async () => {
  orm = await MikroORM.init(options);
  same(await orm.isConnected(), true);
});
await check("migrations", "its schema", async () => {
  await orm.schema.createSchema();
});
await check("metadata", "no difference to its own schema", async () => {
  same((await orm.schema.getUpdateSchemaSQL({ wrap: false })).trim(), "");
});
const em = () => orm.em.fork();
await check("queries", "unit of work with relations", async () => {
  const own = em();
  const ann = own.create(Author, { name: "Ann", notes: { a: [1, null] } });
  for (let n = 1; n <= 4; n++) {
    own.create(Book, { title: `T${n}`, price: n / 2, words: ["a", 'b"c'], raw: Buffer.from([0, 255]), author: ann, tags: [own.create(Tag, { word: `w${n % 2}` })] });
  }
  await own.flush();
  const found = await em().findOneOrFail(Author, { name: "Ann" }, { populate: ["books.tags"] });
  same([found.notes, found.mood, found.books.length], [{ a: [1, null] }, "ok", 4]);
  same([...found.books[0].raw], [0, 255]);
  same(found.books[0].words, ["a", 'b"c']);
});
await check("queries", "conditions", async () => {
  const own = em();
  same((await own.find(Book, { author: { name: "Ann" }, price: { $gte: 1, $lt: 2 }, words: { $contains: ["a"] } })).length, 2);
  same((await own.find(Author, { notes: { a: { $ne: null } }, name: { $ilike: "aN%" } })).length, 1);
  same((await own.findAndCount(Book, { tags: { word: "w1" } }, { limit: 1, orderBy: { price: "desc" } })).map((x) => (Array.isArray(x) ? x[0].title : x)), ["T3", 2]);
  same((await own.findByCursor(Book, {}, { first: 3, orderBy: { id: "asc" } })).length, 3);
});
await check("queries", "query builder", async () => {
  const own = em();
  const rows = await own.createQueryBuilder(Author, "a").leftJoin("a.books", "b").select(["a.name", raw("count(b.id) as n"), raw("sum(b.price) as s")]).groupBy("a.name").execute("all", false);
  same(rows, [{ name: "Ann", n: "4", s: "5.00" }]);
  same(await own.createQueryBuilder(Book).update({ price: 9 }).where({ title: "T4" }).execute().then((r) => r.affectedRows), 1);
});
await check("queries", "upsert, update, removal", async () => {
  const own = em();
  const made = await own.upsert(Author, { name: "Ann", mood: "sad" });
  same(made.mood, "sad");
  await own.upsertMany(Author, [{ name: "Bob" }, { name: "Cid" }]);
  same(await own.count(Author), 3);
  const one = await own.findOneOrFail(Book, { title: "T1" });
  one.price = 7;
  await own.flush();
  same(one.version, 2);
  same(await own.nativeDelete(Author, { name: "Cid" }), 1);
  own.remove(await own.findOneOrFail(Author, { name: "Ann" }, { populate: ["books"] }));
  await own.flush();
  same(await own.count(Book), 0);
});
await check("transactions", "rollback, nested, locks", async () => {
  const own = em();
  await own.transactional(async (t) => {
    t.create(Author, { name: "Dan" });
    await t.flush();
    await t.transactional(async (n) => { n.create(Author, { name: "Eve" }); await n.flush(); throw new Error("undone"); }).catch(() => {});
    await t.findOneOrFail(Author, { name: "Dan" }, { lockMode: LockMode.PESSIMISTIC_WRITE });
  });
  same((await em().find(Author, { name: ["Dan", "Eve"] })).map((a) => a.name), ["Dan"]);
});
await check("migrations", "dropped", async () => { await orm.schema.dropSchema(); });
await orm.close(true);
