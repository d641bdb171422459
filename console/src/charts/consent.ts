/** Dashboards of others run their author's SQL with the viewer's rights: what of it is asked about first, and remembered. */
import { session, type SavedDocument } from "../api";
import { ask, quoteLiteral } from "../run";
import { keep, readKept } from "../state";
import { type Body, quoteTable } from "./body";

/** SQL that a role's dashboard would run, or that of the view which it names. */
export interface Foreign {
  author: string;
  view: string | null;
  sql: string;
  /** What was agreed to: another text, or author, is asked about again. */
  hash: string;
}

const MOST_REMEMBERED = 500;

/** The SQL of a dashboard about which its viewer has to be asked; null where it is his own, names a plain table, or is agreed to. */
export async function findForeign(document: SavedDocument, body: Body): Promise<Foreign | null> {
  const { source } = body;
  if (document.owner !== null && document.owner === session.value?.user) return null;
  const view = "table" in source ? await readView(source.table) : null;
  const sql = "sql" in source ? source.sql : view?.sql;
  if (sql === undefined) return null;
  const author = view?.owner ?? document.owner ?? "a role that is gone";
  const hash = await digest(JSON.stringify([author, "sql" in source ? null : source.table, sql]));
  return listAgreed().includes(hash) ? null : { author, view: "table" in source ? source.table : null, sql, hash };
}

/** Remembers in this browser that the role agrees. */
export function agree({ hash }: Foreign): void {
  keep(place(), [hash, ...listAgreed().filter((each) => each !== hash)].slice(0, MOST_REMEMBERED));
}

const place = () => `agreed.${session.value?.user ?? ""}`;

function listAgreed(): string[] {
  const kept = readKept<unknown>(place(), []);
  return Array.isArray(kept) ? kept.filter((each) => typeof each === "string") : [];
}

/** The owner and SQL of a view that is another role's; null for what is no view. */
async function readView(table: string): Promise<{ owner: string; sql: string } | null> {
  const [found] = await ask(
    `SELECT pg_get_userbyid(c.relowner), pg_get_viewdef(c.oid) FROM pg_class c WHERE c.oid = to_regclass(${quoteLiteral(quoteTable(table))}) AND c.relkind = 'v'`,
  );
  return found && found[0] !== session.value?.user ? { owner: found[0] ?? "", sql: (found[1] ?? "").trim() } : null;
}

async function digest(text: string): Promise<string> {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
