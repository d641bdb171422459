/** What a dashboard is: one table or statement, and views over it that filter each other. Saved as JSON. */
import { send } from "../api";
import { ask, quoteLiteral, quoteName } from "../run";

export type Kind = "histogram" | "bars" | "line" | "heat" | "hexbin" | "points" | "map";
export type Aggregate = "count" | "sum" | "avg" | "min" | "max";
export type Part = "hour" | "isodow" | "month" | "year";

export interface View {
  kind: Kind;
  title?: string;
  x: string;
  y?: string;
  /** A part of the time in `x`, for bars and lines. */
  part?: Part;
  /** What bars and lines show of the rows: their number, or an aggregate of the column `value`. */
  aggregate?: Aggregate;
  value?: string;
  /** Parts into which a numeric axis is cut. */
  bins?: number;
  /** The shown ranges of x and y; rows outside are not drawn. */
  domain?: { x?: [number, number]; y?: [number, number] };
  /** Columns of twelve that it takes. */
  span?: 3 | 4 | 6 | 8 | 12;
  tall?: boolean;
}

/** The name in whose place the server puts a source's statement. */
export const SOURCE = '"gpudb source"';

export type Source = { table: string } | { sql: string };

export interface Body {
  source: Source;
  views: View[];
}

export interface Column {
  name: string;
  type: string;
}

export const KINDS: { kind: Kind; label: string; axes: 1 | 2 }[] = [
  { kind: "histogram", label: "Histogram", axes: 1 },
  { kind: "bars", label: "Bars", axes: 1 },
  { kind: "line", label: "Line", axes: 1 },
  { kind: "heat", label: "Heat map", axes: 2 },
  { kind: "hexbin", label: "Hexbin", axes: 2 },
  { kind: "points", label: "Points", axes: 2 },
  { kind: "map", label: "Map", axes: 2 },
];

export const AGGREGATES: Aggregate[] = ["count", "sum", "avg", "min", "max"];
export const PARTS: { part: Part; label: string }[] = [
  { part: "hour", label: "Hour of day" },
  { part: "isodow", label: "Day of week" },
  { part: "month", label: "Month" },
  { part: "year", label: "Year" },
];

const NUMBERS = /^(?:smallint|integer|bigint|real|float|double|numeric|money|oid)/;
const TIMES = /^(?:date|timestamp)/;

export const isNumber = (type: string) => NUMBERS.test(type);
export const isTime = (type: string) => TIMES.test(type);

/** A body that a document has, or an error that says what is wrong with it. */
export function readBody(value: unknown): Body {
  const body = value as Body;
  const source = body?.source as Record<string, unknown> | undefined;
  const named = typeof source?.sql === "string" ? "sql" : typeof source?.table === "string" ? "table" : null;
  if (!named || !Array.isArray(body.views)) throw new Error("This document is no dashboard.");
  return { source: named === "sql" ? { sql: String(source!.sql) } : { table: String(source!.table) }, views: body.views.flatMap((view) => readView(view) ?? []) };
}

/** A view with the fields that it may have: no other text of a document comes into a statement but as a name. */
function readView(given: unknown): View | null {
  const view = given as Record<string, unknown> | null;
  const kind = KINDS.find((each) => each.kind === view?.kind)?.kind;
  if (!view || !kind || typeof view.x !== "string") return null;
  const made: View = { kind, x: view.x };
  const part = PARTS.find((each) => each.part === view.part)?.part;
  const aggregate = AGGREGATES.find((each) => each === view.aggregate);
  const domain = { x: readRange(view.domain, "x"), y: readRange(view.domain, "y") };
  if (typeof view.title === "string") made.title = view.title;
  if (typeof view.y === "string") made.y = view.y;
  else if (KINDS.find((each) => each.kind === kind)!.axes === 2) return null;
  if (part) made.part = part;
  if (aggregate) made.aggregate = aggregate;
  if (typeof view.value === "string") made.value = view.value;
  if (typeof view.bins === "number" && view.bins >= 1 && view.bins <= 1000) made.bins = Math.round(view.bins);
  if (domain.x || domain.y) made.domain = { ...(domain.x ? { x: domain.x } : {}), ...(domain.y ? { y: domain.y } : {}) };
  if (SPANS.includes(view.span as never)) made.span = view.span as NonNullable<View["span"]>;
  if (view.tall) made.tall = true;
  return made;
}

const SPANS = [3, 4, 6, 8, 12];

function readRange(domain: unknown, axis: "x" | "y"): [number, number] | undefined {
  const range = (domain as Record<string, unknown> | null | undefined)?.[axis];
  const sound = Array.isArray(range) && range.length === 2 && range.every((each) => typeof each === "number" && Number.isFinite(each));
  return sound ? (range as [number, number]) : undefined;
}

/** Finds the columns of a source. Raises ServerError. A statement is described where charts are asked: it can only read there. */
export async function listColumns(source: Source): Promise<Column[]> {
  if ("sql" in source) {
    const answer = await send("POST", "/mosaic", { type: "json", sql: `DESCRIBE SELECT * FROM ${SOURCE} AS result`, source: source.sql });
    const found = (await answer.json()) as { column_name: string; column_type: string }[];
    return found.map(({ column_name: name, column_type: type }) => ({ name, type: type.toLowerCase() }));
  }
  const rows = await ask(
    `SELECT a.attname, format_type(a.atttypid, a.atttypmod) FROM pg_attribute a
     WHERE a.attrelid = ${quoteLiteral(quoteTable(source.table))}::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`,
  );
  return rows.map(([column, type]) => ({ name: column!, type: type! }));
}

/** The name of a table with its schema, as SQL has it. */
export function quoteTable(table: string): string {
  return splitName(table).map(quoteName).join(".");
}

/** The schema and name of a table; of a name without schema, public. */
export function splitName(table: string): [string, string] {
  const found = /^(?:"((?:[^"]|"")+)"|([^".]+))\.(.+)$/.exec(table);
  const plain = (text: string) => (/^".*"$/.test(text) ? text.slice(1, -1).replaceAll('""', '"') : text);
  return found ? [(found[1] ?? found[2])!.replaceAll('""', '"'), plain(found[3]!)] : ["public", plain(table)];
}

/** What a view shows, in words. */
export function nameView(view: View): string {
  if (view.title) return view.title;
  const x = view.part ? `${PARTS.find((each) => each.part === view.part)!.label.toLowerCase()} of ${view.x}` : view.x;
  if (view.y) return `${view.y} by ${x}`;
  return view.aggregate && view.aggregate !== "count" && view.value ? `${view.aggregate}(${view.value}) by ${x}` : x;
}

/** A first chart for a result: its second column by its first where that is what was asked, else a distribution. */
export function suggest(columns: Column[]): View | null {
  const [first, second] = columns;
  if (!first) return null;
  const [longitude, latitude] = [columns.find((each) => /lon|lng/i.test(each.name)), columns.find((each) => /lat/i.test(each.name))];
  if (longitude && latitude && isNumber(longitude.type) && isNumber(latitude.type)) return { kind: "map", x: longitude.name, y: latitude.name };
  if (second && isNumber(second.type) && columns.length <= 4) {
    const shown = { x: first.name, aggregate: "sum" as const, value: second.name };
    if (isTime(first.type)) return { kind: "line", ...shown };
    if (!isNumber(first.type)) return { kind: "bars", ...shown };
    if (/count|sum|avg|min|max|total|mean/i.test(second.name)) return { kind: "bars", ...shown };
  }
  const number = columns.find((each) => isNumber(each.type));
  if (isTime(first.type)) return { kind: "histogram", x: first.name };
  return number ? { kind: "histogram", x: number.name } : { kind: "bars", x: first.name };
}

/** Views for a table that nobody has described yet: a few columns of different kinds. */
export function suggestBoard(columns: Column[]): View[] {
  const views: View[] = [];
  const map = suggest(columns);
  if (map?.kind === "map") views.push({ ...map, span: 6, tall: true });
  const times = columns.filter((each) => isTime(each.type)).slice(0, 1);
  const texts = columns.filter((each) => !isTime(each.type) && !isNumber(each.type)).slice(0, 1);
  const numbers = columns.filter((each) => isNumber(each.type) && each.name !== map?.x && each.name !== map?.y && !/(?:^|_)(?:id|gid|code)$/i.test(each.name)).slice(0, 3);
  for (const column of [...times, ...numbers]) views.push({ kind: "histogram", x: column.name, span: 6 });
  for (const column of texts) views.push({ kind: "bars", x: column.name, span: 6 });
  return views;
}
