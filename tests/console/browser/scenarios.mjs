// What a user does with the page, each told by its name. A scenario gets a page that is logged in, and raises an error.
import { readFileSync } from "node:fs";
import { brush, check, logIn, openPage, post, require, run, until, write } from "./support.mjs";

const EVIL = `<img src=x onerror=alert(1)>`;
const BOARD = {
  source: { table: "trips" },
  views: [
    { kind: "map", title: "Pickups", x: "pickup_longitude", y: "pickup_latitude", domain: { x: [-74.05, -73.75], y: [40.6, 40.9] } },
    { kind: "histogram", title: "Distance", x: "trip_distance", domain: { x: [0, 20] } },
    { kind: "bars", title: "Cabs", x: "cab_type" },
    { kind: "line", title: "Fare by hour", x: "pickup_datetime", part: "hour", aggregate: "avg", value: "total_amount" },
    { kind: "heat", title: "Fare and distance", x: "trip_distance", y: "fare_amount" },
    { kind: "hexbin", title: "Dropoffs", x: "dropoff_longitude", y: "dropoff_latitude", domain: { x: [-74.05, -73.75], y: [40.6, 40.9] } },
  ],
};

const SMALL = { ...BOARD, views: BOARD.views.slice(1, 3) };

const cells = (page, column) => page.locator(`[role=gridcell][aria-colindex="${column}"]`);
const badge = (page) => page.locator("[data-testid=badge]");
const chosen = async (page) => Number(await page.locator(".scroll [data-testid=totals]").getAttribute("data-chosen"));
const bars = (page, view) => page.locator(`.view[aria-label="${view}"] .chart-place svg`).first().innerHTML();

async function openBoard(page, base, body = SMALL, name = "Rides") {
  const { id } = await post(page, "/documents", { kind: "dashboard", name, shared: false, body });
  await page.goto(`${base}/console/#/d/${id}`);
  await until(async () => (await chosen(page)) > 0, "no rows are counted");
  for (const view of body.views) await page.locator(`.view[aria-label="${view.title}"] .chart-place svg`).first().waitFor();
  return id;
}

async function inspect(page, where) {
  await page.evaluate(readFileSync(require.resolve("axe-core/axe.min.js"), "utf8"));
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  const bad = violations.filter((each) => ["serious", "critical"].includes(each.impact));
  const told = bad.map((each) => `${each.id}: ${each.nodes.map((node) => node.html.slice(0, 160)).slice(0, 3).join(" | ")}`);
  check(!bad.length, `axe finds in ${where}:\n${told.join("\n")}`);
}

export const scenarios = {
  async "refuses a wrong password and takes the right one"(_, { base, browser, user, password }) {
    const page = await openPage(browser, base);
    await page.getByLabel("Role").fill(user);
    await page.getByLabel("Password").fill("wrong");
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByText("password authentication failed").waitFor();
    await logIn(page, user, password);
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByRole("button", { name: "Log in" }).waitFor();
    check(!page.problems.length, page.problems.join("\n"));
    await page.context().close();
  },

  async "runs the statement at the cursor and scrolls a hundred thousand rows"(page) {
    await write(page, "SELECT 'not this one';\n\nSELECT i, i * 0.5 AS half, NULL AS nothing, i * 99999999::bigint AS n\nFROM generate_series(1, 100000) AS i;");
    await page.keyboard.press("Control+Enter");
    await badge(page).getByText("100,000 rows").waitFor();
    await page.locator(".results[aria-busy=false]").waitFor();
    check((await cells(page, 1).first().textContent()) === "1", "the first row is not first");
    await page.getByRole("grid").click({ position: { x: 40, y: 50 } });
    await page.keyboard.press("Control+End");
    await until(async () => (await cells(page, 2).allTextContents()).includes("50000.0"), "the last row is not shown");
    const cut = () => page.locator("[role=gridcell]").evaluateAll((all) => all.filter((cell) => cell.scrollWidth > cell.clientWidth).length);
    await until(async () => !(await cut()), "a number is cut");
    check(await page.locator("[data-null='1']").count(), "NULL is not told apart");
    check((await page.getByRole("gridcell").count()) < 500, "rows that nobody sees are in the page");
    await page.keyboard.press("Control+Home");
    await page.keyboard.press("Shift+ArrowDown");
    await page.keyboard.press("Control+c");
    await until(async () => (await page.evaluate(() => navigator.clipboard.readText())) === "i\n1\n2", "two cells are not copied");
  },

  async "shows values as PostgreSQL writes them"(page) {
    const values = [
      "'9999-12-31 23:59:59.999999'::timestamp", "'294000-02-29 01:00'::timestamp", "'-infinity'::timestamptz", "'1890-01-01 00:00:00+00'::timestamptz",
      "'2024-07-01 12:00+00'::timestamptz", "'0044-03-15 01:02:03 BC'::timestamptz", "'infinity'::date", "'0044-03-15 BC'::date", "1.1::float4", "1234567::float4", "16777216::float4", "1e-5::float4",
      "1e15::float8", "0.1::float8", "'NaN'::float8", "9007199254740993", "123456789012345678901234567890.10", "'1 mon'::interval", "'\\xdead'::bytea", "'NULL'",
    ];
    const read = async (list) => {
      await run(page, `SET timezone = 'Europe/Berlin'; SELECT ${list}`);
      await page.getByRole("grid").click({ position: { x: 40, y: 50 } });
      await page.keyboard.press("Control+a");
      await page.keyboard.press("Control+c");
      return until(() => page.evaluate(async () => (await navigator.clipboard.readText()).split("\n")[1]?.split("\t")), "nothing is copied");
    };
    const wanted = await read(values.map((each) => `${each}::text`));
    await page.evaluate(() => navigator.clipboard.writeText(""));
    const shown = await read(values);
    await run(page, "RESET timezone");
    for (const [index, value] of values.entries()) check(shown[index] === wanted[index], `${value} is shown as ${shown[index]}, not ${wanted[index]}`);
  },

  async "scrolls ten million rows by wheel and key"(page) {
    await run(page, "SELECT i FROM generate_series(1, 10000000) AS i");
    await badge(page).getByText("10,000,000 rows").waitFor();
    const grid = page.getByRole("grid");
    await grid.hover();
    await page.mouse.wheel(0, 280);
    await until(async () => (await cells(page, 1).first().textContent()) === "11", "a wheel of ten rows does not scroll ten rows");
    await grid.evaluate((element) => { element.scrollTop = element.scrollHeight; });
    await until(async () => (await cells(page, 1).allTextContents()).includes("10000000"), "the last row is not shown");
  },

  async "underlines an error where it is, with its hint"(page) {
    await write(page, "SELECT 1;\n\nSELECT '日本😀', count(*)\nFROM trips WHERE fare_amont > 5;");
    await page.keyboard.press("Control+Enter");
    await page.locator(".problem-box").getByText("42703").waitFor();
    check((await page.locator(".problem-box .hint").count()) === 1, "the hint is not shown");
    check((await page.locator(".cm-lintRange-error").textContent()) === "fare_amont", "another word is underlined");
  },

  async "cancels"(page) {
    await write(page, "SELECT count(*) FROM generate_series(1, 3000000) a, generate_series(1, 300000) b");
    await page.keyboard.press("Control+Enter");
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.locator(".problem-box").getByText("57014").waitFor();
    await run(page, "SELECT 5 AS five");
    check((await cells(page, 1).first().textContent()) === "5", "the tab does not work after a cancel");
  },

  async "keeps a tab's transaction and settings"(page) {
    await run(page, "BEGIN; SET LOCAL search_path TO elsewhere; SELECT 1");
    await page.getByText("in transaction", { exact: true }).waitFor();
    await run(page, "SHOW search_path");
    check((await cells(page, 1).first().textContent()) === "elsewhere", "a setting is lost");
    await run(page, "ROLLBACK");
    await page.getByText("in transaction", { exact: true }).waitFor({ state: "detached" });
  },

  async "fills parameters"(page) {
    await write(page, "SELECT $1::int + 1 AS next, $2::text AS word, '$3' AS text");
    await page.getByLabel("$1").fill("41");
    await page.locator(".cm-content").focus();
    await page.keyboard.press("Control+Enter");
    await badge(page).getByText("1 row").waitFor();
    check((await cells(page, 1).first().textContent()) === "42", "the parameter is not used");
    check((await cells(page, 2).first().textContent()) === "NULL", "an empty parameter is not NULL");
    check((await page.locator(".parameters label").count()) === 2, "a text counts as parameter");
  },

  async "completes from the catalog"(page) {
    await write(page, "SELECT t. FROM trips t");
    await page.keyboard.press("Home");
    for (let i = 0; i < 9; i++) await page.keyboard.press("ArrowRight");
    await until(async () => {
      await page.keyboard.press("Control+Space");
      return (await page.locator(".cm-tooltip-autocomplete").getByText("passenger_count").count()) > 0;
    }, "no column is offered");
    await page.keyboard.press("Escape");
    const offered = page.locator(".cm-tooltip-autocomplete");
    await write(page, "SELECT i");
    await page.keyboard.press("Control+Space");
    await offered.getByText("improvement_surcharge").waitFor();
    check(!(await offered.getByText(/^(iclike|int4out|int8pl)/).count()), "functions that nobody calls are offered");
    await page.keyboard.press("Escape");
    await write(page, "SELECT 1 IS NOT ");
    await page.keyboard.type("nul");
    await offered.waitFor();
    await page.keyboard.type("l");
    await offered.waitFor({ state: "detached" });
  },

  async "draws a plan with times"(page) {
    await write(page, "SELECT cab_type, count(*) FROM trips GROUP BY 1");
    await page.getByRole("button", { name: "Plans" }).click();
    await page.getByRole("menuitem", { name: /with times/ }).click();
    await page.getByRole("img", { name: /Plan of \d+ operators/ }).waitFor();
    check(/ms$/.test(await page.locator(".plan-time").first().textContent()), "an operator has no time");
  },

  async "charts a result in two clicks"(page) {
    await run(page, "SELECT cab_type, count(*) AS rides FROM trips GROUP BY 1;");
    await page.getByRole("tab", { name: "Chart" }).click();
    await page.locator(".result-chart .chart-place rect").first().waitFor();
    await page.getByRole("button", { name: "Histogram" }).click();
    await page.locator(".view[aria-label=rides] .chart-place rect").first().waitFor();
    check(!(await page.locator(".result-chart .problem").count()), "the chart fails");
  },

  async "filters all charts by a brush over one"(page, { base }) {
    await openBoard(page, base, BOARD);
    const all = await chosen(page);
    const before = { cabs: await bars(page, "Cabs"), map: await bars(page, "Pickups") };
    await brush(page, "Distance", 0.4, 0.7);
    await until(async () => (await chosen(page)) < all && (await bars(page, "Cabs")) !== before.cabs && (await bars(page, "Pickups")) !== before.map, "the other charts stay");
    let quiet = 0;
    await until(async () => {
      const busy = await page.locator(".scroll [data-testid=totals]").getAttribute("aria-busy");
      return (quiet = busy === "true" ? 0 : quiet + 1) > 10;
    }, "questions have no end");
    const brushed = await chosen(page);
    const box = await page.locator('.view[aria-label="Cabs"] .chart-place svg').first().boundingBox();
    const click = () => page.mouse.click(box.x + box.width * 0.8, box.y + 35); // in the grey part of the longest bar
    await click();
    await until(async () => (await chosen(page)) < brushed, "a click on a bar chooses nothing");
    await click();
    await until(async () => (await chosen(page)) === brushed, "a second click does not lift it");
    await page.getByRole("button", { name: "Show all rows" }).click();
    await until(async () => (await chosen(page)) === all, "not all rows are back");
    check(!(await page.locator(".view .problem").count()), await page.locator(".view .problem").allTextContents());
  },

  async "saves, reloads, and opens by address"(page, { base }) {
    await write(page, "SELECT 'saved' AS state");
    await page.keyboard.press("Control+s");
    await page.getByLabel("Name").fill("Umsätze größer als üblich — 売上レポート");
    await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved.").waitFor();
    await page.reload();
    await page.locator(".cm-content").getByText("saved").waitFor();
    await page.getByRole("tab", { name: "Saved" }).click();
    const entry = page.getByRole("list", { name: "Saved queries" }).getByRole("button", { name: /売上レポート/ }).first();
    await entry.waitFor();
    await page.getByRole("tab", { name: "Tables" }).click();

    const id = await openBoard(page, base, SMALL, "Board to change");
    await page.getByRole("button", { name: "Add a view" }).click();
    await page.getByRole("dialog").getByLabel("Column").selectOption("passenger_count");
    await page.getByRole("dialog").getByRole("button", { name: "Add" }).click();
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved.").waitFor();
    await page.reload();
    await page.locator('.view[aria-label="passenger_count"] .chart-place svg').waitFor();
    check(page.url().endsWith(id), "the address changed");
  },

  async "downloads CSV, Parquet and Arrow"(page) {
    await run(page, "SELECT 'not this one'; SELECT i, 'Größe ' || i AS \"Größe\" FROM generate_series(1, 3) AS i;");
    for (const [format, begins] of [["CSV", "i,Größe\n1,Größe 1\n"], ["Parquet", "PAR1"], ["Arrow", "\ufffd\ufffd\ufffd\ufffd"]]) {
      await page.getByRole("button", { name: "Download" }).click();
      const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("menuitem", { name: format }).click()]);
      const text = readFileSync(await file.path(), "utf8").replaceAll("\r", "");
      check(text.startsWith(begins), `${format} begins with ${JSON.stringify(text.slice(0, 40))}`);
    }
    await write(page, "SELECT 1 AS one UNION ALL SELECT 2 AS two; SELECT 3 AS three;");
    await page.keyboard.press("Control+Home");
    for (let i = 0; i < 26; i++) await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Control+Shift+End");
    await page.keyboard.press("Control+Enter");
    await page.getByRole("columnheader").getByText("three").waitFor();
    await page.getByRole("tab", { name: "SELECT 1" }).first().click();
    await page.getByRole("columnheader").getByText("two").waitFor();
    await page.getByRole("button", { name: "Download" }).click();
    const [part] = await Promise.all([page.waitForEvent("download"), page.getByRole("menuitem", { name: "CSV" }).click()]);
    check(readFileSync(await part.path(), "utf8").startsWith("two"), "another statement's rows are downloaded");
    await run(page, "CREATE TEMP TABLE changed AS SELECT 1 AS a; UPDATE changed SET a = a + 1 RETURNING a");
    await badge(page).getByText("1 row").waitFor();
    check(!(await page.getByRole("button", { name: "Download" }).count()), "a change can be downloaded, and so runs twice");
  },

  async "shows names and values as text alone"(page, { base }) {
    await run(page, `DROP TABLE IF EXISTS "${EVIL}"; CREATE TABLE "${EVIL}" ("${EVIL}" text, n int); INSERT INTO "${EVIL}" VALUES ('${EVIL}', 1), ('b', 2)`);
    await run(page, `SELECT "${EVIL}" AS "${EVIL}", n FROM "${EVIL}"`);
    await page.getByRole("columnheader").getByText(EVIL).waitFor();
    check((await cells(page, 1).first().textContent()) === EVIL, "a value is not text");
    await page.getByRole("gridcell").first().dblclick();
    await page.getByRole("dialog").getByText(EVIL).first().waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("tab", { name: "Chart" }).click();
    await page.getByRole("button", { name: "Bars" }).click();
    await page.locator(".result-chart .chart-place rect").first().waitFor();
    await page.keyboard.press("Control+s");
    await write(page, `SELECT '${EVIL}'::int`);
    await page.keyboard.press("Control+Enter");
    await page.locator(".problem-box").getByText(EVIL).waitFor();
    await page.keyboard.press("Control+s");
    await page.getByLabel("Name").fill(EVIL);
    await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved.").first().waitFor();
    await openBoard(page, base, { source: { table: `"${EVIL}"` }, views: [{ kind: "bars", title: EVIL.replaceAll('"', ""), x: EVIL }] }, EVIL);
    await page.getByRole("heading", { name: EVIL }).first().waitFor();
    await page.goto(`${base}/console/#/dashboards`);
    await page.getByRole("link", { name: EVIL }).first().waitFor();
    await page.goto(`${base}/console/#/server`);
    await page.locator(".pane", { hasText: "Tables" }).getByText(EVIL).first().waitFor();
    check((await page.locator("img[src=x]").count()) === 0, "an element was made of a text");
    await page.goto(`${base}/console/#/query`);
    await run(page, `DROP TABLE "${EVIL}"`);
  },

  async "lists what the server does, and ends a statement there"(page, { base, browser, user, password }) {
    const other = await openPage(browser, base);
    await logIn(other, user, password);
    await write(other, "SELECT count(*) AS endless FROM generate_series(1, 3000000) a, generate_series(1, 300000) b");
    await other.keyboard.press("Control+Enter");
    await page.goto(`${base}/console/#/server`);
    const line = page.getByRole("table", { name: "Sessions" }).getByRole("row").filter({ hasText: "AS endless" });
    await line.getByRole("button", { name: "Cancel" }).click();
    await other.locator(".problem-box").getByText("57014").waitFor();
    await page.getByRole("table", { name: "Tables" }).getByText("trips").waitFor();
    await page.getByRole("tab", { name: "By time" }).click();
    await page.getByRole("table", { name: "Statements by time" }).waitFor();
    await other.context().close();
  },

  async "has nothing serious for axe, in light and dark"(page, { base, browser }) {
    const login = await openPage(browser, base);
    await login.getByLabel("Role").waitFor();
    await inspect(login, "the login");
    await login.context().close();
    await run(page, "SELECT i, 'row ' || i AS name FROM generate_series(1, 100) AS i");
    for (const colours of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme: colours });
      await inspect(page, `the query page, ${colours}`);
    }
    await openBoard(page, base);
    await inspect(page, "a dashboard, dark");
    await page.emulateMedia({ colorScheme: "light" });
    await page.locator(".view .chart-place svg").first().waitFor();
    await inspect(page, "a dashboard, light");
    await page.goto(`${base}/console/#/server`);
    await page.getByRole("table", { name: "Tables" }).waitFor();
    await inspect(page, "the server pane");
    await page.goto(`${base}/console/#/query`);
  },

  async "fits 320 pixels and 4K, with German and Japanese texts"(page, { base }) {
    const long = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft";
    await run(page, `SELECT '${long}' AS "${long}", repeat('東京都の乗車記録を分析する', 20) AS "東京都の乗車記録を分析するための長い列名です"`);
    const { id } = await post(page, "/documents", { kind: "dashboard", name: long, shared: true, body: { ...BOARD, views: [{ ...BOARD.views[2], title: `${long} 東京都の乗車記録を分析するための長い題名です` }] } });
    for (const size of [{ width: 320, height: 640 }, { width: 3840, height: 2160 }]) {
      await page.setViewportSize(size);
      for (const place of ["query", `d/${id}`, "dashboards", "server"]) {
        await page.goto(`${base}/console/#/${place}`);
        await page.locator(place === "query" ? ".cm-content" : ".page-head").first().waitFor();
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        check(wide <= 0, `${place} is ${wide} pixels too wide for ${size.width}`);
        const scroller = page.locator(".scroll");
        const over = (await scroller.count()) ? await scroller.evaluate((element) => element.scrollWidth - element.clientWidth) : 0;
        check(over <= 0, `${place} scrolls sideways by ${over} pixels at ${size.width}`);
      }
    }
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.goto(`${base}/console/#/query`);
  },
};
