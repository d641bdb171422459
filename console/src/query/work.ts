/** The query tabs: each has a text, a session of the server, and the outcome of its last run. */
import type { EditorState } from "@codemirror/state";
import { effect, type Signal, signal, untracked } from "@preact/signals";
import type { Rows } from "../arrow";
import { type ErrorFields, send, ServerError, session } from "../api";
import { cancel, type Complete, makeId, run } from "../run";
import { explain, keep, note, readKept } from "../state";
import { readCatalog } from "./catalog";
import { dropSecrets, maySecret } from "./secrets";
import { fillParameters } from "./statements";

/** What one statement of a run gave. */
export interface Outcome {
  sql: string;
  rows: Rows | null;
  complete: Complete | null;
  error: ErrorFields | null;
}

export interface Running {
  id: string;
  started: number;
}

export interface Tab {
  /** The name of its session on the server. */
  id: string;
  title: Signal<string>;
  text: Signal<string>;
  state: EditorState | null;
  running: Signal<Running | null>;
  outcomes: Signal<Outcome[]>;
  shown: Signal<number>;
  /** Grows whenever rows arrive. */
  arrived: Signal<number>;
  transaction: Signal<"idle" | "in" | "failed">;
  document: Signal<{ id: string; shared: boolean } | null>;
  parameters: Signal<(string | null)[]>;
}

interface Kept {
  title: string;
  text: string;
  document?: { id: string; shared: boolean } | null;
}

export interface HistoryEntry {
  sql: string;
  at: number;
  ms: number;
  note: string;
  bad: boolean;
}

const MOST_HISTORY = 300;
/** Rows of a result that the page keeps: what a browser's memory has room for. */
const MOST_ROWS = 10_000_000;
const CHANGES = /^\s*(?:create|drop|alter|comment|grant|revoke|import|truncate|call|do|begin|commit|rollback)\b/i;

export const tabs = signal<Tab[]>([]);
export const current = signal(0);
export const past = signal<HistoryEntry[]>([]);

function makeTab(kept: Kept): Tab {
  return {
    id: makeId(),
    title: signal(kept.title),
    text: signal(kept.text),
    state: null,
    running: signal(null),
    outcomes: signal([]),
    shown: signal(0),
    arrived: signal(0),
    transaction: signal("idle"),
    document: signal(kept.document ?? null),
    parameters: signal([]),
  };
}

const owner = () => session.value?.user ?? "";

/** Finds the tabs that the browser kept for this role. */
function restore(): void {
  const kept = readKept<Kept[]>(`tabs.${owner()}`, []).filter((each) => typeof each?.text === "string");
  tabs.value = (kept.length ? kept : [{ title: "Query 1", text: "" }]).map(makeTab);
  current.value = 0;
  past.value = readKept<HistoryEntry[]>(`history.${owner()}`, []).filter((each) => typeof each?.sql === "string" && !maySecret(each.sql));
  keepTabs(); // what an earlier version of the page has kept
  keep(`history.${owner()}`, past.value);
}

let shownTo: string | null = null;
effect(() => {
  const user = session.value?.user ?? null;
  if (user !== null && user !== shownTo) untracked(restore);
  if (user !== null) shownTo = user;
});

export function keepTabs(): void {
  const kept = tabs.value.map((tab) => ({ title: tab.title.value, text: dropSecrets(tab.text.value), document: tab.document.value }));
  keep(`tabs.${owner()}`, kept);
}

export function openTab(text = "", title = "", document: Kept["document"] = null): void {
  let number = tabs.value.length + 1;
  while (tabs.value.some((tab) => tab.title.value === `Query ${number}`)) number++;
  tabs.value = [...tabs.value, makeTab({ text, title: title || `Query ${number}`, document })];
  current.value = tabs.value.length - 1;
  keepTabs();
}

/** Closes a tab and ends its session. */
export function closeTab(index: number): void {
  const closed = tabs.value[index]!;
  void send("DELETE", `/tabs/${closed.id}`).catch(() => undefined);
  tabs.value = tabs.value.filter((tab) => tab !== closed);
  if (!tabs.value.length) openTab();
  current.value = Math.max(Math.min(current.value > index ? current.value - 1 : current.value, tabs.value.length - 1), 0);
  keepTabs();
}

/** Runs a text in a tab's session; results show as they arrive. `texts` are its statements, one after another. */
export async function runIn(tab: Tab, sql: string, texts: string[], parameters: (string | null)[]): Promise<void> {
  if (tab.running.value || !sql.trim()) return;
  const running: Running = { id: makeId(), started: performance.now() };
  const find = (statement: number) => fillParameters(texts[statement] ?? sql, parameters);
  tab.running.value = running;
  const outcomes: Outcome[] = [];
  let open: Outcome | null = null;
  const add = (outcome: Outcome) => {
    outcomes.push(outcome);
    tab.outcomes.value = [...outcomes];
    return outcome;
  };
  tab.outcomes.value = [];
  tab.shown.value = 0;
  try {
    await run(tab.id, running.id, sql, {
      result: (rows, statement) => {
        open = add({ sql: find(statement), rows, complete: null, error: null });
        tab.shown.value = outcomes.length - 1;
      },
      rows: () => tab.arrived.value++,
      complete: (complete) => {
        if (open) {
          outcomes[outcomes.indexOf(open)] = { ...open, complete };
          tab.outcomes.value = [...outcomes];
        } else add({ sql, rows: null, complete, error: null });
        open = null;
      },
      error: (error) => {
        add({ sql, rows: null, complete: null, error });
        tab.shown.value = outcomes.length - 1;
      },
      end: (transaction) => (tab.transaction.value = transaction),
    }, { rows: MOST_ROWS, keep: true, ...(parameters.length ? { parameters } : {}) });
  } catch (error) {
    add({ sql, rows: null, complete: null, error: error instanceof ServerError ? error.fields : { message: explain(error) } });
    tab.shown.value = outcomes.length - 1;
  } finally {
    tab.running.value = null;
    remember(sql, performance.now() - running.started, outcomes);
    if (CHANGES.test(sql)) void readCatalog().catch(() => undefined);
  }
}

function remember(sql: string, ms: number, outcomes: Outcome[]): void {
  if (maySecret(sql)) return;
  const bad = outcomes.find((outcome) => outcome.error);
  const text = bad ? bad.error!.message : outcomes.map((outcome) => outcome.complete?.tag ?? "").join(", ");
  const entry = { sql, at: Date.now(), ms: Math.round(ms), note: text, bad: bad !== undefined };
  past.value = [entry, ...past.value.filter((each) => each.sql !== sql)].slice(0, MOST_HISTORY);
  keep(`history.${owner()}`, past.value);
}

export async function cancelIn(tab: Tab): Promise<void> {
  const running = tab.running.value;
  if (!running) return;
  try {
    await cancel(tab.id, running.id);
  } catch (error) {
    note(explain(error), true);
  }
}
