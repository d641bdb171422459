/** A grid of any number of rows: only the visible cells exist. Rows may still arrive. Values are set as text alone. */
import type { Rows } from "../arrow";
import { shortenType } from "../format";

const ROW = 28;
const HEAD = 30;
/** Browsers draw nothing beyond some 33 million pixels: longer results scroll in proportion. */
const MOST_PIXELS = 8_000_000;
const SPARE_ROWS = 4;
const NARROWEST = 48;
/** What a column's name has at least, as the style sheet says. */
const NAME_LEAST = 28;
const WIDEST = 420;
const PADDING = 26;
const SAMPLE = 200;
const SHOWN_CHARACTERS = 300;

/** A row's element, and those of its shown cells; numbers say what they show. */
interface Line {
  element: HTMLDivElement;
  row: number;
  from: number;
  cells: HTMLDivElement[];
}

let grids = 0;

export interface Range {
  top: number;
  bottom: number;
  left: number;
  right: number;
}

export class Grid {
  readonly element = make("div", "grid");
  readonly #id = `grid${++grids}`;
  readonly #spacer = make("div", "grid-spacer");
  readonly #head = make("div", "grid-head");
  readonly #layer = make("div", "grid-layer");
  readonly #lines: Line[] = [];
  rows: Rows | null = null;
  #count = 0;
  #widths: number[] = [];
  #lefts: number[] = [0];
  /** The first pixel that is shown, of all rows' height. */
  #top = 0;
  #setScroll = -1;
  #frame = 0;
  #measured = false;
  #row = 0;
  #column = 0;
  #anchor = { row: 0, column: 0 };
  onOpen: (row: number, column: number) => void = () => {};
  onCopy: (range: Range) => void = () => {};

  constructor() {
    const { element } = this;
    element.setAttribute("role", "grid");
    element.setAttribute("aria-label", "Result");
    element.setAttribute("aria-multiselectable", "true");
    element.tabIndex = 0;
    this.#head.setAttribute("role", "row");
    this.#head.setAttribute("aria-rowindex", "1");
    const header = make("div");
    header.setAttribute("role", "rowgroup");
    header.className = "grid-top";
    header.append(this.#head);
    this.#layer.setAttribute("role", "rowgroup");
    element.append(header, this.#layer, this.#spacer);
    element.addEventListener("scroll", () => this.#scrolled());
    element.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    element.addEventListener("keydown", (event) => this.#key(event));
    this.#layer.addEventListener("mousedown", (event) => this.#press(event));
    this.#layer.addEventListener("dblclick", () => this.onOpen(this.#row, this.#column));
    new ResizeObserver(() => this.#draw()).observe(element);
  }

  /** Shows other rows, from their beginning. */
  show(rows: Rows): void {
    this.rows = rows;
    this.#measured = false;
    this.#drawn.clear();
    this.#row = this.#column = this.#top = 0;
    this.#anchor = { row: 0, column: 0 };
    this.element.scrollTop = this.element.scrollLeft = 0;
    this.element.setAttribute("aria-colcount", String(rows.columns.length));
    this.#measure();
    this.grow();
  }

  /** More rows have arrived. */
  grow(): void {
    const rows = this.rows!;
    this.#count = rows.count;
    this.element.setAttribute("aria-rowcount", String(rows.count + 1));
    if (!this.#measured && rows.count) {
      this.#measure();
      this.#measured = true;
    }
    this.#spacer.style.height = `${Math.min(this.#count * ROW, MOST_PIXELS)}px`;
    this.#request();
  }

  get selection(): Range {
    const { row, column } = this.#anchor;
    return {
      top: Math.min(row, this.#row),
      bottom: Math.max(row, this.#row),
      left: Math.min(column, this.#column),
      right: Math.max(column, this.#column),
    };
  }

  get #scaled(): boolean {
    return this.#count * ROW > MOST_PIXELS;
  }

  get #space(): number {
    return Math.max(this.element.clientHeight - HEAD, ROW);
  }

  /** How far all rows can scroll, and how far the element can. */
  get #ways(): [number, number] {
    const all = Math.max(this.#count * ROW - this.#space, 0);
    return [all, Math.max(Math.min(this.#count * ROW, MOST_PIXELS) - this.#space, 0)];
  }

  #scrolled(): void {
    const at = this.element.scrollTop;
    if (!this.#scaled) this.#top = at;
    else if (Math.abs(at - this.#setScroll) > 1) {
      const [all, way] = this.#ways;
      this.#top = way ? Math.min(at / way, 1) * all : 0;
    }
    this.#setScroll = -1;
    this.#request();
  }

  #wheel(event: WheelEvent): void {
    if (!this.#scaled || event.ctrlKey || event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) return;
    event.preventDefault();
    const step = event.deltaMode === 1 ? ROW : event.deltaMode === 2 ? this.#space : 1;
    this.#moveTo(this.#top + event.deltaY * step);
  }

  #moveTo(top: number): void {
    const [all, way] = this.#ways;
    this.#top = Math.min(Math.max(top, 0), all);
    this.#setScroll = this.#scaled ? (all ? (this.#top / all) * way : 0) : this.#top;
    this.element.scrollTop = this.#setScroll;
    this.#request();
  }

  #request(): void {
    if (this.#frame) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      this.#draw();
    });
  }

  readonly #pen = document.createElement("canvas").getContext("2d")!;
  /** The width of a letter of the values, which are all of one width but for those of East Asia. */
  #letter = 0;
  /** Columns whose widths the user has drawn. */
  readonly #drawn = new Set<number>();

  /** Chooses columns' widths by their names and first values. */
  #measure(): void {
    const rows = this.rows!;
    const context = this.#pen;
    const style = getComputedStyle(this.element);
    context.font = `${style.fontSize} ${style.fontFamily}`;
    const sans = getComputedStyle(this.#head).fontFamily;
    this.#widths = rows.columns.map((column, index) => {
      context.font = `600 ${style.fontSize} ${sans}`;
      let width = Math.min(Math.max(context.measureText(column.name).width, NAME_LEAST), WIDEST - 90) + 8;
      context.font = `${parseFloat(style.fontSize) * 0.84}px ${sans}`;
      width += Math.min(context.measureText(shortenType(column.type)).width, 120);
      context.font = `${style.fontSize} ${style.fontFamily}`;
      for (let row = 0; row < Math.min(rows.count, SAMPLE); row++) {
        const text = rows.text(row, index);
        if (text) width = Math.max(width, context.measureText(text.slice(0, 80)).width);
      }
      return Math.round(Math.min(Math.max(width + PADDING, NARROWEST), WIDEST));
    });
    context.font = `${style.fontSize} ${style.fontFamily}`;
    this.#letter = context.measureText("0").width;
    this.#layout();
  }

  #layout(): void {
    this.#lefts = [0];
    for (const width of this.#widths) this.#lefts.push(this.#lefts.at(-1)! + width);
    const total = `${this.#lefts.at(-1)}px`;
    this.#spacer.style.width = this.#head.style.width = total;
    for (const line of this.#lines) line.element.remove();
    this.#lines.length = 0;
    this.#head.replaceChildren();
    this.#drawHead();
    this.#request();
  }

  #drawHead(): void {
    this.rows!.columns.forEach((column, index) => {
      const cell = make("div", `grid-name ${column.align}`);
      cell.setAttribute("role", "columnheader");
      cell.setAttribute("aria-colindex", String(index + 1));
      cell.style.left = `${this.#lefts[index]}px`;
      cell.style.width = `${this.#widths[index]}px`;
      const [name, type, edge] = [make("span", "name"), make("span", "type"), make("span", "edge")];
      name.textContent = column.name;
      type.textContent = shortenType(column.type);
      cell.title = `${column.name} ${column.type}`;
      edge.addEventListener("pointerdown", (event) => this.#resize(event, index));
      cell.append(name, type, edge);
      this.#head.append(cell);
    });
  }

  #resize(event: PointerEvent, column: number): void {
    event.preventDefault();
    const [start, width] = [event.clientX, this.#widths[column]!];
    const move = (moved: PointerEvent) => {
      this.#drawn.add(column);
      this.#widths[column] = Math.max(width + moved.clientX - start, NARROWEST);
      this.#layout();
    };
    const end = () => {
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", end);
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", end);
  }

  #draw(): void {
    const rows = this.rows;
    if (!rows || this.element.clientHeight === 0) return;
    const first = Math.max(Math.floor(this.#top / ROW), 0);
    const last = Math.min(first + Math.ceil(this.#space / ROW) + SPARE_ROWS, this.#count);
    const [from, to] = this.#findColumns();
    while (this.#lines.length < last - first) this.#lines.push(this.#makeLine());
    while (this.#lines.length > last - first) this.#lines.pop()!.element.remove();
    this.#widen(first, last, from, to);
    this.#rotate(first);
    const range = this.selection;
    for (let row = first; row < last; row++) this.#fill(this.#lines[row - first]!, row, from, to, range);
    this.element.setAttribute("aria-activedescendant", `${this.#id}-${this.#row}-${this.#column}`);
  }

  /** Lets the lines of rows that are still shown stay theirs; those of the others go to the other end. */
  #rotate(first: number): void {
    const by = first - (this.#lines[0]?.row ?? first);
    if (!by || Math.abs(by) >= this.#lines.length) return;
    const moved = by > 0 ? this.#lines.splice(0, by) : this.#lines.splice(by);
    const elements = moved.map((line) => line.element);
    if (by > 0) {
      this.#lines.push(...moved);
      this.#layer.append(...elements);
    } else {
      this.#lines.unshift(...moved);
      this.#layer.prepend(...elements);
    }
  }

  /** Makes columns as wide as what they show now, so that no number is cut; those that the user drew stay. */
  #widen(first: number, last: number, from: number, to: number): void {
    const grown: number[] = [];
    for (let column = from; column < to; column++) {
      const room = this.#widths[column]! - PADDING;
      for (let row = first; row < last && !this.#drawn.has(column); row++) {
        const text = this.rows!.text(row, column)?.slice(0, 80);
        if (!text || text.length * this.#letter <= room) continue;
        const width = Math.min(Math.round(this.#pen.measureText(text).width + PADDING), WIDEST);
        if (width > Math.max(this.#widths[column]!, grown[column] ?? 0)) grown[column] = width;
      }
    }
    if (!grown.length) return;
    grown.forEach((width, column) => (this.#widths[column] = width));
    this.#layout();
    while (this.#lines.length < last - first) this.#lines.push(this.#makeLine());
  }

  #findColumns(): [number, number] {
    const [left, right] = [this.element.scrollLeft, this.element.scrollLeft + this.element.clientWidth];
    let from = 0;
    while (from < this.#widths.length - 1 && this.#lefts[from + 1]! <= left) from++;
    let to = from;
    while (to < this.#widths.length && this.#lefts[to]! < right) to++;
    return [from, to];
  }

  #makeLine(): Line {
    const element = make("div", "grid-row");
    element.setAttribute("role", "row");
    this.#layer.append(element);
    return { element, row: -1, from: -1, cells: [] };
  }

  #fill(line: Line, row: number, from: number, to: number, range: Range): void {
    const { cells, element } = line;
    while (cells.length < to - from) {
      const cell = make("div");
      cell.setAttribute("role", "gridcell");
      element.append(cell);
      cells.push(cell);
    }
    while (cells.length > to - from) cells.pop()!.remove();
    const stale = line.row !== row || line.from !== from;
    if (line.row !== row) element.setAttribute("aria-rowindex", String(row + 2));
    element.style.transform = `translateY(${row * ROW - this.#top}px)`;
    line.row = row;
    line.from = from;
    const many = range.top !== range.bottom || range.left !== range.right;
    for (let column = from; column < to; column++) {
      const cell = cells[column - from]!;
      if (stale || !cell.id) this.#write(cell, row, column);
      const chosen = row >= range.top && row <= range.bottom && column >= range.left && column <= range.right;
      const active = row === this.#row && column === this.#column;
      const look = `grid-cell ${this.rows!.columns[column]!.align}${chosen && many ? " chosen" : ""}${active ? " active" : ""}`;
      if (cell.className !== look) cell.className = look; // a write, even of the same, costs the browser a style
      if (cell.ariaSelected !== String(chosen)) cell.ariaSelected = String(chosen);
    }
  }

  #write(cell: HTMLDivElement, row: number, column: number): void {
    const text = this.rows!.text(row, column);
    cell.textContent = text === null ? "NULL" : text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
    cell.dataset.null = text === null ? "1" : "";
    cell.id = `${this.#id}-${row}-${column}`;
    cell.setAttribute("aria-colindex", String(column + 1));
    cell.style.width = `${this.#widths[column]}px`;
    cell.style.transform = `translateX(${this.#lefts[column]}px)`;
  }

  /** The row and column that a cell's element shows. */
  #locate(target: EventTarget | null): { row: number; column: number } | null {
    for (const line of this.#lines) {
      const at = line.cells.indexOf(target as HTMLDivElement);
      if (at >= 0) return { row: line.row, column: line.from + at };
    }
    return null;
  }

  #press(event: MouseEvent): void {
    const at = this.#locate(event.target);
    if (!at) return;
    this.#choose(at.row, at.column, event.shiftKey);
    const move = (moved: MouseEvent) => {
      const over = this.#locate(moved.target);
      if (over && moved.buttons & 1) this.#choose(over.row, over.column, true);
    };
    const end = () => {
      this.#layer.removeEventListener("mousemove", move);
      removeEventListener("mouseup", end);
    };
    this.#layer.addEventListener("mousemove", move);
    addEventListener("mouseup", end);
  }

  #choose(row: number, column: number, extend: boolean): void {
    this.#row = Math.min(Math.max(row, 0), Math.max(this.#count - 1, 0));
    this.#column = Math.min(Math.max(column, 0), this.#widths.length - 1);
    if (!extend) this.#anchor = { row: this.#row, column: this.#column };
    const y = this.#row * ROW;
    if (y < this.#top) this.#moveTo(y);
    else if (y + ROW > this.#top + this.#space) this.#moveTo(y + ROW - this.#space);
    const [left, right] = [this.#lefts[this.#column]!, this.#lefts[this.#column + 1]!];
    const { scrollLeft, clientWidth } = this.element;
    if (left < scrollLeft) this.element.scrollLeft = left;
    else if (right > scrollLeft + clientWidth) this.element.scrollLeft = Math.min(right - clientWidth, left);
    this.#request();
  }

  #key(event: KeyboardEvent): void {
    const page = Math.max(Math.floor(this.#space / ROW) - 1, 1);
    const far = event.ctrlKey || event.metaKey;
    const [row, column, rows, columns] = [this.#row, this.#column, this.#count - 1, this.#widths.length - 1];
    const places: Record<string, [number, number]> = {
      ArrowDown: [far ? rows : row + 1, column],
      ArrowUp: [far ? 0 : row - 1, column],
      ArrowRight: [row, far ? columns : column + 1],
      ArrowLeft: [row, far ? 0 : column - 1],
      PageDown: [row + page, column],
      PageUp: [row - page, column],
      Home: [far ? 0 : row, 0],
      End: [far ? rows : row, columns],
    };
    const place = places[event.key];
    if (place) this.#choose(place[0], place[1], event.shiftKey);
    else if (event.key === "Enter" || event.key === " ") this.onOpen(row, column);
    else if (far && event.key === "c") this.onCopy(this.selection);
    else if (far && event.key === "a") {
      this.#anchor = { row: 0, column: 0 };
      this.#row = Math.max(rows, 0);
      this.#column = columns;
      this.#request();
    } else return;
    event.preventDefault();
  }
}

function make<Tag extends keyof HTMLElementTagNameMap>(tag: Tag, name = ""): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  element.className = name;
  return element;
}
