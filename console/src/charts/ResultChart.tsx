/** A chart over a result: its kept rows as a source, one view, and the way to a dashboard, which runs the statement each time. */
import { useState } from "preact/hooks";
import { saveDocument } from "../api";
import { NOT_KEPT } from "../run";
import { explain, go, note } from "../state";
import { Button } from "../ui/parts";
import { type Column, suggest, suggestBoard, type View } from "./body";
import { BoardView } from "./BoardView";
import { changeKind, Kinds, Pickers } from "./ViewDialog";

export default function ResultChart({ sql, kept, columns }: { sql: string; kept: string | undefined; columns: Column[] }) {
  const [agreed, setAgreed] = useState(false);
  const [view, setView] = useState<View | null>(() => suggest(columns));
  if (!view) return <p class="empty">A result without columns has no chart.</p>;
  if (kept === undefined && !agreed) {
    return (
      <div class="empty">
        <p>{NOT_KEPT} A chart runs the statement again: its rows may differ from those shown. It can only read.</p>
        <Button onClick={() => setAgreed(true)}>Run it again</Button>
      </div>
    );
  }
  const keepIt = async () => {
    const others = suggestBoard(columns).filter((each) => each.x !== view.x || each.kind !== view.kind);
    const views = [{ ...view, span: 12 as const }, ...others.map((each) => ({ ...each, span: 6 as const }))];
    try {
      go("d", await saveDocument({ kind: "dashboard", name: "Dashboard of a query", shared: false, body: { source: { sql }, views } }));
    } catch (error) {
      note(explain(error), true);
    }
  };
  return (
    <div class="result-chart">
      <Kinds chosen={view.kind} columns={columns} onChoose={(kind) => setView(changeKind(view, kind, columns))} />
      <BoardView source={kept === undefined ? { sql } : { result: kept }} columns={columns} views={[{ ...view, span: 12 }]}>
        <Pickers view={view} columns={columns} onChange={setView} />
        <Button icon="chart" onClick={() => void keepIt()}>Make a dashboard</Button>
      </BoardView>
    </div>
  );
}
