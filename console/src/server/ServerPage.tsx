/** The server pane: sessions, statements, tables, workers and their memory, asked again every two seconds while shown. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { formatCount, formatMs, formatSize } from "../format";
import { ask, type Cell, quoteLiteral } from "../run";
import { countParameters } from "../query/statements";
import { current, openTab, runIn, tabs } from "../query/work";
import { explain, go, note } from "../state";
import { session } from "../api";
import { Button, Tabs } from "../ui/parts";
import * as views from "./views";

const EVERY_MS = 2000;
const FILES_EVERY_MS = 30_000;
const HISTORY = 60;
const MOST_COUNTED = 40;
const PLANNED = /^(?:select|with|values|table)\b/i;

type RowsOf = Cell[][];

interface Sample {
  sessions: RowsOf;
  copies: RowsOf;
  queries: RowsOf;
  log: RowsOf;
  slow: RowsOf;
  database: RowsOf;
  tables: RowsOf;
  resident: RowsOf;
  devices: RowsOf;
}

const QUESTIONS: [keyof Sample, string][] = [
  ["sessions", views.SESSIONS], ["copies", views.COPIES], ["queries", views.QUERIES], ["database", views.DATABASE], ["devices", views.DEVICES],
  ["resident", views.RESIDENT], ["tables", views.TABLES], ["log", views.LOG], ["slow", views.SLOW],
];

const number = (cell: Cell | undefined) => (cell === null || cell === undefined ? 0 : Number(cell));

/** Asks all views; those that the role may not read, or that this server lacks, stay empty. */
async function takeSample(problems: Map<string, string>): Promise<Sample> {
  const sample = {} as Sample;
  for (const [name, sql] of QUESTIONS) {
    try {
      sample[name] = await ask(sql);
      problems.delete(name);
    } catch (error) {
      sample[name] = [];
      problems.set(name, explain(error));
    }
  }
  return sample;
}

function useSamples() {
  const [sample, setSample] = useState<Sample | null>(null);
  const [rates, setRates] = useState<number[]>([]);
  const [files, setFiles] = useState(new Map<string, number>());
  const problems = useRef(new Map<string, string>());
  const asked = useRef(0);
  const again = useRef(() => {});
  useEffect(() => {
    let [stopped, timer, busy] = [false, 0, false];
    let before: { moment: number; count: number } | null = null;
    const look = async () => {
      clearTimeout(timer);
      if (busy || stopped) return;
      busy = true;
      if (!document.hidden) {
        const found = await takeSample(problems.current);
        if (stopped) return;
        setSample(found);
        const [moment, count] = [performance.now(), number(found.database[0]?.[0])];
        if (before) {
          const rate = (count - before.count) / ((moment - before.moment) / 1000);
          setRates((known) => [...known, Math.max(rate, 0)].slice(-HISTORY));
        }
        before = { moment, count };
        if (moment - asked.current > FILES_EVERY_MS || !asked.current) {
          asked.current = moment;
          await countFiles(found.tables).then(setFiles, () => undefined);
        }
      }
      busy = false;
      if (!stopped) timer = window.setTimeout(() => void look(), EVERY_MS);
    };
    again.current = () => void look();
    void look();
    return () => {
      stopped = true;
      clearTimeout(timer);
    };
  }, []);
  return { sample, rates, files, problems: problems.current, again: () => again.current() };
}

function quoteTable([schema, name]: Cell[]): string {
  const quote = (text: Cell | undefined) => `"${(text ?? "").replaceAll('"', '""')}"`;
  return `${quote(schema)}.${quote(name)}`;
}

async function countFiles(tables: RowsOf): Promise<Map<string, number>> {
  const names = tables.slice(0, MOST_COUNTED).map(quoteTable);
  if (!names.length) return new Map();
  return new Map((await ask(views.countFiles(names))).map(([table, files]) => [table!, number(files)]));
}

function Pane({ title, problem, tools, children, half = false }: { title: string; problem?: string; tools?: ComponentChildren; children: ComponentChildren; half?: boolean }) {
  return (
    <section class={`pane ${half ? "half" : ""}`} aria-label={title}>
      <header><h2>{title}</h2>{tools}</header>
      {problem ? <p class="soft pad">{problem}</p> : <div class="body" tabIndex={0} role="group" aria-label={title}>{children}</div>}
    </section>
  );
}

interface ColumnSpec {
  name: string;
  right?: boolean;
}

function List({ label, columns, rows, empty }: { label: string; columns: (string | ColumnSpec)[]; rows: ComponentChildren[][]; empty: string }) {
  const specs = columns.map((column) => (typeof column === "string" ? { name: column, right: false } : column));
  if (!rows.length) return <p class="soft pad">{empty}</p>;
  return (
    <table class="list" aria-label={label}>
      <thead><tr>{specs.map((column) => <th key={column.name} scope="col" class={column.right ? "number" : ""}>{column.name || <span class="hidden">Actions</span>}</th>)}</tr></thead>
      <tbody>{rows.map((row, index) => <tr key={index}>{row.map((cell, at) => <td key={at} class={specs[at]!.right ? "number" : specs[at]!.name ? "" : "actions"}>{cell}</td>)}</tr>)}</tbody>
    </table>
  );
}

function Meter({ share, label }: { share: number; label: string }) {
  const percent = Math.min(Math.max(share * 100, 0), 100);
  return <span class="meter" role="meter" aria-label={label} aria-valuemin={0} aria-valuemax={100} aria-valuenow={Math.round(percent)}><i style={{ width: `${percent}%` }} /></span>;
}

function Spark({ values }: { values: number[] }) {
  const most = Math.max(...values, 1e-9);
  const points = values.map((value, index) => `${(index / (HISTORY - 1)) * 100},${27 - (value / most) * 25}`);
  return <svg class="spark" viewBox="0 0 100 28" preserveAspectRatio="none" aria-hidden="true">{points.length > 1 && <path d={`M${points.join(" L")}`} />}</svg>;
}

function Sql({ text }: { text: Cell }) {
  const shown = (text ?? "").trim().replaceAll(/\s+/g, " ");
  return <code title={(text ?? "").slice(0, 2000)}>{shown}</code>;
}

/** Calls a function of the server for its effect, then looks again. */
function useActions(again: () => void) {
  return async (sql: string, done: string) => {
    try {
      await ask(sql);
      note(done);
    } catch (error) {
      note(explain(error), true);
    }
    again();
  };
}

type Act = ReturnType<typeof useActions>;

function Sessions({ sample, problem, act }: { sample: Sample; problem?: string; act: Act }) {
  const copies = new Map(sample.copies.map(([pid, ...more]) => [pid, more]));
  const fractions = new Map(sample.queries.map(([pid, fraction]) => [pid, number(fraction)]));
  const rows = sample.sessions.map(([pid, user, state, wait, seconds, name, address, query]) => {
    const [relation, command, done, total, tuples] = copies.get(pid!) ?? [];
    const fraction = fractions.get(pid!);
    return [
      pid, user,
      <><span class={`pill ${state === "active" ? "" : state?.includes("aborted") ? "bad" : state?.includes("transaction") ? "warn" : "calm"}`}>{state}</span>{wait && state === "active" ? <small> waits for {wait}</small> : null}</>,
      seconds === null || seconds === undefined ? "" : formatMs(number(seconds) * 1000),
      <><Sql text={query ?? ""} />{command && <small>{command} {relation}: {formatCount(number(tuples))} rows{number(total) > 0 ? <Meter share={number(done) / number(total)} label="Progress" /> : null}</small>}
        {fraction !== undefined && <small>{Math.round(fraction * 100)} % done<Meter share={fraction} label="Progress" /></small>}</>,
      <small class="client">{name}{address ? ` · ${address.replace(/\/\d+$/, "")}` : ""}</small>,
      <>
        {state === "active" && <Button kind="quiet" onClick={() => void act(`SELECT pg_cancel_backend(${Number(pid)})`, `Cancelled the statement of session ${pid}.`)}>Cancel</Button>}
        <Button kind="quiet" icon="close" class="small" label={`End session ${pid}`} onClick={() => {
          if (confirm(`End session ${pid} of ${user}?`)) void act(`SELECT pg_terminate_backend(${Number(pid)})`, `Ended session ${pid}.`);
        }} />
      </>,
    ];
  });
  return (
    <Pane title="Sessions" problem={problem}>
      <List label="Sessions" columns={[{ name: "Session", right: true }, "Role", "State", { name: "For", right: true }, "Statement", "Client", ""]} rows={rows} empty="No other session." />
    </Pane>
  );
}

function Statements({ sample, problems }: { sample: Sample; problems: Map<string, string> }) {
  const [part, setPart] = useState<"log" | "slow">("log");
  const open = (sql: Cell) => {
    openTab((sql ?? "").trim());
    go("query");
  };
  const explainIt = (sql: string) => {
    const text = `EXPLAIN (FORMAT json) ${sql}`;
    openTab(text, "Plan");
    go("query");
    void runIn(tabs.value[current.value]!, text, [text], []);
  };
  const actions = (query: Cell) => {
    const sql = (query ?? "").trim();
    // a cut text has no plan, and neither has one in whose constants' places are parameters
    const hasPlan = PLANNED.test(sql) && sql.length < views.LONGEST && !countParameters(sql);
    return (
      <>
        {hasPlan && <Button kind="quiet" icon="plan" class="small" label="Show the plan" onClick={() => explainIt(sql)} />}
        <Button kind="quiet" icon="edit" class="small" label="Open in the editor" onClick={() => open(query)} />
      </>
    );
  };
  const log = sample.log.map(([ended, user, engine, sqlstate, ms, rows, bytes, fallback, query]) => [
    ended, user, <>{engine}{fallback ? <small title="What the workers do not support"> {fallback}</small> : null}</>,
    sqlstate === "00000" ? "" : <span class="pill bad">{sqlstate}</span>,
    formatMs(number(ms)), formatCount(number(rows)), formatSize(number(bytes)), <Sql text={query ?? ""} />, actions(query ?? ""),
  ]);
  const slow = sample.slow.map(([calls, total, mean, most, rows, query]) => [
    formatCount(number(calls)), formatMs(number(total)), formatMs(number(mean)), formatMs(number(most)), formatCount(number(rows)), <Sql text={query ?? ""} />, actions(query ?? ""),
  ]);
  const right = (name: string) => ({ name, right: true });
  return (
    <Pane title="Statements" problem={problems.get(part)}
      tools={<Tabs label="Statements" chosen={part} onChoose={setPart} tabs={[{ name: "log", label: "Latest" }, { name: "slow", label: "By time" }]} />}>
      {part === "log"
        ? <List label="Latest statements" columns={["Ended", "Role", "Engine", "Error", right("Time"), right("Rows"), right("Bytes"), "Statement", ""]} rows={log} empty="Statements of 10 ms and more, and those that fail, are listed here." />
        : <List label="Statements by time" columns={[right("Calls"), right("Total"), right("Mean"), right("Longest"), right("Rows"), "Statement", ""]} rows={slow} empty="No statement has run yet." />}
    </Pane>
  );
}

function TableList({ sample, files, problem, act }: { sample: Sample; files: Map<string, number>; problem?: string; act: Act }) {
  const resident = new Map(sample.resident.map(([name, ...more]) => [name, more]));
  const workers = sample.devices.length > 0;
  const rows = sample.tables.map((row) => {
    const [schema, name, count, bytes, distribution] = row;
    const quoted = quoteTable(row);
    const [held, , pinned, columns] = resident.get(name!) ?? resident.get(`${schema}.${name}`) ?? [];
    const isPinned = pinned === "true" || pinned === "t";
    return [
      <span class="name">{schema === "public" ? name : `${schema}.${name}`}</span>,
      formatCount(Math.max(number(count), 0)), formatSize(number(bytes)), files.has(quoted) ? formatCount(files.get(quoted)!) : "", distribution,
      ...(workers ? [
        <>{held ? `${formatSize(number(held))} in ${columns} columns` : ""}{isPinned && <> <span class="pill">pinned</span></>}</>,
        <>
          {isPinned
            ? <Button kind="quiet" onClick={() => void act(`SELECT gpudb_unpin(${quoteLiteral(quoted)})`, `Unpinned ${name}.`)}>Unpin</Button>
            : <Button kind="quiet" onClick={() => void act(`SELECT gpudb_pin(${quoteLiteral(quoted)})`, `Pinned ${name}.`)}>Pin</Button>}
          {held && <Button kind="quiet" onClick={() => void act(`SELECT gpudb_evict(${quoteLiteral(quoted)})`, `Evicted ${name}.`)}>Evict</Button>}
        </>,
      ] : []),
    ];
  });
  const right = (name: string) => ({ name, right: true });
  return (
    <Pane title="Tables" problem={problem}>
      <List label="Tables" columns={["Table", right("Rows"), right("On disk"), right("Files"), "Distributed by", ...(workers ? ["In workers' memory", ""] : [])]} rows={rows} empty="No tables yet." />
    </Pane>
  );
}

function Workers({ sample, problem }: { sample: Sample; problem?: string }) {
  const percent = (cell: Cell | undefined) => (cell === null || cell === undefined ? "–" : <>{Math.round(number(cell) * 100)} %<Meter share={number(cell)} label="Share of time" /></>);
  const rows = sample.devices.map(([worker, node, kind, name, memory, held, computes, bandwidth]) => [
    worker, <span class="name">{node}</span>, <span class="name">{name} <small>{kind}</small></span>,
    <>{formatSize(number(held))} of {formatSize(number(memory))}<Meter share={number(held) / Math.max(number(memory), 1)} label={`Memory of worker ${worker}`} /></>,
    percent(computes), percent(bandwidth),
  ]);
  return (
    <Pane title="Workers" problem={problem}>
      <List label="Workers" columns={["Worker", "Node", "Device", "Columns in memory", "Computes", "Bandwidth"]} rows={rows} empty="This server has no workers: its engine runs inside it." />
    </Pane>
  );
}

export default function ServerPage() {
  const { sample, rates, files, problems, again } = useSamples();
  const act = useActions(again);
  if (!sample) return <p class="loading" role="status">Asking the server…</p>;
  const active = sample.sessions.filter((row) => row[2] === "active");
  const queued = active.filter((row) => row[3] === "Admission" || row[3] === "ClusterAdmission").length;
  const held = sample.devices.reduce((sum, row) => sum + number(row[5]), 0);
  const bytes = sample.tables.reduce((sum, row) => sum + number(row[3]), 0);
  return (
    <div class="scroll">
      <div class="page-head"><h1>Server</h1><span class="soft">gpudb {session.value?.version}</span></div>
      <div class="panes">
        <dl class="figures">
          <div class="figure"><dt>Sessions</dt><dd>{sample.sessions.length}</dd></div>
          <div class="figure"><dt>Running</dt><dd>{active.length}</dd></div>
          <div class="figure"><dt>Queued</dt><dd>{queued}</dd></div>
          <div class="figure"><dt>Transactions/s</dt><dd>{rates.length ? rates.at(-1)!.toFixed(1) : "–"}<Spark values={rates} /></dd></div>
          <div class="figure"><dt>Tables on disk</dt><dd>{formatSize(bytes)}</dd></div>
          {sample.devices.length > 0 && <div class="figure"><dt>In workers' memory</dt><dd>{formatSize(held)}</dd></div>}
        </dl>
        <Sessions sample={sample} problem={problems.get("sessions")} act={act} />
        <Statements sample={sample} problems={problems} />
        <TableList sample={sample} files={files} problem={problems.get("tables")} act={act} />
        <Workers sample={sample} problem={problems.get("devices")} />
      </div>
    </div>
  );
}
