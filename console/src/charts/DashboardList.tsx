/** All dashboards that the role may open, and the dialog that makes one from a table. */
import { useEffect, useState } from "preact/hooks";
import { deleteDocument, documents, listDocuments, saveDocument } from "../api";
import { nameTable, readCatalog, tables } from "../query/catalog";
import { explain, go, note } from "../state";
import { Button, Dialog } from "../ui/parts";
import { listColumns, suggestBoard } from "./body";

function NewDialog({ onClose }: { onClose: () => void }) {
  const [busy, setBusy] = useState(false);
  useEffect(() => void readCatalog().catch((error) => note(explain(error), true)), []);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const data = new FormData(event.target as HTMLFormElement);
    const source = { table: String(data.get("table")) };
    setBusy(true);
    try {
      const views = suggestBoard(await listColumns(source));
      const id = await saveDocument({ kind: "dashboard", name: String(data.get("name")).trim() || source.table, shared: data.get("shared") !== null, body: { source, views } });
      go("d", id);
    } catch (error) {
      note(explain(error), true);
      setBusy(false);
    }
  };
  return (
    <Dialog title="New dashboard" onClose={onClose}>
      <form class="form" onSubmit={submit}>
        <label>Table<select name="table" required>
          {(tables.value ?? []).map((table) => <option key={nameTable(table)} value={nameTable(table)}>{nameTable(table)}</option>)}
        </select></label>
        <label>Name<input name="name" maxLength={200} placeholder="As the table" /></label>
        <label class="check"><input type="checkbox" name="shared" /> Others may open it</label>
        <footer><Button onClick={onClose}>Back</Button><Button kind="primary" type="submit" disabled={busy || !tables.value?.length}>Make it</Button></footer>
      </form>
    </Dialog>
  );
}

export default function DashboardList() {
  const [making, setMaking] = useState(false);
  useEffect(() => void listDocuments().catch((error) => note(explain(error), true)), []);
  const boards = documents.value.filter((entry) => entry.kind === "dashboard");
  return (
    <div class="scroll">
      <div class="page-head">
        <h1>Dashboards</h1>
        <span class="end"><Button icon="plus" kind="primary" onClick={() => setMaking(true)}>New dashboard</Button></span>
      </div>
      <ul class="cards">
        {boards.map((entry) => (
          <li class="card" key={entry.id}>
            <a href={`#/d/${encodeURIComponent(entry.id)}`}>{entry.name}</a>
            <small>{entry.owner}{entry.shared ? " · shared" : ""} · {new Date(entry.changed).toLocaleString()}</small>
            <Button icon="trash" kind="quiet" class="small" label={`Delete ${entry.name}`} onClick={() => {
              if (confirm(`Delete the dashboard ${entry.name}?`)) void deleteDocument(entry.id).catch((error) => note(explain(error), true));
            }} />
          </li>
        ))}
      </ul>
      {!boards.length && <p class="soft">A dashboard shows views over a table that filter each other: drag over one, and all others follow.</p>}
      {making && <NewDialog onClose={() => setMaking(false)} />}
    </div>
  );
}
