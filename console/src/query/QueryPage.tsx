/** The query page: lists, tabs of editors, and results below them. */
import { EditorView } from "@codemirror/view";
import { useEffect, useRef, useState } from "preact/hooks";
import { type ErrorFields, saveDocument } from "../api";
import { explain, keep, note, readKept } from "../state";
import { Button, Dialog, Menu } from "../ui/parts";
import { Editor, type EditorActions, makeState, underline } from "./Editor";
import { Parameters } from "./Parameters";
import { Results } from "./Results";
import { SidePanel } from "./SidePanel";
import { countParameters, findOffset, findStatementAt, findWord, splitStatements } from "./statements";
import { cancelIn, closeTab, current, keepTabs, openTab, runIn, type Tab, tabs } from "./work";

function EditorTabs() {
  return (
    <div class="query-tabs" role="group" aria-label="Queries">
      {tabs.value.map((tab, index) => (
        <span key={tab.id} class={`query-tab ${index === current.value ? "here" : ""}`}>
          <button type="button" class="query-name" aria-pressed={index === current.value} onClick={() => (current.value = index)}
            onDblClick={() => {
              const name = prompt("Name of the query", tab.title.value);
              if (name?.trim()) tab.title.value = name.trim();
              keepTabs();
            }}>
            {tab.running.value && <span class="dot" title="runs" />}
            <span class="cut">{tab.title.value}</span>
          </button>
          {tabs.value.length > 1 && <Button icon="close" kind="quiet" class="tiny" label={`Close ${tab.title.value}`} onClick={() => closeTab(index)} />}
        </span>
      ))}
      <Button icon="plus" kind="quiet" class="small" label="New query" onClick={() => openTab()} />
    </div>
  );
}

function SaveDialog({ tab, onClose }: { tab: Tab; onClose: () => void }) {
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const data = new FormData(event.target as HTMLFormElement);
    const [name, shared] = [String(data.get("name")).trim(), data.get("shared") !== null];
    try {
      const id = await saveDocument({ kind: "query", name, shared, body: { sql: tab.text.value } }, tab.document.value?.id);
      tab.document.value = { id, shared };
      tab.title.value = name;
      keepTabs();
      note("Saved.");
      onClose();
    } catch (error) {
      note(explain(error), true);
    }
  };
  return (
    <Dialog title="Save the query" onClose={onClose}>
      <form class="form" onSubmit={submit}>
        <label>Name<input name="name" required maxLength={200} defaultValue={tab.title.value} autofocus /></label>
        <label class="check"><input type="checkbox" name="shared" defaultChecked={tab.document.value?.shared ?? false} />Others may open it</label>
        <footer><Button onClick={onClose}>Back</Button><Button kind="primary" type="submit">Save</Button></footer>
      </form>
    </Dialog>
  );
}

export function QueryPage() {
  const view = useRef<EditorView | null>(null);
  const shown = useRef<Tab | null>(null);
  const [saving, setSaving] = useState(false);
  const [side, setSide] = useState(innerWidth > 900 && readKept("sideOpen", true));
  const [height, setHeight] = useState(readKept("editorHeight", 38));
  const tab = tabs.value[current.value] ?? tabs.value[0]!;
  const actions = useRef<EditorActions | null>(null);

  const execute = (from: number, to: number) => {
    const text = view.current!.state.sliceDoc(from, to);
    const count = countParameters(text);
    const values = tab.parameters.value;
    underline(view.current!, null);
    const ran = tab;
    void runIn(tab, text, splitStatements(text), Array.from({ length: count }, (_, index) => values[index] ?? null)).then(() => {
      const failed = ran.outcomes.value.find((outcome) => outcome.error)?.error;
      if (failed?.position && shown.current === ran) mark(failed, text, from, false);
    });
  };
  const mark = (error: ErrorFields, text: string, from: number, move: boolean) => {
    const span = findWord(text, findOffset(text, error.position!));
    const limit = view.current!.state.doc.length;
    const [start, end] = [Math.min(from + span.from, limit), Math.min(from + span.to, limit)];
    underline(view.current!, { from: start, to: end, message: error.hint ? `${error.message}\n${error.hint}` : error.message });
    if (move) {
      view.current!.dispatch({ selection: { anchor: start, head: end }, scrollIntoView: true });
      view.current!.focus();
    }
  };
  const last = useRef({ text: "", from: 0 });
  const start = (from: number, to: number) => {
    last.current = { text: view.current!.state.sliceDoc(from, to), from };
    execute(from, to);
  };
  const runAtCursor = () => {
    const { state } = view.current!;
    const { main } = state.selection;
    if (!main.empty) return start(main.from, main.to);
    const found = findStatementAt(state, main.head);
    if (found) start(found.from, found.to);
  };
  const runAll = () => start(0, view.current!.state.doc.length);
  const run = (sql: string) => {
    openTab(sql);
    requestAnimationFrame(() => actions.current!.runAll());
  };
  const insert = (text: string) => {
    view.current!.dispatch(view.current!.state.replaceSelection(text));
    view.current!.focus();
  };
  actions.current = {
    runAtCursor,
    runAll,
    cancel: () => void cancelIn(tab),
    save: () => setSaving(true),
    change: (text) => {
      tab.text.value = text;
      keepTabs();
    },
  };
  const getActions = () => actions.current!;
  tab.state ??= makeState(tab.text.value, getActions);
  useEffect(() => {
    if (shown.current && shown.current !== tab) {
      shown.current.state = view.current!.state;
      view.current!.setState(tab.state!);
      view.current!.focus();
    }
    shown.current = tab;
  }, [tab]);

  const drag = (event: PointerEvent) => {
    const box = (event.currentTarget as HTMLElement).parentElement!.getBoundingClientRect();
    const move = (moved: PointerEvent) => setHeight(Math.min(Math.max(((moved.clientY - box.top) / box.height) * 100, 12), 85));
    const end = () => {
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", end);
      setHeight((value) => (keep("editorHeight", value), value));
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", end);
    event.preventDefault();
  };
  const running = tab.running.value !== null;
  const toggleSide = () => {
    keep("sideOpen", !side);
    setSide(!side);
  };
  return (
    <div class={`query ${side ? "with-side" : ""}`}>
      {side && <SidePanel onInsert={insert} onRun={run} />}
      <div class="work">
        <div class="query-bar">
          <Button icon="menu" kind="quiet" label={side ? "Hide the lists" : "Show tables, saved queries, history"} aria-expanded={side} onClick={toggleSide} />
          <EditorTabs />
          <span class="end">
            {tab.transaction.value !== "idle" && <span class={`pill ${tab.transaction.value === "failed" ? "bad" : "warn"}`} title="This tab is inside a transaction">{tab.transaction.value === "failed" ? "failed transaction" : "in transaction"}</span>}
            <Menu label="Plans" icon="plan" items={[
              { label: "Explain the statement at the cursor", act: () => explainAt("EXPLAIN (FORMAT json) ") },
              { label: "Run and explain it, with times", act: () => explainAt("EXPLAIN (ANALYZE, FORMAT json) ") },
            ]} />
            <Button icon="save" kind="quiet" label="Save (Ctrl+S)" onClick={() => setSaving(true)} />
            {running
              ? <Button icon="stop" kind="danger" title="Ctrl+." onClick={() => void cancelIn(tab)}>Cancel</Button>
              : <Button icon="play" kind="primary" title="Run the statement at the cursor (Ctrl+Enter)" onClick={runAtCursor}>Run</Button>}
          </span>
        </div>
        <div class="split">
          <div class="upper" style={{ height: `${height}%` }}>
            <Editor state={tab.state} onView={(made) => (view.current = made)} />
            <Parameters tab={tab} />
          </div>
          <div class="divider" role="separator" aria-orientation="horizontal" aria-label="Height of the editor" aria-valuenow={Math.round(height)} aria-valuemin={12} aria-valuemax={85} tabIndex={0}
            onPointerDown={drag}
            onKeyDown={(event) => {
              const step = event.key === "ArrowUp" ? -4 : event.key === "ArrowDown" ? 4 : 0;
              if (step) setHeight(Math.min(Math.max(height + step, 12), 85));
            }} />
          <Results key={tab.id} tab={tab} onShowError={(error) => error.position && mark(error, last.current.text, last.current.from, true)} />
        </div>
      </div>
      {saving && <SaveDialog tab={tab} onClose={() => setSaving(false)} />}
    </div>
  );

  function explainAt(prefix: string): void {
    const { state } = view.current!;
    const found = findStatementAt(state, state.selection.main.head);
    if (!found) return;
    const text = state.sliceDoc(found.from, found.to);
    underline(view.current!, null);
    const count = countParameters(text);
    const values = tab.parameters.value;
    last.current = { text: prefix + text, from: found.from - prefix.length };
    void runIn(tab, prefix + text, [prefix + text], Array.from({ length: count }, (_, index) => values[index] ?? null));
  }
}
