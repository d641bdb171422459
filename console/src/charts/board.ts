/** Boards: the views of a dashboard as plots of vgplot over one source, linked by one crossfilter. */
import { createAPIContext, type Coordinator } from "@uwdata/vgplot";
import * as vg from "@uwdata/vgplot";
import { makeClient } from "@uwdata/mosaic-core";
import { Query, verbatim } from "@uwdata/mosaic-sql";
import { type Column, isNumber, isTime, SOURCE, type Source, splitName, type View } from "./body";
import { makeCoordinator } from "./connect";
import type { Theme } from "../state";

type Directive = unknown;
type Ranges = Required<NonNullable<View["domain"]>>;

const MARGINS = { left: 52, right: 14, top: 8, bottom: 30 };
const MOST_BARS = 14;
const LABEL_WIDTH = 24;
const BRUSH = { fill: "var(--accent)", fillOpacity: 0.1, stroke: "var(--accent)" };

/** A result that the server keeps, by its name there. */
export interface Kept {
  result: string;
}

/** The rows of a kept result, whose columns are numbered; of those with one name the first. */
function selectKept({ result }: Kept, columns: Column[]): string {
  const names = columns.map((column) => column.name);
  const listed = names.flatMap((name, index) => (name && names.indexOf(name) === index ? `c${index + 1} AS "${name.replaceAll('"', '""')}"` : []));
  return `SELECT ${listed.join(", ")} FROM "gpudb result ${result}"`;
}

export class Board {
  readonly coordinator: Coordinator;
  readonly selection = vg.Selection.crossfilter();
  /** What is chosen in each chart of bars; it is shown there, and goes on to the crossfilter. */
  readonly #picks: ReturnType<typeof vg.Selection.single>[] = [];
  readonly #api: { plot: (...directives: Directive[]) => HTMLElement };
  readonly #table: string | string[] | ReturnType<typeof verbatim>;

  constructor(source: Source | Kept, readonly columns: Column[], readonly theme: Theme) {
    this.coordinator = makeCoordinator("result" in source ? source : "sql" in source ? { source: source.sql } : {});
    this.#api = createAPIContext({ coordinator: this.coordinator });
    if ("result" in source) this.#table = verbatim(`(${selectKept(source, columns)})`);
    else if ("sql" in source) this.#table = verbatim(SOURCE);
    else {
      const [schema, name] = splitName(source.table);
      this.#table = schema === "public" ? name : [schema, name];
    }
  }

  /** Draws a view of so many pixels. */
  async draw(view: View, width: number, height: number): Promise<HTMLElement> {
    const shown = view.kind === "map" ? { ...view, domain: fitMap(view.domain ?? (await this.#measure(view)), width / height) } : view;
    return this.#api.plot(vg.width(width), vg.height(height), ...this.#frame(shown), ...this.#list(shown, width));
  }

  /** The ranges of two columns. */
  async #measure(view: View): Promise<Ranges> {
    const query = Query.from({ source: this.#table as never }).select({ x0: vg.min(view.x), x1: vg.max(view.x), y0: vg.min(view.y!), y1: vg.max(view.y!) });
    const [found] = (await this.coordinator.query(query as never)) as unknown as Iterable<Record<string, number>>;
    const { x0, x1, y0, y1 } = found ?? {};
    return { x: [Number(x0 ?? -180), Number(x1 ?? 180)], y: [Number(y0 ?? -85), Number(y1 ?? 85)] };
  }

  /** Tells the number of rows, of all and of those that are chosen, now and whenever it changes. */
  count(tell: (all: number | null, chosen: number | null) => void, fail: (error: Error) => void): void {
    let all: number | null = null;
    let chosen: number | null = null;
    const ask = (filter: unknown) => Query.from({ source: this.#table as never }).select({ rows: vg.count() }).where(filter as never);
    const read = (data: unknown) => Number((data as { get?: unknown; toArray(): { rows: number }[] }).toArray()[0]?.rows ?? 0);
    const common = { coordinator: this.coordinator, queryError: (error: Error) => fail(error) };
    makeClient({ ...common, query: () => ask([]), queryResult: (data) => tell((all = read(data)), chosen ?? all) });
    makeClient({ ...common, selection: this.selection, query: ask, queryResult: (data) => tell(all, (chosen = read(data))) });
  }

  /** Whether a view is clicked, not brushed. */
  isClicked(view: View): boolean {
    return view.kind === "bars" || (view.kind === "heat" && !this.#isBinned(view));
  }

  #isBinned(view: View): boolean {
    return [view.x, view.y].every((name) => isNumber(this.#type(name)) || isTime(this.#type(name)));
  }

  reset(): void {
    this.selection.reset();
    for (const pick of this.#picks) pick.reset();
  }

  #pick(): ReturnType<typeof vg.Selection.single> {
    const pick = vg.Selection.single();
    pick.addEventListener("value", () => {
      if (pick.active?.source) this.selection.update(pick.active);
    });
    this.#picks.push(pick);
    return pick;
  }

  close(): void {
    this.coordinator.clear();
  }

  #from(filtered = true): unknown {
    return vg.from(this.#table as never, (filtered ? { filterBy: this.selection } : undefined) as never);
  }

  #type(name: string | undefined): string {
    return this.columns.find((column) => column.name === name)?.type ?? "";
  }

  #frame(view: View): Directive[] {
    const formats = isTime(this.#type(view.x)) && !view.part ? [] : [vg.xTickFormat(isNumber(this.#type(view.x)) && view.kind !== "bars" && view.kind !== "map" ? "~s" : (undefined as never))];
    return [
      vg.margins(Object.fromEntries(Object.entries(MARGINS).map(([side, size]) => [side, Math.round(size * getTextScale())]))),
      vg.xLabel(null as never), vg.yLabel(null as never),
      vg.style({ fontSize: `${Math.round(11 * getTextScale())}px`, background: "none" } as never),
      ...(view.kind === "map" ? [] : formats),
    ];
  }

  #list(view: View, width: number): Directive[] {
    switch (view.kind) {
      case "histogram":
        return this.#histogram(view);
      case "bars":
        return this.#bars(view, width);
      case "line":
        return this.#line(view);
      case "heat":
        return this.#heat(view);
      case "hexbin":
        return [vg.hexbin(this.#from() as never, { x: view.x, y: view.y, fill: vg.count(), binWidth: 12, tip: true } as never), ...this.#colours(), ...this.#ranges(view), vg.intervalXY({ as: this.selection, brush: BRUSH } as never)];
      default:
        return this.#raster(view, width);
    }
  }

  #value(view: View): unknown {
    if (!view.aggregate || view.aggregate === "count" || !view.value) return vg.count();
    return vg[view.aggregate](view.value);
  }

  #histogram(view: View): Directive[] {
    const range = view.domain?.x;
    const cuts = range ? { step: (range[1] - range[0]) / (view.bins ?? 40) } : { steps: view.bins ?? 40 };
    const x = () => vg.bin(view.x, cuts as never);
    const bars = (filtered: boolean) =>
      vg.rectY(this.#from(filtered) as never, { x: x(), y: vg.count(), clip: range !== undefined, fill: filtered ? "var(--chart)" : "var(--chart-under)", inset: 0.5, ...(filtered ? { tip: true } : {}) } as never);
    return [
      bars(false), bars(true),
      vg.intervalX({ as: this.selection, brush: BRUSH } as never),
      vg.xDomain((view.domain?.x ?? vg.Fixed) as never), vg.yDomain(vg.Fixed as never), vg.yTickFormat("~s"), vg.yGrid(true), vg.yTicks(4),
    ];
  }

  #bars(view: View, width: number): Directive[] {
    const category = view.part ? vg.sql`CAST(extract(${verbatim(view.part)} FROM ${vg.column(view.x)}) AS INTEGER)` : view.x;
    const pick = this.#pick();
    const counts = !view.aggregate || view.aggregate === "count" || view.aggregate === "sum";
    const upright = view.part !== undefined || isNumber(this.#type(view.x));
    const sort = upright ? {} : { sort: { y: "-x", limit: MOST_BARS } };
    const bars = (part: "under" | "shown" | "over") => {
      const filtered = part === "shown";
      const fill = { under: "var(--chart-under)", shown: "var(--chart)", over: "transparent" }[part];
      const channels = { fill, ...sort }; // without tips: those keep presses from the toggle
      const value = this.#value(view);
      const data = this.#from(filtered) as never;
      return upright ? vg.barY(data, { x: category, y: value, ...channels } as never) : vg.barX(data, { y: category, x: value, ...channels } as never);
    };
    const toggle = upright ? vg.toggleX({ as: pick } as never) : vg.toggleY({ as: pick } as never);
    const axis = upright
      ? [vg.xTickFormat(thinOut(width) as never), vg.yTickFormat("~s"), vg.yGrid(true), vg.yTicks(4), vg.xTickRotate(0), vg.xPadding(0.15 as never)]
      : [vg.xTickFormat("~s"), vg.xGrid(true), vg.xTicks(4 as never), vg.marginLeft(Math.round(110 * getTextScale())), vg.yPadding(0.2 as never), vg.yTickFormat(cut as never)];
    return [
      ...(counts ? [bars("under")] : []), bars("shown"),
      vg.highlight({ by: pick, opacity: 0.35 } as never),
      ...(counts ? [bars("over")] : []), toggle, // a click counts on the whole bar, however few of its rows are left
      ...axis,
      upright ? vg.xDomain(vg.Fixed as never) : vg.yDomain(vg.Fixed as never),
      ...(counts ? [upright ? vg.yDomain(vg.Fixed as never) : vg.xDomain(vg.Fixed as never)] : []),
    ];
  }

  #line(view: View): Directive[] {
    const category = view.part ? vg.sql`CAST(extract(${verbatim(view.part)} FROM ${vg.column(view.x)}) AS INTEGER)` : null;
    const x = () => category ?? vg.bin(view.x, { steps: view.bins ?? 60 } as never);
    const value = () => this.#value(view);
    return [
      vg.areaY(this.#from() as never, { x: x(), y: value(), fill: "var(--chart)", fillOpacity: 0.12, curve: "monotone-x", optimize: false } as never),
      vg.lineY(this.#from() as never, { x: x(), y: value(), stroke: "var(--chart)", strokeWidth: 1.8, curve: "monotone-x", tip: true, optimize: false } as never),
      vg.intervalX({ as: this.selection, field: category ?? vg.column(view.x), brush: BRUSH } as never),
      vg.xDomain(vg.Fixed as never), vg.yTickFormat("~s"), vg.yGrid(true), vg.yTicks(4),
    ];
  }

  #heat(view: View): Directive[] {
    const axis = (name: string) => (isNumber(this.#type(name)) || isTime(this.#type(name)) ? vg.bin(name, { steps: view.bins ?? 30 } as never) : name);
    const binned = this.#isBinned(view);
    const channels = { x: axis(view.x), y: axis(view.y!), fill: vg.count(), inset: 0, tip: true } as never;
    const mark = binned ? vg.rect(this.#from() as never, channels) : vg.cell(this.#from() as never, { x: view.x, y: view.y, fill: vg.count() } as never);
    const choose = binned ? vg.intervalXY({ as: this.selection, brush: BRUSH } as never) : vg.toggle({ as: this.#pick(), channels: ["x", "y"] } as never);
    return [mark, choose, ...this.#colours(), ...(binned ? this.#ranges(view) : [])];
  }

  #raster(view: View, width: number): Directive[] {
    const map = view.kind === "map";
    return [
      vg.raster(this.#from() as never, { x: view.x, y: view.y, fill: this.theme === "dark" ? "#45e0cd" : "#086058", fillOpacity: "density", pixelSize: width > 1000 ? 2 : 1.5 } as never),
      vg.intervalXY({ as: this.selection, brush: BRUSH } as never),
      vg.opacityScale("symlog"), vg.opacityRange([0, 1]),
      ...this.#ranges(view),
      ...(map ? [vg.axis(null as never), vg.margins({ left: 0, right: 0, top: 0, bottom: 0 })] : []),
    ];
  }

  #colours(): Directive[] {
    return [vg.colorScale("symlog"), vg.colorRange((this.theme === "dark" ? ["#173833", "#4fe3d0"] : ["#dff1ee", "#08564f"]) as never)];
  }

  #ranges(view: View): Directive[] {
    return [vg.xDomain((view.domain?.x ?? vg.Fixed) as never), vg.yDomain((view.domain?.y ?? vg.Fixed) as never)];
  }
}

/** How much larger texts are than on a common screen: they are on one of 4K. */
function getTextScale(): number {
  return parseFloat(getComputedStyle(document.documentElement).fontSize) / 14;
}

/** Widens the ranges of a map, around their middle, until a mile is as long across as up. */
function fitMap({ x, y }: Partial<Ranges>, aspect: number): Ranges {
  const [[x0, x1], [y0, y1]] = [x ?? [-180, 180], y ?? [-85, 85]];
  const squeeze = Math.max(Math.cos(((y0 + y1) / 2) * (Math.PI / 180)), 0.1);
  const [across, up] = [Math.max((x1 - x0) * squeeze, 1e-6), Math.max(y1 - y0, 1e-6)];
  const wide = Math.max(across, up * aspect) / squeeze / 2;
  const high = Math.max(up, across / aspect) / 2;
  const [x2, y2] = [(x0 + x1) / 2, (y0 + y1) / 2];
  return { x: [x2 - wide, x2 + wide], y: [y2 - high, y2 + high] };
}

/** Labels of bars: every second or third, where there is no room for all. */
function thinOut(width: number): (text: unknown, index: number, all?: unknown[]) => string {
  return (text, index, all) => {
    const every = Math.ceil(((all?.length ?? 0) * LABEL_WIDTH) / (width - MARGINS.left - MARGINS.right)) || 1;
    return index % every ? "" : cut(text);
  };
}

function cut(text: unknown): string {
  const shown = text === null ? "NULL" : String(text);
  return shown.length > 15 ? `${shown.slice(0, 14)}…` : shown;
}
