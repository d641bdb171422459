// postgres.js: tagged templates, pipelined and prepared, cursors, COPY streams, cancel.
import postgres from "postgres";
import { pipeline } from "node:stream/promises";
import { Readable } from "node:stream";
import { ENDLESS, check, refused, same, server, tls, url, version } from "./scenario.mjs";

version("postgres");
await check("connect", "with a password", async () => {
  const once = postgres(url, { max: 1 });
  same([...(await once`SELECT 1 AS a`)], [{ a: 1 }]);
  await once.end();
});
await check("tls", "verified", async () => {
  const secure = postgres({ ...server, username: server.user, ssl: tls, max: 1 });
  same([...(await secure`SELECT 1 AS a`)], [{ a: 1 }]);
  await secure.end();
});
const sql = postgres(url, { max: 3, onnotice: () => {} });
await check("queries", "rows and parameters", async () =>
  same([...(await sql`SELECT g, ${"x"}::text AS t FROM generate_series(1, ${2}::int) g`)], [{ g: 1, t: "x" }, { g: 2, t: "x" }]));
await check("queries", "errors", async () => {
  await refused(sql`SELECT * FROM missing`, "42P01");
  await refused(sql`SELECT 1 / ${0}::int`, "22012");
});
await check("queries", "many at once", async () => {
  const found = await Promise.all(Array.from({ length: 50 }, (_, n) => sql`SELECT ${n}::int AS n`));
  same(found.map(([row]) => row.n), Array.from({ length: 50 }, (_, n) => n));
});
await check("queries", "several statements, simple protocol", async () =>
  same((await sql.unsafe("SELECT 1 AS a; SELECT 2 AS b").simple()).map((each) => [...each]), [[{ a: 1 }], [{ b: 2 }]]));
await sql`CREATE TABLE t (id int PRIMARY KEY, name text, tags text[], doc jsonb)`;
await check("queries", "inserts by helpers", async () => {
  const rows = [{ id: 1, name: "a", tags: ["x", "y"] }, { id: 2, name: null, tags: [] }];
  await sql`INSERT INTO t ${sql(rows, "id", "name", "tags")}`;
  same([...(await sql`SELECT id, name, tags FROM t WHERE id IN ${sql([1, 2])} ORDER BY id`)], rows);
  await sql`UPDATE t SET ${sql({ name: "b" }, "name")} WHERE id = 2`;
});
const values = [
  ["boolean", true], ["integer", 42], ["bigint", "9007199254740993"], ["double precision", 0.1],
  ["numeric", "12345678901234567890.123"], ["text", "né \"x' \\ 😀"], ["bytea", Buffer.from([0, 255, 92])],
  ["timestamptz", new Date(Date.UTC(2024, 6, 1, 12, 30))], ["date", new Date(Date.UTC(2024, 1, 29))],
  ["uuid", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"], ["integer[]", [1, 2]], ["text[]", ["a", 'b "c"', ""]],
  ["jsonb", { a: [1, null] }],
];
for (const [type, value] of values)
  await check("types", type, async () => same((await sql.unsafe(`SELECT $1::${type} AS v`, [value]))[0].v, value));
await check("prepared", "describe", async () => {
  const found = await sql`SELECT id, name FROM t WHERE id = ${1}`.describe();
  same([found.types, found.columns.map((each) => each.name)], [[23], ["id", "name"]]);
});
await check("prepared", "cursor", async () => {
  const sizes = [];
  for await (const rows of sql`SELECT * FROM generate_series(1, 100)`.cursor(40)) sizes.push(rows.length);
  same(sizes, [40, 40, 20]);
});
await check("transactions", "begin, savepoint, rollback", async () => {
  await sql.begin(async (tx) => {
    await tx`INSERT INTO t (id) VALUES (3)`;
    await tx.savepoint((inner) => inner`INSERT INTO t (id) VALUES (3)`).catch((error) => same(error.code, "23505"));
  });
  await sql.begin(async (tx) => {
    await tx`DELETE FROM t`;
    throw new Error("back");
  }).catch((error) => same(error.message, "back"));
  same([...(await sql`SELECT count(*)::int AS n FROM t`)], [{ n: 3 }]);
});
await check("copy", "streams in and out", async () => {
  const lines = Array.from({ length: 1000 }, (_, n) => `${n + 10}\tname ${n}\n`);
  await pipeline(Readable.from(lines), await sql`COPY t (id, name) FROM STDIN`.writable());
  let text = "";
  for await (const chunk of await sql`COPY (SELECT id, name FROM t WHERE id >= 10 ORDER BY id) TO STDOUT`.readable()) text += chunk;
  same(text, lines.join(""));
});
await check("metadata", "columns of a result", async () => {
  const { columns } = await sql`SELECT id, name FROM t LIMIT 0`;
  same(columns.map((each) => [each.name, each.type]), [["id", 23], ["name", 25]]);
});
await check("cancel", "cancel", async () => {
  const query = sql.unsafe(ENDLESS);
  const running = refused(query, "57014");
  setTimeout(() => query.cancel(), 500);
  await running;
  same([...(await sql`SELECT 1 AS a`)], [{ a: 1 }]);
});
await check("queries", "notifications", async () => {
  const said = new Promise((resolve) => sql.listen("c", resolve).then(() => sql.notify("c", "hello")));
  same(await said, "hello");
});
await sql.end({ timeout: 5 });
