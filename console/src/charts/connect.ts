/** Mosaic's way to the server: its queries go to one address, raw rows, without pre-aggregation. */
import { signal } from "@preact/signals";
import { Coordinator } from "@uwdata/vgplot";
import { send } from "../api";

/** Milliseconds from the first query of the latest change to its last answer. */
export const latest = signal<number | null>(null);

/** Whether answers are awaited. */
export const busy = signal(false);

let open = 0;
let began = 0;

/** What queries read beside tables: a kept result, or the rows of a statement in the database's own dialect. */
export interface Origin {
  result?: string;
  source?: string;
}

async function query(request: { type: string; sql: string }, origin: Origin): Promise<ArrayBuffer | undefined> {
  if (open++ === 0) began = performance.now();
  busy.value = true;
  try {
    const response = await send("POST", "/mosaic", { type: request.type, sql: request.sql, ...origin });
    return request.type === "exec" ? undefined : await response.arrayBuffer();
  } finally {
    if (--open === 0) {
      const end = performance.now();
      busy.value = false;
      latest.value = end - began;
      performance.measure("gpudb board", { start: began, end }); // for who measures brushes
    }
  }
}

/** A coordinator for one board. */
export function makeCoordinator(origin: Origin): Coordinator {
  const connector = { query: (request: { type: string; sql: string }) => query(request, origin) } as unknown as ConstructorParameters<typeof Coordinator>[0];
  const quiet = { debug: () => {}, info: () => {}, log: () => {}, warn: () => {}, error: () => {}, group: () => {}, groupCollapsed: () => {}, groupEnd: () => {} };
  return new Coordinator(connector, { preagg: { enabled: false }, cache: true, consolidate: true, logger: quiet as never });
}
