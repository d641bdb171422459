// node-postgres: queries, types, prepared statements, pools, cursors, COPY streams, cancel.
import pg from "pg";
import Cursor from "pg-cursor";
import { from, to } from "pg-copy-streams";
import { pipeline } from "node:stream/promises";
import { Readable } from "node:stream";
import { ENDLESS, check, refused, same, server, tls, until, version } from "./scenario.mjs";

version("pg");
await check("connect", "with a password", async () => {
  const client = new pg.Client(server);
  await client.connect();
  await client.end();
});
await check("tls", "verified", async () => {
  const client = new pg.Client({ ...server, ssl: tls });
  await client.connect();
  same(client.connection.stream.encrypted, true);
  await client.end();
});
const client = new pg.Client(server);
await client.connect();
const rows = async (...query) => (await client.query(...query)).rows;
await check("queries", "rows", async () =>
  same(await rows("SELECT g, g::text AS t FROM generate_series(1, 2) g"), [{ g: 1, t: "1" }, { g: 2, t: "2" }]));
await check("queries", "parameters", async () =>
  same(await rows("SELECT $1::int + $2 AS s, $3::text IS NULL AS n", [1, 2, null]), [{ s: 3, n: true }]));
await check("queries", "several statements", async () =>
  same((await client.query("SELECT 1 AS a; SELECT 2 AS b")).map((each) => each.rows), [[{ a: 1 }], [{ b: 2 }]]));
await check("queries", "errors", async () => {
  await refused(client.query("SELECT * FROM missing"), "42P01");
  await refused(client.query("SELECT 1 / $1::int", [0]), "22012");
});
await check("queries", "pool", async () => {
  const pool = new pg.Pool({ ...server, max: 5 });
  const found = await Promise.all(Array.from({ length: 20 }, (_, n) => pool.query("SELECT $1::int AS n", [n])));
  same(found.map((each) => each.rows[0].n), Array.from({ length: 20 }, (_, n) => n));
  await pool.end();
});
const values = [
  ["boolean", true], ["integer", 42], ["bigint", "-9223372036854775808"], ["double precision", 0.1],
  ["numeric", "12345678901234567890.123"], ["text", "né \"x' \\ 😀"], ["bytea", Buffer.from([0, 255, 92])],
  ["timestamptz", new Date(Date.UTC(2024, 6, 1, 12, 30))], ["uuid", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"],
  ["integer[]", [1, null, 3]], ["text[]", ["a", 'b "c"', null, ""]], ["json", { a: [1, null] }],
  ["jsonb", { b: "ß" }], ["text", null],
];
for (const [type, value] of values)
  await check("types", type, async () => same((await rows(`SELECT $1::${type} AS v`, [value]))[0].v, value));
await check("prepared", "named statements", async () => {
  for (let n = 0; n < 5; n++)
    same(await rows({ name: "twice", text: "SELECT $1::int * 2 AS v", values: [n] }), [{ v: 2 * n }]);
});
await check("prepared", "results in binary", async () => {
  const binary = new pg.Client({ ...server, binary: true });
  await binary.connect();
  const query = { text: "SELECT 1::int AS i, 2.5::float8 AS f, 'x'::text AS t, true AS b", binary: true };
  same((await binary.query(query)).rows, [{ i: 1, f: 2.5, t: "x", b: true }]);
  await binary.end();
});
await check("prepared", "cursor", async () => {
  const cursor = client.query(new Cursor("SELECT * FROM generate_series(1, $1::int) g", [1000]));
  same((await cursor.read(10)).length, 10);
  same((await cursor.read(2000)).at(-1), { g: 1000 });
  await cursor.close();
});
await client.query("CREATE TABLE t (id int PRIMARY KEY, name text)");
await check("transactions", "rollback to a savepoint", async () => {
  await client.query("BEGIN");
  await client.query("INSERT INTO t VALUES (1, 'a')");
  await client.query("SAVEPOINT s");
  await refused(client.query("INSERT INTO t VALUES (1, 'b')"), "23505");
  await client.query("ROLLBACK TO s");
  await client.query("COMMIT");
  same(await rows("SELECT * FROM t"), [{ id: 1, name: "a" }]);
});
await check("transactions", "a failed one refuses", async () => {
  await client.query("BEGIN");
  await refused(client.query("SELECT 1 / 0"), "22012");
  await refused(client.query("SELECT 1"), "25P02");
  await client.query("ROLLBACK");
});
await check("copy", "streams in and out", async () => {
  const lines = Array.from({ length: 1000 }, (_, n) => `${n + 10}\tname ${n}\n`);
  await pipeline(Readable.from(lines), client.query(from("COPY t FROM STDIN")));
  let text = "";
  for await (const chunk of client.query(to("COPY (SELECT * FROM t WHERE id >= 10 ORDER BY id) TO STDOUT"))) text += chunk;
  same(text, lines.join(""));
});
await check("metadata", "columns of a result", async () => {
  const { fields } = await client.query("SELECT id, name FROM t LIMIT 0");
  same(fields.map((each) => [each.name, each.dataTypeID, each.columnID]), [["id", 23, 1], ["name", 25, 2]]);
});
const other = new pg.Client(server);
await other.connect();
await check("cancel", "pg_cancel_backend", async () => {
  const running = refused(client.query(ENDLESS), "57014");
  await until(async () => (await other.query("SELECT pg_cancel_backend(pid) AS done FROM pg_stat_activity WHERE pid = $1 AND state = 'active'", [client.processID])).rowCount === 1);
  await running;
  same(await rows("SELECT 1 AS a"), [{ a: 1 }]);
});
await check("cancel", "statement_timeout", async () => {
  const short = new pg.Client({ ...server, statement_timeout: 200 });
  await short.connect();
  await refused(short.query(ENDLESS), "57014");
  await short.end();
});
await check("queries", "notifications", async () => {
  const said = new Promise((resolve) => client.once("notification", (each) => resolve(each.payload)));
  await client.query("LISTEN c");
  await other.query("SELECT pg_notify('c', 'hello')");
  same(await said, "hello");
});
await client.end();
await other.end();
