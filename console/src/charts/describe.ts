/** The columns of a statement that returns no rows. */
import type { Column } from "./body";
import { ServerError } from "../api";
import { makeId, run, sideTab } from "../run";

export async function describe(sql: string): Promise<Column[]> {
  let columns: Column[] = [];
  let failed: ServerError | null = null;
  await run(sideTab, makeId(), sql, {
    result: (rows) => (columns = rows.columns.map(({ name, type }) => ({ name, type }))),
    error: (error) => (failed = new ServerError(error)),
  });
  if (failed) throw failed;
  return columns;
}
