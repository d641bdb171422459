/** The outcome of a run: rows in the grid, a badge, errors with their hint, notices, and what can be done with it. */
import { lazy, Suspense } from "preact/compat";
import { useEffect, useRef, useState } from "preact/hooks";
import { download, type ErrorFields, type ExportFormat, ServerError } from "../api";
import { NOT_KEPT } from "../run";
import { formatCount, formatMs, formatRate, plural } from "../format";
import { explain, note } from "../state";
import { Button, Dialog, Icon, Menu, Tabs } from "../ui/parts";
import { copyCells } from "./copy";
import { Grid } from "./grid";
import { PlanPicture, readPlan } from "./PlanPicture";
import type { Outcome, Tab } from "./work";

const ResultChart = lazy(() => import("../charts/ResultChart"));

function Badge({ outcome, tab }: { outcome: Outcome; tab: Tab }) {
  tab.arrived.value;
  const { complete, rows } = outcome;
  if (!complete) return <span class="badge" role="status"><b>{plural(rows?.count ?? 0, "row")}</b><span>still running</span></span>;
  const count = rows ? rows.count : complete.rows;
  return (
    <span class="badge" role="status" data-testid="badge">
      {count === null || (!rows && !count) ? <b>{complete.tag}</b> : <b>{plural(count, "row")}{complete.truncated ? " shown" : ""}</b>}
      <span>{formatMs(complete.ms)}</span>
      {complete.bytes ? <span title={`${formatCount(complete.bytes)} bytes read`}>{formatRate(complete.bytes, complete.ms)}</span> : null}
      {complete.engine && <span class="pill">{complete.engine}</span>}
    </span>
  );
}

export function Problem({ error, onShow }: { error: ErrorFields; onShow?: () => void }) {
  return (
    <div class="problem-box" role="alert">
      <p class="problem-title">
        {error.severity ?? "ERROR"}: {error.message} {error.sqlstate && <code>{error.sqlstate}</code>}
      </p>
      {error.detail && <p>{error.detail}</p>}
      {error.hint && <p class="hint"><b>Hint</b> {error.hint}</p>}
      {error.position && onShow ? <Button kind="quiet" onClick={onShow}>Show where</Button> : null}
    </div>
  );
}

function Notices({ outcome }: { outcome: Outcome }) {
  const all = outcome.complete?.notices ?? [];
  if (!all.length) return null;
  return (
    <ul class="notices" aria-label="Notices">
      {all.map((each, index) => (
        <li key={index}>{typeof each === "string" ? each : `${each.severity ?? "NOTICE"}: ${each.message}${each.hint ? ` (${each.hint})` : ""}`}</li>
      ))}
    </ul>
  );
}

function GridView({ outcome, tab }: { outcome: Outcome; tab: Tab }) {
  const place = useRef<HTMLDivElement>(null);
  const grid = useRef<Grid | null>(null);
  const [opened, setOpened] = useState<{ name: string; type: string; text: string | null } | null>(null);
  const rows = outcome.rows!;
  useEffect(() => {
    const made = (grid.current = new Grid());
    made.onOpen = (row, column) => {
      const shown = made.rows;
      if (shown && row < shown.count) setOpened({ ...shown.columns[column]!, text: shown.text(row, column) });
    };
    made.onCopy = (range) => made.rows && void copyCells(made.rows, range, range.top !== range.bottom || range.left !== range.right);
    place.current!.append(made.element);
    return () => made.element.remove();
  }, []);
  useEffect(() => grid.current!.show(rows), [rows]);
  useEffect(() => tab.arrived.subscribe(() => grid.current!.grow()), [rows]);
  return (
    <div class="grid-place" ref={place}>
      {opened && (
        <Dialog title={opened.name} onClose={() => setOpened(null)} wide>
          <p class="soft">{opened.type}</p>
          <pre class="value" tabIndex={0}>{opened.text ?? "NULL"}</pre>
        </Dialog>
      )}
    </div>
  );
}

type View = "rows" | "chart" | "plan";

function ResultView({ outcome, tab }: { outcome: Outcome; tab: Tab }) {
  const [view, setView] = useState<View>("rows");
  const [lost, setLost] = useState(false);
  const [again, setAgain] = useState<ExportFormat | null>(null);
  const rows = outcome.rows;
  const kept = outcome.complete?.kept;
  // without kept rows, downloads and charts ask again: what changes rows must not run twice
  const isQuery = kept !== undefined || !outcome.complete || outcome.complete.tag.startsWith("SELECT");
  const plan = outcome.complete && rows ? readPlan(rows) : null;
  useEffect(() => setView(plan ? "plan" : "rows"), [rows, plan !== null]);
  const save = async (format: ExportFormat) => {
    try {
      await download(kept !== undefined && !lost ? { result: kept } : { sql: outcome.sql, tab: tab.id }, format);
    } catch (error) {
      if (kept === undefined || lost || !(error instanceof ServerError) || error.fields.sqlstate !== "42704") return note(explain(error), true);
      setLost(true);
      setAgain(format);
    }
  };
  const start = (format: ExportFormat) => (kept !== undefined && !lost ? void save(format) : setAgain(format));
  const all = () => rows && copyCells(rows, { top: 0, bottom: Math.max(rows.count - 1, 0), left: 0, right: rows.columns.length - 1 }, true);
  const views: { name: View; label: string }[] = [{ name: "rows", label: "Rows" }, ...(plan ? [{ name: "plan" as const, label: "Plan" }] : isQuery ? [{ name: "chart" as const, label: "Chart" }] : [])];
  return (
    <>
      <div class="result-bar">
        {rows && <Tabs label="View of the result" tabs={views} chosen={view} onChoose={setView} />}
        <Badge outcome={outcome} tab={tab} />
        {rows && outcome.complete && (
          <span class="end">
            <Button icon="copy" kind="quiet" label="Copy all rows" onClick={all} />
            {isQuery && <Menu label="Download" icon="download" items={[
              { label: "CSV", act: () => start("csv") },
              { label: "Parquet", act: () => start("parquet") },
              { label: "Arrow", act: () => start("arrow") },
            ]} />}
          </span>
        )}
      </div>
      <Notices outcome={outcome} />
      {rows && <div class="result-body" hidden={view !== "rows"}><GridView outcome={outcome} tab={tab} /></div>}
      {view === "plan" && plan && <PlanPicture plan={plan} />}
      {view === "chart" && rows && (
        <Suspense fallback={<p class="loading" role="status">Loading…</p>}><ResultChart key={kept} sql={outcome.sql} kept={kept} columns={rows.columns} /></Suspense>
      )}
      {again && (
        <Dialog title="Run the statement again?" onClose={() => setAgain(null)}>
          <p>{NOT_KEPT} A download runs the statement again: its rows may differ from those shown. It can only read.</p>
          <footer class="dialog-end"><Button onClick={() => setAgain(null)}>Back</Button><Button kind="primary" onClick={() => {
            setAgain(null);
            void save(again);
          }}>Run and download</Button></footer>
        </Dialog>
      )}
    </>
  );
}

function Clock({ started }: { started: number }) {
  const [now, setNow] = useState(performance.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(performance.now()), 100);
    return () => clearInterval(timer);
  }, []);
  return <span class="clock">{formatMs(Math.max(now - started, 0))}</span>;
}

export function Results({ tab, onShowError }: { tab: Tab; onShowError: (error: ErrorFields) => void }) {
  const outcomes = tab.outcomes.value;
  const running = tab.running.value;
  const shown = outcomes[tab.shown.value];
  return (
    <section class="results" aria-label="Results" aria-busy={running !== null}>
      {running && <div class="progress" role="progressbar" aria-label="The statement runs" />}
      {outcomes.length > 1 && (
        <Tabs label="Results" chosen={String(tab.shown.value)} onChoose={(name) => (tab.shown.value = Number(name))}
          tabs={outcomes.map((outcome, index) => ({
            name: String(index),
            label: <>{outcome.error ? "Error" : (outcome.complete?.tag ?? "…")}</>,
          }))} />
      )}
      {shown?.error && <Problem error={shown.error} onShow={() => onShowError(shown.error!)} />}
      {shown && !shown.error && <ResultView outcome={shown} tab={tab} />}
      {!shown && (
        <div class="empty">
          {running ? <p role="status">Running for <Clock started={running.started} /></p> : (
            <>
              <Icon name="table" size={28} />
              <p>Results appear here.</p>
              <p class="soft keys"><span><kbd>Ctrl</kbd> <kbd>Enter</kbd> run the statement at the cursor</span><span><kbd>Ctrl</kbd> <kbd>Shift</kbd> <kbd>Enter</kbd> run all</span><span><kbd>Ctrl</kbd> <kbd>.</kbd> cancel</span></p>
            </>
          )}
        </div>
      )}
    </section>
  );
}
