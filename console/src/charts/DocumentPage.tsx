/** A saved document at its address: a dashboard shows its views, a query opens in the editor. */
import { useEffect, useState } from "preact/hooks";
import { readDocument, type SavedDocument, saveDocument, session } from "../api";
import { explain, go, note } from "../state";
import { current, openTab, tabs } from "../query/work";
import { Button, Dialog } from "../ui/parts";
import { type Body, type Column, listColumns, readBody, type View } from "./body";
import { BoardView } from "./BoardView";
import { agree, findForeign, type Foreign } from "./consent";
import { changeKind, ViewDialog } from "./ViewDialog";

function openQuery(found: SavedDocument<{ sql?: unknown }>): void {
  const at = tabs.value.findIndex((tab) => tab.document.value?.id === found.id);
  if (at >= 0) current.value = at;
  else openTab(String(found.body.sql ?? ""), found.name, { id: found.id, shared: found.shared });
  go("query");
}

function SaveDialog({ name, shared, onSave, onClose }: { name: string; shared: boolean; onSave: (name: string, shared: boolean) => void; onClose: () => void }) {
  return (
    <Dialog title="Save the dashboard" onClose={onClose}>
      <form class="form" onSubmit={(event) => {
        event.preventDefault();
        const data = new FormData(event.target as HTMLFormElement);
        onSave(String(data.get("name")).trim(), data.get("shared") !== null);
      }}>
        <label>Name<input name="name" required maxLength={200} defaultValue={name} /></label>
        <label class="check"><input type="checkbox" name="shared" defaultChecked={shared} /> Others may open it</label>
        <footer><Button onClick={onClose}>Back</Button><Button kind="primary" type="submit">Save</Button></footer>
      </form>
    </Dialog>
  );
}

function Question({ name, foreign, onAgree }: { name: string; foreign: Foreign; onAgree: () => void }) {
  return (
    <div class="scroll">
      <div class="page-head"><h1>{name}</h1></div>
      <section class="question" aria-label="Statement of another role">
        <p>{foreign.view === null ? "This dashboard is" : <>This dashboard shows the view <b>{foreign.view}</b>, which is</>} of the role <b>{foreign.author}</b>. To draw it, this statement runs with your rights; it can only read.</p>
        <pre class="value" tabIndex={0}>{foreign.sql}</pre>
        <footer><Button onClick={() => go("dashboards")}>Back</Button><Button kind="primary" onClick={onAgree}>Run it</Button></footer>
      </section>
    </div>
  );
}

export default function DocumentPage({ id }: { id: string }) {
  const [found, setFound] = useState<SavedDocument | null>(null);
  const [body, setBody] = useState<Body | null>(null);
  const [columns, setColumns] = useState<Column[] | null>(null);
  const [foreign, setForeign] = useState<Foreign | null>(null);
  const [problem, setProblem] = useState("");
  const [edited, setEdited] = useState<number | "new" | null>(null);
  const [saving, setSaving] = useState(false);
  const [changed, setChanged] = useState(false);
  useEffect(() => {
    const load = async () => {
      const read = await readDocument(id);
      if (read.kind === "query") return openQuery(read as SavedDocument<{ sql?: unknown }>);
      const parsed = readBody(read.body);
      setFound(read);
      setBody(parsed);
      const asked = await findForeign(read, parsed);
      setForeign(asked);
      if (!asked) setColumns(await listColumns(parsed.source));
    };
    load().catch((error) => setProblem(explain(error)));
  }, [id]);
  const run = (agreed: Foreign) => {
    agree(agreed);
    setForeign(null);
    listColumns(body!.source).then(setColumns, (error) => setProblem(explain(error)));
  };

  if (problem) return <div class="scroll"><p class="problem" role="alert">{problem}</p></div>;
  if (found && foreign) return <Question name={found.name} foreign={foreign} onAgree={() => run(foreign)} />;
  if (!found || !body || !columns) return <p class="loading" role="status">Loading…</p>;
  const mine = found.owner === session.value?.user || session.value?.superuser === true;
  const change = (views: View[]) => {
    setBody({ ...body, views });
    setChanged(true);
    setEdited(null);
  };
  const save = async (name: string, shared: boolean) => {
    try {
      const saved = await saveDocument({ kind: "dashboard", name, shared, body }, mine ? id : undefined);
      setSaving(false);
      setChanged(false);
      note("Saved.");
      if (saved === id) setFound({ ...found, name, shared });
      else go("d", saved);
    } catch (error) {
      note(explain(error), true);
    }
  };
  const tools = (_: View, index: number) => (
    <>
      {index > 0 && <Button icon="right" kind="quiet" class="small turned" label="Move forward" onClick={() => {
        const views = [...body.views];
        [views[index - 1], views[index]] = [views[index]!, views[index - 1]!];
        change(views);
      }} />}
      <Button icon="edit" kind="quiet" class="small" label="Change the view" onClick={() => setEdited(index)} />
      <Button icon="trash" kind="quiet" class="small" label="Remove the view" onClick={() => change(body.views.filter((_, at) => at !== index))} />
    </>
  );
  const share = async () => {
    try {
      await navigator.clipboard.writeText(location.href);
      note(found.shared ? "Copied the address." : "Copied the address. Only you can open it until you share it.");
    } catch {
      note(location.href);
    }
  };
  return (
    <div class="scroll">
      <BoardView source={body.source} views={body.views} columns={columns} tools={tools}>
        <h1>{found.name}</h1>
        <span class="actions">
          <Button icon="plus" kind="quiet" label="Add a view" onClick={() => setEdited("new")} />
          <Button icon="link" kind="quiet" label="Copy the address" onClick={() => void share()} />
          <Button icon="save" kind={changed ? "primary" : "quiet"} label={mine ? "Save" : "Save a copy"} onClick={() => setSaving(true)} />
        </span>
      </BoardView>
      {edited !== null && (
        <ViewDialog columns={columns} isNew={edited === "new"} onClose={() => setEdited(null)}
          view={edited === "new" ? changeKind({ kind: "histogram", x: "", span: 4 }, "histogram", columns) : body.views[edited]!}
          onDone={(view) => change(edited === "new" ? [...body.views, view] : body.views.map((each, at) => (at === edited ? view : each)))} />
      )}
      {saving && <SaveDialog name={found.name} shared={found.shared} onSave={(name, shared) => void save(name, shared)} onClose={() => setSaving(false)} />}
    </div>
  );
}
