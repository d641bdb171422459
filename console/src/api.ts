/** The server's addresses: login, documents, exports, and errors as the database raises them. */
import { signal } from "@preact/signals";

const BASE = "/console/api";

export interface Session {
  user: string;
  database: string;
  superuser: boolean;
  csrf: string;
  version: string;
  engine: string;
}

export interface ErrorFields {
  message: string;
  sqlstate?: string;
  severity?: string;
  detail?: string | null;
  hint?: string | null;
  /** Characters from the start of the statement's text, from 1. */
  position?: number | null;
}

/** An error of the database or of the way to it. */
export class ServerError extends Error {
  constructor(readonly fields: ErrorFields, readonly status = 0) {
    super(fields.message);
  }
}

/** Who is logged in; null if nobody, undefined until the server has answered. */
export const session = signal<Session | null | undefined>(undefined);

/** Sends a request; a JSON body where one is given. Raises ServerError; 401 ends the session. */
export async function send(method: string, path: string, body?: unknown, signal_?: AbortSignal): Promise<Response> {
  const headers: Record<string, string> = {};
  if (body !== undefined) headers["content-type"] = "application/json";
  if (session.value) headers["x-csrf-token"] = session.value.csrf;
  let response: Response;
  try {
    response = await fetch(BASE + path, {
      method,
      headers,
      credentials: "same-origin",
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal_ ? { signal: signal_ } : {}),
    });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ServerError({ message: "The server does not answer." });
  }
  if (response.ok) return response;
  if (response.status === 401 && path !== "/login") session.value = null;
  throw new ServerError(await readError(response), response.status);
}

async function readError(response: Response): Promise<ErrorFields> {
  try {
    const { error } = (await response.json()) as { error: ErrorFields };
    if (error && typeof error.message === "string") return error;
  } catch {
    // not JSON: told by its status below
  }
  return { message: `The server answered ${response.status} ${response.statusText}`.trim() };
}

export async function login(user: string, password: string): Promise<void> {
  session.value = (await (await send("POST", "/login", { user, password })).json()) as Session;
}

export async function resume(): Promise<void> {
  try {
    session.value = (await (await send("GET", "/session")).json()) as Session;
  } catch {
    session.value = null;
  }
}

export async function logout(): Promise<void> {
  await send("POST", "/logout").catch(() => undefined);
  session.value = null;
}

export type Kind = "query" | "dashboard";

export interface DocumentEntry {
  id: string;
  kind: Kind;
  name: string;
  /** Null of a role that was dropped. */
  owner: string | null;
  shared: boolean;
  changed: string;
}

export interface SavedDocument<Body = unknown> extends DocumentEntry {
  body: Body;
}

export const documents = signal<DocumentEntry[]>([]);

export async function listDocuments(): Promise<void> {
  documents.value = (await (await send("GET", "/documents")).json()) as DocumentEntry[];
}

export async function readDocument<Body>(id: string): Promise<SavedDocument<Body>> {
  return (await (await send("GET", `/documents/${encodeURIComponent(id)}`)).json()) as SavedDocument<Body>;
}

/** Writes a new document, or an old one again. Returns its id. */
export async function saveDocument(
  document: { kind: Kind; name: string; shared: boolean; body: unknown },
  id?: string,
): Promise<string> {
  if (id === undefined) {
    const made = (await (await send("POST", "/documents", document)).json()) as { id: string };
    id = made.id;
  } else {
    await send("PUT", `/documents/${encodeURIComponent(id)}`, document);
  }
  void listDocuments().catch(() => undefined);
  return id;
}

export async function deleteDocument(id: string): Promise<void> {
  await send("DELETE", `/documents/${encodeURIComponent(id)}`);
  await listDocuments();
}

export type ExportFormat = "csv" | "parquet" | "arrow";

/** Downloads the rows of a kept result as a file, or those of a statement, which runs again in a tab. */
export async function download(rows: { result: string } | { sql: string; tab: string }, format: ExportFormat): Promise<void> {
  const response = await send("POST", "/exports", { ...rows, format });
  const name = /filename="?([^";]+)"?/.exec(response.headers.get("content-disposition") ?? "")?.[1];
  const address = URL.createObjectURL(await response.blob());
  const link = document.createElement("a");
  link.href = address;
  link.download = name ?? `result.${format}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
