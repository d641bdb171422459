/** What the whole page shares: the address, the theme, and passing notes. */
import { effect, signal } from "@preact/signals";

export type Place = "query" | "dashboards" | "server" | "d";

/** The address after #: #/query, #/dashboards, #/server, #/d/ID. */
export const route = signal(readRoute());

function readRoute(): { place: Place; id: string } {
  const [, place = "", id = ""] = location.hash.split("/");
  const known: Place[] = ["query", "dashboards", "server", "d"];
  return { place: known.find((each) => each === place) ?? "query", id: decode(id) };
}

/** A part of an address as it was before its encoding; a damaged one as it is. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

addEventListener("hashchange", () => (route.value = readRoute()));

export function go(place: Place, id = ""): void {
  location.hash = id ? `/${place}/${encodeURIComponent(id)}` : `/${place}`;
}

export type Theme = "light" | "dark";
const wide = matchMedia("(prefers-color-scheme: dark)");
const chosen = signal<Theme | null>(readKept<Theme | null>("theme", null));
const system = signal<Theme>(wide.matches ? "dark" : "light");
wide.addEventListener("change", () => (system.value = wide.matches ? "dark" : "light"));
export const theme = signal<Theme>(chosen.value ?? system.value);
effect(() => {
  theme.value = chosen.value ?? system.value;
  document.documentElement.dataset.theme = theme.value;
});

export function toggleTheme(): void {
  const next = theme.value === "dark" ? "light" : "dark";
  chosen.value = next === system.value ? null : next;
  keep("theme", chosen.value);
}

/** Reads what the browser keeps for this page; a damaged or absent value is the default. */
export function readKept<T>(name: string, otherwise: T): T {
  try {
    const text = localStorage.getItem(`gpudb.${name}`);
    return text === null ? otherwise : (JSON.parse(text) as T);
  } catch {
    return otherwise;
  }
}

export function keep(name: string, value: unknown): void {
  try {
    localStorage.setItem(`gpudb.${name}`, JSON.stringify(value));
  } catch {
    // full or forbidden: the page works without
  }
}

export interface Note {
  id: number;
  text: string;
  bad: boolean;
}

export const notes = signal<Note[]>([]);
let noted = 0;

/** Shows a passing note, read out by screen readers. */
export function note(text: string, bad = false): void {
  const id = ++noted;
  notes.value = [...notes.value.slice(-2), { id, text, bad }];
  setTimeout(() => (notes.value = notes.value.filter((each) => each.id !== id)), bad ? 9000 : 3500);
}

export function explain(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
