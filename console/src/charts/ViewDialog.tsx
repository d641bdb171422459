/** The dialog that makes or changes a view: its kind and its columns. */
import { useState } from "preact/hooks";
import { Button, Dialog, Icon } from "../ui/parts";
import { AGGREGATES, type Aggregate, type Column, isNumber, isTime, type Kind, KINDS, nameView, type Part, PARTS, type View } from "./body";

interface PickProps {
  label: string;
  value: string;
  options: readonly (string | { value: string; label: string })[];
  onPick: (value: string) => void;
}

export function Pick({ label, value, options, onPick }: PickProps) {
  return (
    <label>
      {label}
      <select value={value} onChange={(event) => onPick(event.currentTarget.value)}>
        {options.map((option) => {
          const { value: each, label: text } = typeof option === "string" ? { value: option, label: option } : option;
          return <option key={each} value={each}>{text}</option>;
        })}
      </select>
    </label>
  );
}

/** The columns that fit an axis of a kind, best first. */
export function listFitting(kind: Kind, columns: Column[]): string[] {
  const numeric = (column: Column) => isNumber(column.type);
  if (kind === "hexbin" || kind === "points" || kind === "map") return columns.filter(numeric).map((column) => column.name);
  if (kind === "histogram") return columns.filter((column) => numeric(column) || isTime(column.type)).map((column) => column.name);
  if (kind === "line") return [...columns.filter((column) => isTime(column.type)), ...columns.filter(numeric)].map((column) => column.name);
  return columns.map((column) => column.name);
}

/** A view of another kind, with the columns that it can keep. */
export function changeKind(view: View, kind: Kind, columns: Column[]): View {
  const fitting = listFitting(kind, columns);
  const x = fitting.includes(view.x) ? view.x : (fitting[0] ?? "");
  const { title: _, y, domain: __, ...rest } = view;
  const axes = KINDS.find((each) => each.kind === kind)!.axes;
  const next: View = { ...rest, kind, x };
  if (axes === 2) next.y = y && fitting.includes(y) ? y : (fitting.find((name) => name !== x) ?? x);
  if (kind !== "bars" && kind !== "line") {
    delete next.part;
    delete next.aggregate;
    delete next.value;
  }
  return next;
}

export function Pickers({ view, columns, onChange }: { view: View; columns: Column[]; onChange: (view: View) => void }) {
  const fitting = listFitting(view.kind, columns);
  const numbers = columns.filter((column) => isNumber(column.type)).map((column) => column.name);
  const two = KINDS.find((each) => each.kind === view.kind)!.axes === 2;
  const shows = view.kind === "bars" || view.kind === "line";
  const typed = columns.find((column) => column.name === view.x)?.type ?? "";
  const aggregate = view.aggregate ?? "count";
  return (
    <div class="pickers">
      <Pick label={two ? (view.kind === "map" ? "Longitude" : "Across") : "Column"} value={view.x} options={fitting} onPick={(x) => {
        const { part: _, ...rest } = view;
        onChange({ ...rest, x });
      }} />
      {two && <Pick label={view.kind === "map" ? "Latitude" : "Up"} value={view.y ?? ""} options={fitting} onPick={(y) => onChange({ ...view, y })} />}
      {shows && isTime(typed) && (
        <Pick label="Part of the time" value={view.part ?? ""} options={[{ value: "", label: "—" }, ...PARTS.map((each) => ({ value: each.part, label: each.label }))]}
          onPick={(part) => {
            const { part: _, ...rest } = view;
            onChange(part ? { ...rest, part: part as Part } : rest);
          }} />
      )}
      {shows && <Pick label="Shows" value={aggregate} options={AGGREGATES} onPick={(name) => onChange({ ...view, aggregate: name as Aggregate, value: view.value ?? numbers[0] })} />}
      {shows && aggregate !== "count" && <Pick label="of" value={view.value ?? ""} options={numbers} onPick={(value) => onChange({ ...view, value })} />}
    </div>
  );
}

export function Kinds({ chosen, columns, onChoose }: { chosen: Kind; columns: Column[]; onChoose: (kind: Kind) => void }) {
  return (
    <fieldset class="kinds">
      <legend class="hidden">Kind of chart</legend>
      {KINDS.filter(({ kind, axes }) => listFitting(kind, columns).length >= axes).map(({ kind, label }) => (
        <button type="button" key={kind} aria-pressed={kind === chosen} onClick={() => onChoose(kind)}><KindPicture kind={kind} />{label}</button>
      ))}
    </fieldset>
  );
}

const PICTURES: Record<Kind, string> = {
  histogram: "M3 20v-4h4v4zm4.5 0V9h4v11zm4.5 0V4h4v16zm4.5 0v-8h4v8z",
  bars: "M3 5h15v3H3zm0 5.5h10v3H3zM3 16h6v3H3z",
  line: "M3 17.5 8 11l4 3.5L20 5l1 1.2L12.2 17 8.2 13.5 4 18.6z",
  heat: "M3 3h5.5v5.5H3zm6.3 0h5.5v5.5H9.3zm6.2 6.2H21v5.5h-5.5zM9.3 9.2h5.5v5.5H9.3zM3 15.5h5.5V21H3z",
  hexbin: "M8 2.5 12 5v4.6L8 12 4 9.600V5zm8 0L20 5v4.6L16 12l-4-2.400V5zM12 12.500l4 2.400v4.600l-4 2.400-4-2.400v-4.600z",
  points: "M5 16.500a1.500 1.500 0 1 0 .1 0zm5-6a1.500 1.500 0 1 0 .1 0zm3 6a1.500 1.500 0 1 0 .1 0zm3-9a1.500 1.500 0 1 0 .1 0zm3 6a1.500 1.500 0 1 0 .1 0zm-11-9a1.500 1.500 0 1 0 .1 0z",
  map: "M12 2a7 7 0 0 0-7 7c0 5 7 13 7 13s7-8 7-13a7 7 0 0 0-7-7zm0 4.500a2.500 2.500 0 1 1 0 5 2.500 2.500 0 0 1 0-5z",
};

function KindPicture({ kind }: { kind: Kind }) {
  return <svg width="24" height="24" viewBox="0 0 24 24" aria-hidden="true" fill="currentColor"><path d={PICTURES[kind]} /></svg>;
}

const SPANS = [
  { value: "4", label: "A third" },
  { value: "6", label: "Half" },
  { value: "8", label: "Two thirds" },
  { value: "12", label: "Full" },
];

interface Props {
  view: View;
  columns: Column[];
  isNew: boolean;
  onDone: (view: View) => void;
  onClose: () => void;
}

export function ViewDialog({ view: first, columns, isNew, onDone, onClose }: Props) {
  const [view, setView] = useState(first);
  return (
    <Dialog title={isNew ? "Add a view" : "Change the view"} onClose={onClose} wide>
      <form class="form" onSubmit={(event) => { event.preventDefault(); onDone(view); }}>
        <Kinds chosen={view.kind} columns={columns} onChoose={(kind) => setView(changeKind(view, kind, columns))} />
        <Pickers view={view} columns={columns} onChange={setView} />
        <div class="pickers">
          <label>Title<input value={view.title ?? ""} placeholder={nameView({ ...view, title: undefined } as unknown as View)} maxLength={120}
            onInput={(event) => setView({ ...view, title: event.currentTarget.value })} /></label>
          <Pick label="Width" value={String(view.span ?? 4)} options={SPANS} onPick={(span) => setView({ ...view, span: Number(span) as View["span"] & number })} />
          <label class="check"><input type="checkbox" checked={view.tall ?? false} onChange={(event) => setView({ ...view, tall: event.currentTarget.checked })} /> Tall</label>
        </div>
        <footer><Button onClick={onClose}>Back</Button><Button kind="primary" type="submit"><Icon name={isNew ? "plus" : "save"} /> {isNew ? "Add" : "Apply"}</Button></footer>
      </form>
    </Dialog>
  );
}
