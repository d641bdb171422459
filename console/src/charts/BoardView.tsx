/** A board on the page: its number of rows, and its views in a grid of twelve columns. */
import type { ComponentChildren } from "preact";
import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import { formatCount, formatMs } from "../format";
import { explain, theme } from "../state";
import { Button } from "../ui/parts";
import { Board, type Kept } from "./board";
import { type Column, nameView, type Source, type View } from "./body";
import { busy, latest } from "./connect";
import { listen } from "./keyboard";

const HEIGHT = 190;
/** What two views above each other have beside their charts: a gap, a title, edges. */
const BETWEEN = 12 + 26 + 22;

/** Pixels: more on larger screens, and for views over two axes. */
function chooseHeight(view: View, inner: number, width: number): number {
  const base = HEIGHT * Math.min(Math.max(width / 1400, 1), 2.1);
  if (view.tall) return 2 * base + BETWEEN;
  const square = view.kind === "map" || view.kind === "hexbin" || view.kind === "points";
  return Math.round(square ? Math.max(base, Math.min(inner * 0.75, base * 1.5)) : base);
}

function Chart({ board, view, tools, width }: { board: Board; view: View; tools?: ComponentChildren; width: number }) {
  const place = useRef<HTMLDivElement>(null);
  const [problem, setProblem] = useState("");
  const [keys, setKeys] = useState<string | null>(null);
  const [told, setTold] = useState("");
  const id = useId();
  useEffect(() => {
    const target = place.current!;
    const inner = target.clientWidth;
    const height = chooseHeight(view, inner, width);
    let gone = false;
    setProblem("");
    target.style.minHeight = `${height}px`;
    const show = (element: HTMLElement) => {
      if (gone) return;
      const found = listen(element, setTold);
      setKeys(found);
      element.setAttribute("role", found ? "application" : "img"); // an application gets the arrows that a screen reader would take
      element.setAttribute("aria-label", nameView(view));
      element.setAttribute("aria-roledescription", "chart");
      if (found) element.setAttribute("aria-describedby", id);
      const hide = () => element.querySelectorAll("svg").forEach((svg) => svg.setAttribute("aria-hidden", "true"));
      new MutationObserver(hide).observe(element, { childList: true }); // each drawing is new; labels of its parts say nothing
      if (!board.isClicked(view)) element.addEventListener("pointerdown", (event) => event.stopPropagation(), true); // a press brushes, and pins no tip
      target.replaceChildren(element);
      const { marks } = (element as HTMLElement & { value: { marks: { queryError(error: Error): unknown }[] } }).value;
      for (const mark of marks) mark.queryError = (error) => setProblem(tellError(error));
    };
    board.draw(view, inner, height).then(show, (error) => gone || setProblem(tellError(error)));
    return () => {
      gone = true;
    };
  }, [board, view, width]);
  return (
    <section class="view" data-span={view.span ?? 4} data-tall={view.tall ? "1" : ""} aria-label={nameView(view)}>
      <h2><span>{nameView(view)}</span><span class="end tools">{tools}</span></h2>
      {problem && <p class="problem" role="alert">{problem}</p>}
      <div class="chart-place" ref={place} />
      {keys && <p class="chart-keys" id={id}>{keys}</p>}
      <p class="hidden" aria-live="polite" data-testid="told">{told}</p>
    </section>
  );
}

function tellError(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return explain(cause).split("\n\nSQL Query:")[0]!;
}

interface Props {
  source: Source | Kept;
  views: View[];
  columns: Column[];
  tools?: (view: View, index: number) => ComponentChildren;
  children?: ComponentChildren;
}

export function BoardView({ source, views, columns, tools, children }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  const [rows, setRows] = useState<{ all: number | null; chosen: number | null }>({ all: null, chosen: null });
  const [problem, setProblem] = useState("");
  const colours = theme.value;
  const key = JSON.stringify(source);
  const board = useMemo(() => new Board(source, columns, colours), [key, columns, colours]);
  useEffect(() => {
    setProblem("");
    board.count((all, chosen) => setRows({ all, chosen }), (error) => setProblem(tellError(error)));
    return () => board.close();
  }, [board]);
  useEffect(() => {
    let timer = 0;
    const observer = new ResizeObserver(([entry]) => {
      clearTimeout(timer);
      timer = window.setTimeout(() => setWidth(Math.round(entry!.contentRect.width)), 120);
    });
    observer.observe(place.current!);
    setWidth(Math.round(place.current!.clientWidth));
    return () => observer.disconnect();
  }, []);
  const { all, chosen } = rows;
  const some = all !== null && chosen !== null && chosen !== all;
  return (
    <>
      <div class="page-head">
        {children}
        <p class="totals" data-testid="totals" data-chosen={chosen ?? ""} data-all={all ?? ""} aria-busy={busy.value}>
          <span role="status">
            {chosen !== null && <b>{formatCount(chosen)}</b>} {all !== null && <span>{some ? `of ${formatCount(all)} rows` : "rows"}</span>}
          </span>
          {latest.value !== null && <span title="From the first question of the latest change to its last answer">· {formatMs(latest.value)}</span>}
        </p>
        {some && <Button onClick={() => board.reset()}>Show all rows</Button>}
      </div>
      {problem && <p class="problem" role="alert">{problem}</p>}
      <div class="board" ref={place}>
        {width > 0 && views.map((view, index) => <Chart key={`${index}-${JSON.stringify(view)}`} board={board} view={view} width={width} tools={tools?.(view, index)} />)}
      </div>
    </>
  );
}
