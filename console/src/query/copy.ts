/** A part of a result as text for the clipboard. */
import type { Rows } from "../arrow";
import { note } from "../state";
import { plural } from "../format";
import type { Range } from "./grid";

const MOST_CELLS = 2_000_000;

/** Copies cells, separated by tabs and lines, as spreadsheets read them. */
export async function copyCells(rows: Rows, range: Range, withNames: boolean): Promise<void> {
  const columns = Array.from({ length: range.right - range.left + 1 }, (_, index) => range.left + index);
  const count = range.bottom - range.top + 1;
  if (count * columns.length > MOST_CELLS) {
    note(`More than ${plural(MOST_CELLS, "cell")}: download the result instead.`, true);
    return;
  }
  const lines: string[] = withNames ? [columns.map((column) => quote(rows.columns[column]!.name)).join("\t")] : [];
  for (let row = range.top; row <= range.bottom; row++) {
    lines.push(columns.map((column) => quote(rows.text(row, column) ?? "")).join("\t"));
  }
  try {
    await navigator.clipboard.writeText(lines.join("\n"));
    note(count === 1 && columns.length === 1 ? "Copied the cell." : `Copied ${plural(count, "row")}.`);
  } catch {
    note("The browser did not allow the copy.", true);
  }
}

function quote(text: string): string {
  return /[\t\n\r"]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
