// What the scenarios in JavaScript share: checks that print their outcome.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

export const ENDLESS =
  "SELECT sum(a.n % b.n) FROM generate_series(1, 100000) a(n), generate_series(1, 100000) b(n)";

const { PGHOST, PGPORT, PGUSER, PGPASSWORD, PGDATABASE, PGSSLROOTCERT } = process.env;
export const server = { host: PGHOST, port: Number(PGPORT), user: PGUSER, password: PGPASSWORD, database: PGDATABASE };
export const tls = { ca: readFileSync(PGSSLROOTCERT, "utf8"), rejectUnauthorized: true };
export const url =
  `postgres://${PGUSER}:${encodeURIComponent(PGPASSWORD)}@${PGHOST}:${PGPORT}/${PGDATABASE}`;

/** Prints the version of an installed package. */
export function version(name) {
  const read = JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, import.meta.url), "utf8"));
  console.log(JSON.stringify({ version: read.version }));
}

/** Runs a check and prints its outcome; an exception is its reason, and the scenario goes on. */
export async function check(feature, name, body) {
  let error = null;
  try {
    await body();
  } catch (raised) {
    const reason = raised?.message || raised?.errors?.[0]?.message || raised;
    error = `${raised?.code ?? raised?.name ?? ""}: ${String(reason).replaceAll("\n", " ")}`;
  }
  console.log(JSON.stringify({ feature, check: name, error }));
}

export const same = assert.deepStrictEqual;

/** Fails unless the promise is refused with this SQLSTATE, wherever the library puts it. */
export async function refused(promise, sqlstate) {
  let raised;
  try {
    await promise;
  } catch (error) {
    raised = error;
  }
  assert.ok(raised, `no error ${sqlstate}`);
  const places = [raised, raised.original, raised.parent, raised.cause, raised.driverError, raised.meta];
  assert.ok(places.some((each) => each?.code === sqlstate), `${raised.code} ${raised.message} instead of ${sqlstate}`);
}

/** Waits until a condition, which may be a promise, holds. */
export async function until(condition) {
  for (let tries = 0; tries < 600; tries++) {
    if (await condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error("waited in vain");
}
