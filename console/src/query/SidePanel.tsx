/** Beside the editor: tables and columns, saved queries, history. */
import { useEffect, useState } from "preact/hooks";
import { deleteDocument, documents, listDocuments } from "../api";
import { formatMs, shortenType } from "../format";
import { explain, go, keep, note, readKept } from "../state";
import { Button, Icon, Tabs } from "../ui/parts";
import { type CatalogTable, nameTable, readCatalog, tables } from "./catalog";
import { openTab, past } from "./work";
import { quoteName } from "../run";

interface Props {
  onInsert: (text: string) => void;
  onRun: (sql: string) => void;
}

function TableEntry({ table, open, filter, onInsert, onRun }: { table: CatalogTable; open: boolean; filter: string } & Props) {
  const [wanted, setWanted] = useState(open);
  const shown = wanted || (filter !== "" && !table.name.toLowerCase().includes(filter));
  const columns = filter && !table.name.toLowerCase().includes(filter) ? table.columns.filter((column) => column.name.toLowerCase().includes(filter)) : table.columns;
  return (
    <li>
      <div class="table-line">
        <button type="button" class="tree" aria-expanded={shown} onClick={() => setWanted(!wanted)} title={nameTable(table)}>
          <Icon name={shown ? "down" : "right"} size={13} />
          <span class="cut">{table.schema === "public" ? table.name : `${table.schema}.${table.name}`}</span>
          {table.kind === "v" && <small>view</small>}
        </button>
        <Button icon="play" kind="quiet" class="small" label={`First rows of ${table.name}`} onClick={() => onRun(`SELECT * FROM ${nameTable(table)} LIMIT 1000`)} />
      </div>
      {shown && (
        <ul class="columns">
          {columns.map((column) => (
            <li key={column.name}>
              <button type="button" onClick={() => onInsert(quoteName(column.name))} title={`${column.name} ${column.type}`}>
                <span class="cut">{column.name}</span><small class="cut">{shortenType(column.type)}</small>
              </button>
            </li>
          ))}
        </ul>
      )}
    </li>
  );
}

function TableList(props: Props) {
  const [filter, setFilter] = useState("");
  useEffect(() => void readCatalog().catch((error) => note(explain(error), true)), []);
  const wanted = filter.trim().toLowerCase();
  const found = (tables.value ?? []).filter((table) => !wanted || table.name.toLowerCase().includes(wanted) || table.columns.some((column) => column.name.toLowerCase().includes(wanted)));
  return (
    <>
      <div class="side-tools">
        <input type="search" placeholder="Find a table or column" aria-label="Find a table or column" value={filter} onInput={(event) => setFilter(event.currentTarget.value)} />
        <Button icon="refresh" kind="quiet" label="Read the catalog again" onClick={() => void readCatalog().catch((error) => note(explain(error), true))} />
      </div>
      <ul class="tree-list" aria-label="Tables">
        {found.slice(0, 500).map((table) => <TableEntry key={`${table.schema}.${table.name}`} table={table} open={found.length === 1} filter={wanted} {...props} />)}
      </ul>
      {tables.value && !found.length && <p class="soft pad">{wanted ? "Nothing has this name." : "No tables yet."}</p>}
    </>
  );
}

function SavedList() {
  useEffect(() => void listDocuments().catch((error) => note(explain(error), true)), []);
  const queries = documents.value.filter((entry) => entry.kind === "query");
  return (
    <ul class="entries" aria-label="Saved queries">
      {queries.map((entry) => (
        <li key={entry.id} class="with-action">
          <button type="button" onClick={() => go("d", entry.id)}>
            <span class="cut">{entry.name}</span>
            <small>{entry.owner}{entry.shared ? " · shared" : ""}</small>
          </button>
          <Button icon="trash" kind="quiet" class="small" label={`Delete ${entry.name}`} onClick={() => {
            if (confirm(`Delete the query ${entry.name}?`)) void deleteDocument(entry.id).catch((error) => note(explain(error), true));
          }} />
        </li>
      ))}
      {!queries.length && <li class="soft pad">Queries that you save with Ctrl+S are listed here.</li>}
    </ul>
  );
}

function HistoryList() {
  const [filter, setFilter] = useState("");
  const found = past.value.filter((entry) => entry.sql.toLowerCase().includes(filter.toLowerCase()));
  return (
    <>
      <div class="side-tools"><input type="search" placeholder="Find in history" aria-label="Find in history" value={filter} onInput={(event) => setFilter(event.currentTarget.value)} /></div>
      <ul class="entries" aria-label="History">
        {found.slice(0, 100).map((entry) => (
          <li key={`${entry.at}${entry.sql}`}>
            <button type="button" onClick={() => openTab(entry.sql)} title={entry.sql.slice(0, 2000)}>
              <code class="cut2">{entry.sql}</code>
              <small class={entry.bad ? "bad cut" : "cut"}>{entry.note} · {formatMs(entry.ms)} · {new Date(entry.at).toLocaleTimeString()}</small>
            </button>
          </li>
        ))}
        {!found.length && <li class="soft pad">What you run is listed here.</li>}
      </ul>
    </>
  );
}

type Part = "tables" | "saved" | "history";

export function SidePanel(props: Props) {
  const [part, setPart] = useState<Part>(readKept<Part>("side", "tables"));
  const choose = (name: Part) => {
    setPart(name);
    keep("side", name);
  };
  return (
    <aside class="side" aria-label="Tables, saved queries, history">
      <Tabs label="Lists" chosen={part} onChoose={choose} tabs={[{ name: "tables", label: "Tables" }, { name: "saved", label: "Saved" }, { name: "history", label: "History" }]} />
      {part === "tables" ? <TableList {...props} /> : part === "saved" ? <SavedList /> : <HistoryList />}
    </aside>
  );
}
