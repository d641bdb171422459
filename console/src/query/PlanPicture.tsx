/** A plan as a picture: the operators of EXPLAIN (FORMAT json) as boxes, rows along the lines between them. */
import type { Rows } from "../arrow";
import { formatCount, formatMs } from "../format";

interface PlanNode {
  "Node Type": string;
  Plans?: PlanNode[];
  [detail: string]: unknown;
}

export type Plan = { Plan: PlanNode } & Record<string, unknown>;

interface Box {
  node: PlanNode;
  x: number;
  y: number;
  lines: string[];
  inputs: Box[];
}

const WIDTH = 232;
const GAP_X = 28;
const GAP_Y = 48;
const LINE = 17;
const HEAD = 38;
const DETAILS = 3;
const CHARACTERS = 34;
const HIDDEN = new Set(["Node Type", "Plans", "Plan Rows", "Plan Width", "Startup Cost", "Total Cost", "Actual Rows", "Actual Time (ms)", "Workers"]);

/** The plan that a result is, if it is one of EXPLAIN (FORMAT json). */
export function readPlan(rows: Rows): Plan | null {
  if (rows.columns.length !== 1 || rows.columns[0]!.name !== "QUERY PLAN" || rows.count !== 1) return null;
  try {
    const parsed = JSON.parse(rows.text(0, 0) ?? "") as Plan[];
    return parsed[0]?.Plan ? parsed[0] : null;
  } catch {
    return null;
  }
}

function tell(value: unknown): string {
  return typeof value === "string" ? value : typeof value === "number" ? formatCount(value) : JSON.stringify(value);
}

function getNumber(node: PlanNode, name: string): number | null {
  const value = node[name];
  return typeof value === "number" ? value : null;
}

function place(node: PlanNode, x: number, y: number): { box: Box; width: number } {
  const lines = Object.entries(node)
    .filter(([name, value]) => !HIDDEN.has(name) && value !== "")
    .slice(0, DETAILS)
    .map(([name, value]) => `${name}: ${tell(value)}`)
    .map((text) => (text.length > CHARACTERS ? `${text.slice(0, CHARACTERS - 1)}…` : text));
  const box: Box = { node, x, y, lines, inputs: [] };
  let width = 0;
  for (const input of node.Plans ?? []) {
    const placed = place(input, x + width + (width ? GAP_X : 0), y + measure(box) + GAP_Y);
    box.inputs.push(placed.box);
    width += placed.width + (width ? GAP_X : 0);
  }
  if (box.inputs.length) box.x = (box.inputs[0]!.x + box.inputs.at(-1)!.x) / 2;
  return { box, width: Math.max(width, WIDTH) };
}

function measure(box: Box): number {
  return HEAD + LINE * box.lines.length + (box.lines.length ? 6 : 0);
}

function flatten(box: Box): Box[] {
  return [box, ...box.inputs.flatMap(flatten)];
}

function Line({ above, below }: { above: Box; below: Box }) {
  const [actual, planned] = [getNumber(below.node, "Actual Rows"), getNumber(below.node, "Plan Rows")];
  const rows = actual ?? planned;
  const [x1, y1, x2, y2] = [below.x + WIDTH / 2, below.y, above.x + WIDTH / 2, above.y + measure(above)];
  return (
    <>
      <path class="plan-line" d={`M${x1},${y1} C${x1},${y1 - GAP_Y / 2} ${x2},${y2 + GAP_Y / 2} ${x2},${y2}`} stroke-width={1 + Math.log10((rows ?? 0) + 1)} />
      {rows !== null && <text class="plan-rows" x={x1 + 10} y={y1 - 8}>{actual === null ? "about " : ""}{formatCount(rows)} rows</text>}
    </>
  );
}

function Operator({ box, slowest }: { box: Box; slowest: number }) {
  const ms = getNumber(box.node, "Actual Time (ms)");
  const share = ms !== null && slowest ? ms / slowest : 0;
  const all = Object.entries(box.node).filter(([name]) => name !== "Plans");
  return (
    <g transform={`translate(${box.x} ${box.y})`}>
      <title>{all.map(([name, value]) => `${name}: ${tell(value)}`).join("\n")}</title>
      <rect class="plan-box" width={WIDTH} height={measure(box)} rx="8" />
      {share > 0 && <rect class="plan-heat" width={Math.max(WIDTH * share - 2, 3)} height="4" x="1" y={measure(box) - 4} rx="2" />}
      <text class="plan-name" x="12" y="23">{box.node["Node Type"]}</text>
      {ms !== null && <text class="plan-time" x={WIDTH - 12} y="23" text-anchor="end">{formatMs(ms)}</text>}
      {box.lines.map((line, index) => <text key={index} class="plan-detail" x="12" y={HEAD + 3 + LINE * index + 3}>{line}</text>)}
    </g>
  );
}

export function PlanPicture({ plan }: { plan: Plan }) {
  const { box: root, width } = place(plan.Plan, 0, 0);
  const boxes = flatten(root);
  const slowest = Math.max(...boxes.map((box) => getNumber(box.node, "Actual Time (ms)") ?? 0));
  const height = Math.max(...boxes.map((box) => box.y + measure(box)));
  const facts = Object.entries(plan).filter(([name]) => name !== "Plan");
  return (
    <div class="plan" tabIndex={0} role="region" aria-label="Plan">
      <dl class="facts">
        {facts.map(([name, value]) => (
          <div key={name}><dt>{name}</dt><dd>{typeof value === "number" && /Time/.test(name) ? formatMs(value) : tell(value)}</dd></div>
        ))}
      </dl>
      <svg role="img" aria-label={`Plan of ${boxes.length} operators`} viewBox={`-8 -8 ${width + 16} ${height + 16}`} width={width + 16} height={height + 16}>
        {boxes.flatMap((box) => box.inputs.map((input, index) => <Line key={`${box.x}-${box.y}-${index}`} above={box} below={input} />))}
        {boxes.map((box, index) => <Operator key={index} box={box} slowest={slowest} />)}
      </svg>
    </div>
  );
}
