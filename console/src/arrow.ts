/** Results: an Arrow IPC stream that is decoded batch by batch as it arrives, and its values as text. */
import { type Column, type DataType, tableFromIPC, Type } from "@uwdata/flechette";
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
    const table = tableFromIPC([...this.#head, message], { useBigInt: true });
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
      return formatFloat(value as number);
    case Type.Date:
      return formatDate(Number(value));
    case Type.Timestamp:
      return formatTimestamp(Number(value), (type as { timezone?: string | null }).timezone ?? null);
    default:
      return value instanceof Uint8Array ? `\\x${toHex(value)}` : typeof value === "object" ? JSON.stringify(value) : String(value);
  }
}

function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function formatFloat(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "Infinity" : "-Infinity";
  if (Object.is(value, -0)) return "-0";
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e15 || size < 1e-4)) {
    return value.toExponential().replace(/e([+-])(\d)$/, "e$10$2");
  }
  return String(value);
}

function pad(value: number, width: number): string {
  return String(value).padStart(width, "0");
}

function formatDay(day: Date): string {
  const year = day.getUTCFullYear();
  return `${pad(year > 0 ? year : 1 - year, 4)}-${pad(day.getUTCMonth() + 1, 2)}-${pad(day.getUTCDate(), 2)}`;
}

function formatDate(ms: number): string {
  const day = new Date(ms);
  if (Number.isNaN(day.getTime())) return ms > 0 ? "infinity" : "-infinity";
  return day.getUTCFullYear() > 0 ? formatDay(day) : `${formatDay(day)} BC`;
}

const zones = new Map<string, Intl.DateTimeFormat>();

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
  const at = Object.fromEntries(format.formatToParts(ms).map((part) => [part.type, Number(part.value)]));
  const local = Date.UTC(at.year!, at.month! - 1, at.day!, at.hour!, at.minute!, at.second!);
  return Math.round((local - Math.floor(ms / 1000) * 1000) / 60_000);
}

function formatTimestamp(ms: number, zone: string | null): string {
  if (Number.isNaN(new Date(ms).getTime())) return ms > 0 ? "infinity" : "-infinity";
  const offset = zone === null ? 0 : findOffset(ms, zone);
  const micros = Math.round((ms + offset * 60_000) * 1000);
  const second = Math.floor(micros / 1e6);
  const rest = micros - second * 1e6;
  const moment = new Date(second * 1000);
  let text = `${formatDay(moment)} ${moment.toISOString().slice(-13, -5)}`;
  if (rest) text += `.${pad(rest, 6).replace(/0+$/, "")}`;
  if (zone !== null) {
    const [hours, minutes] = [Math.trunc(Math.abs(offset) / 60), Math.abs(offset) % 60];
    text += `${offset < 0 ? "-" : "+"}${pad(hours, 2)}${minutes ? `:${pad(minutes, 2)}` : ""}`;
  }
  return moment.getUTCFullYear() > 0 ? text : `${text} BC`;
}
