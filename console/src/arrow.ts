/** Results: an Arrow IPC stream that is decoded batch by batch as it arrives, and its values as text. */
import { type Column, type DataType, Precision, tableFromIPC, Type } from "@uwdata/flechette";
import { ByteQueue } from "./frames";

export interface ColumnInfo {
  name: string;
  /** PostgreSQL's name of the type, as numeric(10,2). */
  type: string;
  oid: number;
  align: "left" | "right";
}

interface Batch {
  first: number;
  rows: number;
  columns: Column<unknown>[];
}

const CONTINUATION = 0xffffffff;
const SCHEMA_OR_DICTIONARY = 2; // flatbuffer's numbers of headers: 1 a schema, 2 a dictionary, 3 a record batch

/** The rows of one statement. They grow while the statement runs. */
export class Rows {
  readonly #bytes = new ByteQueue();
  readonly #head: Uint8Array[] = [];
  readonly #batches: Batch[] = [];
  #last: Batch | undefined;
  count = 0;
  bytes = 0;

  constructor(readonly columns: ColumnInfo[]) {}

  /** Takes a piece of the IPC stream; decodes the messages that are whole now. */
  push(piece: Uint8Array): void {
    this.bytes += piece.length;
    this.#bytes.push(piece);
    for (;;) {
      const message = takeMessage(this.#bytes);
      if (message === null) return;
      if (message.header <= SCHEMA_OR_DICTIONARY) this.#head.push(message.bytes);
      else this.#add(message.bytes);
    }
  }

  #add(message: Uint8Array): void {
    const table = tableFromIPC([...this.#head, message], { useBigInt: true, useBigIntTimestamp: true });
    if (table.numRows === 0) return;
    this.#batches.push({ first: this.count, rows: table.numRows, columns: table.children });
    this.count += table.numRows;
  }

  /** The value of a row and column as its Arrow type has it. */
  at(row: number, column: number): unknown {
    const batch = this.#find(row);
    return batch?.columns[column]?.at(row - batch.first);
  }

  /** The value as text; null for NULL. */
  text(row: number, column: number): string | null {
    const batch = this.#find(row);
    const values = batch?.columns[column];
    if (!batch || !values) return null;
    const value = values.at(row - batch.first);
    return value === null || value === undefined ? null : formatValue(value, values.type);
  }

  #find(row: number): Batch | undefined {
    const last = this.#last;
    if (last && row >= last.first && row < last.first + last.rows) return last;
    let low = 0;
    let high = this.#batches.length - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      const batch = this.#batches[middle]!;
      if (row < batch.first) high = middle - 1;
      else if (row >= batch.first + batch.rows) low = middle + 1;
      else return (this.#last = batch);
    }
    return undefined;
  }
}

function takeMessage(bytes: ByteQueue): { header: number; bytes: Uint8Array } | null {
  if (bytes.length < 8) return null;
  const head = bytes.peek(8);
  const view = new DataView(head.buffer, head.byteOffset);
  if (view.getUint32(0, true) !== CONTINUATION) throw new Error("the server sent no Arrow stream");
  const size = view.getInt32(4, true);
  if (size === 0) {
    bytes.take(8); // the end of the stream
    return takeMessage(bytes);
  }
  if (bytes.length < 8 + size) return null;
  const metadata = bytes.peek(8 + size);
  const { header, body } = readMetadata(new DataView(metadata.buffer, metadata.byteOffset + 8, size));
  const total = 8 + size + body;
  return bytes.length < total ? null : { header, bytes: bytes.take(total) };
}

/** Reads two fields of the flatbuffer Message: the kind of its header and the length of its body. */
function readMetadata(view: DataView): { header: number; body: number } {
  const table = view.getInt32(0, true);
  const fields = table - view.getInt32(table, true);
  const size = view.getUint16(fields, true);
  const find = (number: number) => {
    const slot = 4 + 2 * number;
    return slot < size ? view.getUint16(fields + slot, true) : 0;
  };
  const [header, body] = [find(1), find(3)];
  return {
    header: header ? view.getUint8(table + header) : 0,
    body: body ? Number(view.getBigInt64(table + body, true)) : 0,
  };
}

/** A value as PostgreSQL writes it, in ISO style. */
export function formatValue(value: unknown, type: DataType): string {
  switch (type.typeId) {
    case Type.Bool:
      return value ? "true" : "false";
    case Type.Float:
      return formatFloat(value as number, (type as { precision: number }).precision === Precision.SINGLE);
    case Type.Date:
      return formatDate(Number(value));
    case Type.Timestamp:
      return formatTimestamp(BigInt(value as bigint), (type as { timezone?: string | null }).timezone ?? null);
    default:
      return value instanceof Uint8Array ? `\\x${toHex(value)}` : typeof value === "object" ? JSON.stringify(value) : String(value);
  }
}

function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The shortest text that is read as the same number; a single-precision one has exponents from a million on. */
function formatFloat(value: number, single: boolean): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "Infinity" : "-Infinity";
  if (Object.is(value, -0)) return "-0";
  const shortest = single ? findShortest(value) : value;
  const size = Math.abs(shortest);
  if (size !== 0 && (size >= (single ? 1e6 : 1e15) || size < 1e-4)) {
    return shortest.toExponential().replace(/e([+-])(\d)$/, "e$10$2");
  }
  return String(shortest);
}

function findShortest(value: number): number {
  for (let digits = 6; digits < 9; digits++) {
    const rounded = Number(value.toPrecision(digits));
    if (Math.fround(rounded) === value) return rounded;
  }
  return Number(value.toPrecision(9));
}

function pad(value: number, width: number): string {
  return String(value).padStart(width, "0");
}

function formatDay(day: Date, year: number): string {
  return `${pad(year > 0 ? year : 1 - year, 4)}-${pad(day.getUTCMonth() + 1, 2)}-${pad(day.getUTCDate(), 2)}`;
}

/** Milliseconds of the days that Date has for sure on both sides of 1970. */
const MOST_MS = 8.64e15 - 2 * 86_400_000;
/** Infinity is the largest 32-bit integer of days, and -infinity its negative. */
const LAST_DAY = 2 ** 31 - 1;

function formatDate(ms: number): string {
  const days = ms / 86_400_000;
  if (Math.abs(days) >= LAST_DAY) return days > 0 ? "infinity" : "-infinity";
  const cycles = ms > MOST_MS ? Math.ceil((ms - MOST_MS) / CYCLE) : 0;
  const day = new Date(ms - cycles * CYCLE);
  const year = day.getUTCFullYear() + cycles * 400;
  return year > 0 ? formatDay(day, year) : `${formatDay(day, year)} BC`;
}

const zones = new Map<string, Intl.DateTimeFormat>();

/** Seconds by which a zone is ahead of UTC. */
function findOffset(ms: number, zone: string): number {
  if (zone === "UTC" || zone === "Etc/UTC") return 0;
  let format = zones.get(zone);
  if (!format) {
    const parts = { year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric", second: "numeric" } as const;
    try {
      format = new Intl.DateTimeFormat("en-US", { ...parts, timeZone: zone, hourCycle: "h23" });
    } catch {
      return 0;
    }
    zones.set(zone, format);
  }
  if (ms < FIRST_YEAR) ms += Math.ceil((FIRST_YEAR - ms) / CYCLE) * CYCLE; // eras: the first offset counts for all
  const at = Object.fromEntries(format.formatToParts(ms).map((part) => [part.type, Number(part.value)]));
  const local = Date.UTC(at.year!, at.month! - 1, at.day!, at.hour!, at.minute!, at.second!);
  return Math.round((local - Math.floor(ms / 1000) * 1000) / 1000);
}

const FIRST_YEAR = Date.UTC(1000, 0, 1);
/** The Gregorian calendar repeats after 400 years. */
const CYCLE = 146_097 * 86_400_000;
/** Infinity is the largest 64-bit integer, and -infinity its negative. */
const FOREVER = 2n ** 63n - 1n;

/** Microseconds since 1970, which a number would round after the year 2255. */
function formatTimestamp(micros: bigint, zone: string | null): string {
  if (micros >= FOREVER || micros <= -FOREVER) return micros > 0n ? "infinity" : "-infinity";
  const rest = Number(((micros % 1_000_000n) + 1_000_000n) % 1_000_000n);
  const utc = Number((micros - BigInt(rest)) / 1000n);
  // beyond what Date has, the same day 400 years ago
  const cycles = utc > MOST_MS ? Math.ceil((utc - MOST_MS) / CYCLE) : 0;
  const ms = utc - cycles * CYCLE;
  const offset = zone === null ? 0 : findOffset(ms, zone);
  const moment = new Date(ms + offset * 1000);
  const year = moment.getUTCFullYear() + cycles * 400;
  let text = `${formatDay(moment, year)} ${moment.toISOString().slice(-13, -5)}`;
  if (rest) text += `.${pad(rest, 6).replace(/0+$/, "")}`;
  if (zone !== null) text += formatOffset(offset);
  return year > 0 ? text : `${text} BC`;
}

function formatOffset(offset: number): string {
  const size = Math.abs(offset);
  const [hours, minutes, seconds] = [Math.floor(size / 3600), Math.floor(size / 60) % 60, size % 60];
  const more = minutes || seconds ? `:${pad(minutes, 2)}${seconds ? `:${pad(seconds, 2)}` : ""}` : "";
  return `${offset < 0 ? "-" : "+"}${pad(hours, 2)}${more}`;
}
