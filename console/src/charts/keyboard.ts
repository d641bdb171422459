/** Charts by keyboard: arrows move the brush of a drawn plot or go from bar to bar, and what is chosen is told in words. */
import { formatCount } from "../format";

/** What a plot's interactors for brushes have: Mosaic's Interval1D and Interval2D. */
interface Interval {
  value?: [unknown, unknown] | [[unknown, unknown], [unknown, unknown]] | undefined;
  publish(extent: [number, number] | [[number, number], [number, number]] | null): void;
  activate(): void;
  scale?: Scale;
  xscale?: Scale;
  yscale?: Scale;
}

/** Mosaic's Toggle, which chooses points by a click. */
interface Toggle {
  mark: Mark;
  as: string[];
  selection: { value: unknown[][] | null | undefined };
  activate(): void;
}

interface Mark {
  index: number;
  data: { columns?: Record<string, ArrayLike<unknown>> } | null;
  channelField(channel: string): { as: string } | null;
}

interface Scale {
  range: [number, number];
  apply(value: unknown): number;
}

interface DrawnPlot {
  interactors: object[];
}

/** Where a brush begins and ends on each axis, in pixels of the screen: left before right, top before bottom. */
type Edges = [number, number][];

/** Tells what is chosen; an empty text when nothing is. */
type Tell = (text: string) => void;

const STEPS = 40;
const FIRST_STEPS = 8;
const MOST_NAMED = 5;
const AXES: Record<string, [axis: 0 | 1, direction: -1 | 1]> = {
  ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [1, -1], ArrowDown: [1, 1], PageUp: [0, -1], PageDown: [0, 1], Home: [0, -1], End: [0, 1],
};

export const BRUSH_KEYS = "Arrows move the brush, Shift with arrows changes its end, Page Up and Down move it by its width, Home and End to the edge, Escape lifts it.";
export const BAR_KEYS = "Arrows go from bar to bar, Enter chooses one, Shift with Enter one more, Escape lifts the choice.";

/** Makes a plot's element answer keys; returns what it tells of them, or null where it has nothing to choose. */
export function listen(element: HTMLElement, tell: Tell): string | null {
  const { interactors } = (element as HTMLElement & { value: DrawnPlot }).value;
  const interval = interactors.find((each): each is Interval => "publish" in each && "brush" in each);
  const toggle = interactors.find((each): each is Toggle => "as" in each && "fields" in each && !("brush" in each));
  if (!interval && !toggle) return null;
  const answer = interval ? new BrushKeys(interval, tell) : new BarKeys(element, toggle!, tell);
  element.tabIndex = 0;
  element.addEventListener("focus", () => answer.focus());
  element.addEventListener("blur", () => answer.blur());
  element.addEventListener("keydown", (event) => {
    if (event.target === element && !event.ctrlKey && !event.metaKey && !event.altKey && answer.press(event)) event.preventDefault();
  });
  return interval ? BRUSH_KEYS : BAR_KEYS;
}

/** Moves and resizes a brush over one axis or two. */
class BrushKeys {
  constructor(readonly interval: Interval, readonly tell: Tell) {}

  /** Mosaic computes ahead for the chart that is about to be brushed. */
  focus(): void {
    if (this.#scales.length) this.interval.activate();
  }

  blur(): void {}

  /** Whether the key means something. */
  press(event: KeyboardEvent): boolean {
    const scales = this.#scales;
    if (!scales.length) return false; // not drawn yet
    if (event.key === "Escape") {
      if (this.interval.value === undefined) return false;
      this.#publish(null);
      return true;
    }
    const found = AXES[event.key];
    if (!found || found[0] >= scales.length) return false;
    const [axis, direction] = found;
    const bounds = scales.map(({ range }): [number, number] => [Math.min(...range), Math.max(...range)]);
    const edges = this.#edges;
    this.#publish(edges ? move(edges, bounds, axis, direction, event) : begin(bounds, axis, direction));
    return true;
  }

  get #scales(): Scale[] {
    const { scale, xscale, yscale } = this.interval;
    return [scale, xscale, yscale].filter((each) => each !== undefined);
  }

  get #edges(): Edges | null {
    const { value } = this.interval;
    if (!value) return null;
    const ranges = (this.interval.scale ? [value] : value) as [unknown, unknown][];
    const place = (scale: Scale, at: unknown) => Math.round(scale.apply(at));
    return this.#scales.map((scale, axis) => {
      const [from, to] = ranges[axis]!.map((at) => place(scale, at)) as [number, number];
      return [Math.min(from, to), Math.max(from, to)];
    });
  }

  #publish(edges: Edges | null): void {
    const [x, y] = edges ?? [];
    this.interval.publish(!x ? null : y ? [[x[0], y[0]], [x[1], y[1]]] : x);
    this.tell(this.interval.value ? this.#name() : "No range is chosen.");
  }

  #name(): string {
    const ranges = (this.interval.scale ? [this.interval.value] : this.interval.value) as [unknown, unknown][];
    return ranges.map(([from, to]) => `${nameValue(from, to)} to ${nameValue(to, from)}`).join(", ");
  }
}

/** The first brush: a part at the edge from which the key comes, and all of the other axis. */
function begin(bounds: Edges, axis: 0 | 1, direction: -1 | 1): Edges {
  return bounds.map(([low, high], at) => {
    if (at !== axis) return [low, high];
    const width = Math.round((high - low) / FIRST_STEPS);
    return direction > 0 ? [low, low + width] : [high - width, high];
  });
}

function move(edges: Edges, bounds: Edges, axis: 0 | 1, direction: -1 | 1, event: KeyboardEvent): Edges {
  return edges.map(([from, to], at) => {
    if (at !== axis) return [from, to];
    const [low, high] = bounds[at]!;
    const far = event.key === "Home" || event.key === "End";
    const step = far ? high - low : event.key.startsWith("Page") ? to - from : Math.max(Math.round((high - low) / STEPS), 1);
    const least = Math.min(Math.max(Math.round((high - low) / STEPS), 1), to - from);
    if (event.shiftKey) return [from, Math.min(Math.max(to + direction * step, from + least), high)];
    const moved = Math.min(Math.max(from + direction * step, low), high - (to - from));
    return [moved, moved + to - from];
  });
}

/** A value of an axis in words: as many digits as tell it from the other end. */
function nameValue(value: unknown, other: unknown): string {
  if (value instanceof Date) return value.toISOString().slice(0, Math.abs(Number(value) - Number(other)) > 2 * 86_400_000 ? 10 : 16).replace("T", " ");
  if (typeof value !== "number") return String(value);
  const distance = Math.abs(value - Number(other)) || Math.abs(value) || 1;
  return value.toFixed(Math.min(Math.max(2 - Math.floor(Math.log10(distance)), 0), 9)).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
}

/** Goes from bar to bar, or from cell to cell, and presses them. */
class BarKeys {
  /** The bar at which the keys are; drawings come and go, its value stays. */
  #at: string | null = null;
  #focused = false;

  constructor(readonly element: HTMLElement, readonly toggle: Toggle, readonly tell: Tell) {
    new MutationObserver(() => this.#show()).observe(element, { childList: true });
  }

  focus(): void {
    this.#focused = true;
    if (this.toggle.mark.data) this.toggle.activate();
    this.#show();
  }

  blur(): void {
    this.#focused = false;
    this.#show();
  }

  press(event: KeyboardEvent): boolean {
    const bars = this.#bars;
    const at = bars.findIndex((bar) => this.#key(bar) === this.#at);
    const [, direction] = AXES[event.key] ?? [0, 0];
    if (direction && bars.length) {
      const far = event.key === "Home" || event.key === "End";
      const next = far ? (direction > 0 ? bars.length - 1 : 0) : at < 0 ? 0 : Math.min(Math.max(at + direction, 0), bars.length - 1);
      this.#at = this.#key(bars[next]!);
      this.#show();
      this.tell(this.#name(bars[next]!));
    } else if ((event.key === "Enter" || event.key === " ") && at >= 0) {
      bars[at]!.dispatchEvent(new PointerEvent("pointerdown", { bubbles: true, shiftKey: event.shiftKey }));
      this.tell(this.#nameChoice());
    } else if (event.key === "Escape" && this.toggle.selection.value?.length) {
      this.element.querySelector("svg")?.dispatchEvent(new PointerEvent("pointerdown")); // beside all bars
      this.tell(this.#nameChoice());
    } else return false;
    return true;
  }

  /** The bars in the order of their places: from left to right, then from top to bottom. */
  get #bars(): SVGGraphicsElement[] {
    const found = [...this.element.querySelectorAll<SVGGraphicsElement>(`[data-index="${this.toggle.mark.index}"] rect`)];
    const places = new Map(found.map((bar) => [bar, bar.getBoundingClientRect()]));
    return found.sort((one, other) => {
      const [a, b] = [places.get(one)!, places.get(other)!];
      return Math.abs(a.bottom - b.bottom) > 1 ? a.bottom - b.bottom : a.left - b.left;
    });
  }

  #point(bar: SVGGraphicsElement): unknown[] {
    const bound = (bar as SVGGraphicsElement & { __data__?: number | number[] }).__data__;
    const row = Array.isArray(bound) ? bound[0]! : bound!;
    return this.toggle.as.map((name) => this.#read(name, row));
  }

  #read(name: string, row: number): unknown {
    const column = this.toggle.mark.data?.columns?.[name] as (ArrayLike<unknown> & { at?(row: number): unknown }) | undefined;
    return column?.[row];
  }

  #key(bar: SVGGraphicsElement): string {
    return JSON.stringify(this.#point(bar).map(String));
  }

  #name(bar: SVGGraphicsElement): string {
    const chosen = (this.toggle.selection.value ?? []).some((point) => JSON.stringify(point.map(String)) === this.#key(bar));
    const value = this.#measure(bar);
    return `${this.#point(bar).map(nameCategory).join(", ")}${value === null ? "" : `: ${value}`}${chosen ? ", chosen" : ""}`;
  }

  /** How much a bar shows, where one of its axes does. */
  #measure(bar: SVGGraphicsElement): string | null {
    const { mark, as } = this.toggle;
    const shown = ["x", "y"].map((channel) => mark.channelField(channel)?.as).find((name) => name !== undefined && !as.includes(name));
    if (shown === undefined) return null;
    const bound = (bar as SVGGraphicsElement & { __data__?: number | number[] }).__data__;
    const value = Number(this.#read(shown, Array.isArray(bound) ? bound[0]! : bound!));
    return Number.isInteger(value) ? formatCount(value) : String(Number(value.toPrecision(4)));
  }

  #nameChoice(): string {
    const points = (this.toggle.selection.value ?? []).map((point) => point.map(nameCategory).join(", "));
    if (!points.length) return "Nothing is chosen.";
    return `Chosen: ${points.slice(0, MOST_NAMED).join("; ")}${points.length > MOST_NAMED ? ` and ${points.length - MOST_NAMED} more` : ""}`;
  }

  /** Draws a line around the bar at which the keys are. */
  #show(): void {
    for (const bar of this.element.querySelectorAll(".at-key")) bar.classList.remove("at-key");
    if (this.#focused) this.#bars.find((bar) => this.#key(bar) === this.#at)?.classList.add("at-key");
  }
}

function nameCategory(value: unknown): string {
  return value === null || value === undefined ? "NULL" : String(value);
}
