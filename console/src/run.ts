/** Running statements in a tab's session: results as they stream, and all rows of a short question. */
import { type ColumnInfo, Rows } from "./arrow";
import { type ErrorFields, send, ServerError } from "./api";
import { readFrames } from "./frames";

/** Why downloads and charts of a result run its statement again. */
export const NOT_KEPT = "The server does not keep this result, since it is large, cut, or too long ago.";

export interface Complete {
  tag: string;
  rows: number | null;
  ms: number;
  first_row_ms?: number | null;
  engine?: string | null;
  /** Bytes that the statement read, where the server knows them. */
  bytes?: number | null;
  notices?: (ErrorFields | string)[];
  truncated?: boolean;
  /** Names the rows where the server keeps all of them, for downloads and charts. */
  kept?: string;
}

type Event =
  | { event: "result"; statement: number; columns: ColumnInfo[] }
  | ({ event: "complete"; statement?: number } & Complete)
  | ({ event: "error"; statement: number } & ErrorFields)
  | { event: "end"; transaction: "idle" | "in" | "failed" };

export interface Listener {
  result?(rows: Rows, statement: number): void;
  /** More rows of the latest result are there. */
  rows?(rows: Rows): void;
  complete?(complete: Complete, rows: Rows | null): void;
  error?(error: ErrorFields, statement: number): void;
  end?(transaction: "idle" | "in" | "failed"): void;
}

export interface RunOptions {
  parameters?: (string | null)[];
  form?: "grid" | "chart";
  rows?: number;
  /** The server shall keep the rows for a while. */
  keep?: boolean;
  signal?: AbortSignal;
}

export function makeId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Runs statements in a tab's session. Raises ServerError where no stream begins. */
export async function run(tab: string, id: string, sql: string, listener: Listener, options: RunOptions = {}): Promise<void> {
  const { signal, ...more } = options;
  const response = await send("POST", "/statements", { tab, id, sql, ...more }, signal);
  let rows: Rows | null = null;
  for await (const frame of readFrames(response.body!)) {
    if (frame.kind === "A") {
      rows?.push(frame.payload);
      if (rows) listener.rows?.(rows);
      continue;
    }
    const event = JSON.parse(new TextDecoder().decode(frame.payload)) as Event;
    if (event.event === "result") {
      rows = new Rows(event.columns);
      listener.result?.(rows, event.statement);
    } else if (event.event === "complete") {
      listener.complete?.(event, rows);
      rows = null;
    } else if (event.event === "error") {
      listener.error?.(event, event.statement);
      rows = null;
    } else {
      listener.end?.(event.transaction);
    }
  }
}

export async function cancel(tab: string, id: string): Promise<void> {
  await send("POST", "/cancel", { tab, id });
}

export type Cell = string | null;

const waiting = new Map<string, Promise<unknown>>();

/** Marks the page's own questions, so that its list of the latest statements leaves them out. */
export const OWN = "/* console */";

/** Asks one question and returns its rows as text. Questions of one tab wait for each other. Raises ServerError. */
export function ask(sql: string, tab = sideTab): Promise<Cell[][]> {
  const before = waiting.get(tab) ?? Promise.resolve();
  const asked = before.then(() => collect(`${OWN} ${sql}`, tab));
  waiting.set(tab, asked.catch(() => undefined));
  return asked;
}

/** The session of the page itself: catalog and server pane. */
export const sideTab = `page-${makeId()}`;

async function collect(sql: string, tab: string): Promise<Cell[][]> {
  let found: Rows | null = null;
  let failed: ErrorFields | null = null;
  await run(tab, makeId(), sql, {
    result: (rows) => (found = rows),
    error: (error) => (failed = error),
  });
  if (failed) throw new ServerError(failed);
  const rows = found as Rows | null;
  if (!rows) return [];
  return Array.from({ length: rows.count }, (_, row) => rows.columns.map((_, column) => rows.text(row, column)));
}

/** A text as a constant of SQL. */
export function quoteLiteral(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** A name as an identifier of SQL, quoted where it has to be. */
export function quoteName(name: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(name) && !RESERVED.has(name) ? name : `"${name.replaceAll('"', '""')}"`;
}

const RESERVED = new Set(
  (
    "all analyse analyze and any array as asc asymmetric both case cast check collate column constraint create current_catalog " +
    "current_date current_role current_time current_timestamp current_user default deferrable desc distinct do else end except " +
    "false fetch for foreign from grant group having in initially intersect into lateral leading limit localtime localtimestamp " +
    "not null offset on only or order placing primary references returning select session_user some symmetric table then to " +
    "trailing true union unique user using variadic when where window with authorization binary collation concurrently cross " +
    "current_schema freeze full ilike inner is isnull join left like natural notnull outer overlaps right similar tablesample verbose qualify asof"
  ).split(" "),
);
