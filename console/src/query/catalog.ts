/** The catalog for completion and the list of tables, asked by SQL. */
import { type Completion, type CompletionContext, type CompletionResult, ifNotIn } from "@codemirror/autocomplete";
import { keywordCompletionSource, PostgreSQL } from "@codemirror/lang-sql";
import { signal } from "@preact/signals";
import { shortenType } from "../format";
import { ask, quoteName } from "../run";

export interface CatalogColumn {
  name: string;
  type: string;
}

export interface CatalogTable {
  schema: string;
  name: string;
  kind: string;
  columns: CatalogColumn[];
}

/** Tables and views that the role may see; null until asked. */
export const tables = signal<CatalogTable[] | null>(null);
const functions = signal<Completion[]>([]);

const RELATIONS = `
SELECT n.nspname, c.relname, c.relkind::text, a.attname, format_type(a.atttypid, a.atttypmod)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
  AND n.nspname NOT LIKE 'pg\\_temp\\_%'
ORDER BY 1, 2, a.attnum`;
/** Functions that people call: not those behind operators, types, indexes and aggregates. */
const FUNCTIONS = String.raw`
SELECT DISTINCT p.proname, pg_get_function_arguments(p.oid) FROM pg_proc p
WHERE p.prokind IN ('f', 'a', 'w') AND p.proname ~ '^[a-z][a-z0-9_]+$'
  AND p.proname !~ '^(binary_upgrade_|pg_stat_get_)' AND p.proname !~ '_(transfn|accum|send)$'
  AND p.oid NOT IN (SELECT oprcode FROM pg_operator)
  AND p.prorettype NOT IN (SELECT oid FROM pg_type WHERE typname IN ('internal', 'cstring', 'aclitem', 'trigger'))
  AND pg_get_function_arguments(p.oid) !~ '\y(internal|cstring|aclitem)\y'
  AND coalesce(obj_description(p.oid, 'pg_proc'), '') !~ '^(implementation of|I/O|hash|less-equal-greater|larger of two|smaller of two|statistics:|[(]internal)|aggregate (transition|final|combine|serial|deserial)'
ORDER BY 1`;

let functionsAsked = false;

/** Reads tables and columns again, and functions once. */
export async function readCatalog(): Promise<void> {
  const found = new Map<string, CatalogTable>();
  for (const [schema, name, kind, column, type] of await ask(RELATIONS)) {
    const key = `${schema}\0${name}`;
    let table = found.get(key);
    if (!table) found.set(key, (table = { schema: schema!, name: name!, kind: kind!, columns: [] }));
    if (column !== null) table.columns.push({ name: column!, type: type ?? "" });
  }
  tables.value = [...found.values()];
  if (functionsAsked) return;
  functionsAsked = true;
  const named = new Map<string, Completion>();
  for (const [name, list] of await ask(FUNCTIONS).catch(() => [])) {
    if (!named.has(name!)) named.set(name!, { label: name!, apply: `${name}(`, type: "function", detail: `(${(list ?? "").slice(0, 60)})`, boost: -2 });
  }
  functions.value = [...named.values()];
}

/** The name of a table as a statement needs it. */
export function nameTable(table: CatalogTable): string {
  return table.schema === "public" ? quoteName(table.name) : `${quoteName(table.schema)}.${quoteName(table.name)}`;
}

function offerTable(table: CatalogTable): Completion {
  return { label: nameTable(table), type: "class", detail: table.schema === "public" ? "table" : table.schema, boost: 2 };
}

function offerColumn(column: CatalogColumn, boost: number): Completion {
  return { label: quoteName(column.name), type: "property", detail: shortenType(column.type), boost };
}

const KEYWORDS = new Set((PostgreSQL.spec.keywords ?? "").toLowerCase().split(" "));
const keywords = keywordCompletionSource(PostgreSQL, true);
const WORD = /^[\p{L}\p{N}_$]*$/u;

/** Offers keywords and what the catalog has, outside of texts and comments; nothing for a word that is complete. */
export const complete = ifNotIn(["String", "LineComment", "BlockComment"], async (context) => {
  const found = completeFromCatalog(context);
  const word = context.matchBefore(/[\p{L}\p{N}_$.]*/u)?.text ?? "";
  const more = word.includes(".") ? null : await keywords(context);
  const options = [...(found?.options ?? []), ...(more?.options ?? [])];
  const names = new Set(options.map((each) => each.label.toLowerCase()));
  const isComplete = (text: string) => names.has(text.toLowerCase()) || (!word.includes(".") && KEYWORDS.has(text.toLowerCase()));
  const from = found?.from ?? more?.from;
  if (from === undefined || (!context.explicit && isComplete(context.state.sliceDoc(from, context.pos)))) return null;
  return { from, options, validFor: (text) => WORD.test(text) && !isComplete(text) };
});

/** Offers tables, the columns of the tables that the statement names first, and functions. */
function completeFromCatalog(context: CompletionContext): CompletionResult | null {
  const word = context.matchBefore(/(?:[\p{L}_][\p{L}\p{N}_$]*\.)?[\p{L}\p{N}_$]*/u);
  if (!word || (word.from === word.to && !context.explicit && !word.text.includes("."))) return null;
  const all = tables.value ?? [];
  const text = context.state.doc.toString();
  const dot = word.text.indexOf(".");
  if (dot >= 0) {
    const columns = findQualified(word.text.slice(0, dot), text, all);
    return columns.length ? { from: word.from + dot + 1, options: columns } : null;
  }
  const named = all.filter((table) => new RegExp(`\\b${escapePattern(table.name)}\\b`, "i").test(text));
  const seen = new Set<string>();
  const columns = [...named, ...all].flatMap((table, index) =>
    table.columns.filter((column) => !seen.has(column.name) && seen.add(column.name)).map((column) => offerColumn(column, index < named.length ? 4 : -4)),
  );
  return { from: word.from, options: [...columns, ...all.map(offerTable), ...functions.value] };
}

function findQualified(name: string, text: string, all: CatalogTable[]): Completion[] {
  const inSchema = all.filter((table) => table.schema === name);
  if (inSchema.length) return inSchema.map((table) => ({ ...offerTable(table), label: quoteName(table.name) }));
  const aliases = new RegExp(`([\\p{L}_][\\p{L}\\p{N}_$]*)"?\\s+(?:as\\s+)?${escapePattern(name)}\\b`, "giu");
  const before = new Set(Array.from(text.matchAll(aliases), (match) => match[1]!.toLowerCase()));
  const table = all.find((each) => each.name === name) ?? all.find((each) => before.has(each.name.toLowerCase()));
  return (table?.columns ?? []).map((column) => offerColumn(column, 0));
}

function escapePattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
