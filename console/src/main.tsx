/** The page: login, or the top bar with one of query, dashboards and server below it. */
import "@fontsource-variable/inter/wght.css";
import "@fontsource-variable/jetbrains-mono/wght.css";
import "./style.css";
import { render } from "preact";
import { lazy, Suspense } from "preact/compat";
import { logout, resume, session } from "./api";
import { Login } from "./Login";
import { QueryPage } from "./query/QueryPage";
import { go, notes, type Place, route, theme, toggleTheme } from "./state";
import { Button } from "./ui/parts";

const DashboardList = lazy(() => import("./charts/DashboardList"));
const DocumentPage = lazy(() => import("./charts/DocumentPage"));
const ServerPage = lazy(() => import("./server/ServerPage"));

const PLACES: [Place, string][] = [["query", "Query"], ["dashboards", "Dashboards"], ["server", "Server"]];

function TopBar() {
  const { user, database, engine, version } = session.value!;
  const here = route.value.place === "d" ? "dashboards" : route.value.place;
  return (
    <header class="top">
      <a class="brand" href="#/query" title={`gpudb ${version}`}>
        <img src="./icon.svg" alt="" width="22" height="22" />
        <span>gpudb</span>
      </a>
      <nav aria-label="Places">
        {PLACES.map(([place, label]) => (
          <a key={place} href={`#/${place}`} aria-current={here === place ? "page" : undefined}>{label}</a>
        ))}
      </nav>
      <div class="who">
        <span class="who-text" title={`${user} in ${database}`}><b>{user}</b><span> in {database}</span></span>
        {engine && <span class="pill" title="The engine of this server">{engine}</span>}
        <Button icon={theme.value === "dark" ? "sun" : "moon"} kind="quiet" label={theme.value === "dark" ? "Light colours" : "Dark colours"} onClick={toggleTheme} />
        <Button icon="logout" kind="quiet" label="Log out" onClick={() => void logout()} />
      </div>
    </header>
  );
}

function Page() {
  if (session.value === undefined) return <p class="loading" role="status">Connecting…</p>;
  if (session.value === null) return <Login />;
  const { place, id } = route.value;
  return (
    <>
      <TopBar />
      <main>
        <div class="place" hidden={place !== "query"}><QueryPage /></div>
        {place !== "query" && (
          <Suspense fallback={<p class="loading" role="status">Loading…</p>}>
            {place === "dashboards" && <DashboardList />}
            {place === "d" && <DocumentPage key={id} id={id} />}
            {place === "server" && <ServerPage />}
          </Suspense>
        )}
      </main>
    </>
  );
}

function Notes() {
  return (
    <div class="notes" role="status" aria-live="polite">
      {notes.value.map((each) => <p key={each.id} class={each.bad ? "bad" : ""}>{each.text}</p>)}
    </div>
  );
}

void resume();
if (!location.hash) go("query");
render(<><Page /><Notes /></>, document.getElementById("page")!);
