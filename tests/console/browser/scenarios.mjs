// What a user does with the page, each told by its name. A scenario gets a page that is logged in, and raises an error.
import { readFileSync } from "node:fs";
import { brush, check, logIn, openPage, post, readFrames, require, run, until, write, writeFrames } from "./support.mjs";

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

  async "decodes the values that it shows alone, and each stays on its line"(page) {
    await page.evaluate(() => {
      const { decode } = TextDecoder.prototype;
      globalThis.decoded = [];
      TextDecoder.prototype.decode = function (...given) {
        const text = decode.apply(this, given);
        if (/^value \d+$/.test(text)) decoded.push(text);
        return text;
      };
      globalThis.forget = () => (TextDecoder.prototype.decode = decode);
    });
    await run(page, "SELECT i, 'value ' || i AS name FROM generate_series(1, 500000) AS i");
    await badge(page).getByText("500,000 rows").waitFor();
    const grid = page.getByRole("grid");
    const names = () => cells(page, 2).allTextContents();
    await until(async () => (await names())[0] === "value 1", "the first row is not shown");
    const told = await page.evaluate(() => [decoded.length, Math.max(...decoded.map((each) => Number(each.slice(6))))]);
    check(told[0] < 5000 && told[1] < 1000, `${told[0]} values were decoded, up to row ${told[1]}, of some forty that are shown`);
    const keep = () => grid.evaluate((element) => element.querySelector("[aria-rowindex='12']").setAttribute("data-kept", "1"));
    await keep();
    await grid.hover();
    await page.mouse.wheel(0, 280);
    await until(async () => (await names())[0] === "value 11", "a wheel of ten rows does not scroll ten rows");
    check((await page.locator("[data-kept]").getAttribute("aria-rowindex")) === "12", "a row that stays in sight was drawn again");
    await grid.evaluate((element) => { element.scrollTop = element.scrollHeight; });
    await until(async () => (await names()).at(-1) === "value 500000", "the last row is not shown");
    const order = (await cells(page, 1).allTextContents()).map(Number);
    check(order.every((each, index) => !index || each === order[index - 1] + 1), `rows are out of order: ${order}`);
    const last = await page.evaluate(() => { forget(); return decoded.length; });
    check(last < 10_000, `${last} values were decoded of some hundred that were shown`);
  },

  async "underlines an error where it is, with its hint"(page) {
    await write(page, "SELECT 1;\n\nSELECT '日本😀', count(*)\nFROM trips WHERE fare_amont > 5;");
    await page.keyboard.press("Control+Enter");
    await page.locator(".problem-box").getByText("42703").waitFor();
    check((await page.locator(".problem-box .hint").count()) === 1, "the hint is not shown");
    check((await page.locator(".cm-lintRange-error").textContent()) === "fare_amont", "another word is underlined");
  },

  async "shows rows, time, engine, and a rate of bytes where the server knows them"(page) {
    await run(page, "SELECT 7 AS seven");
    check(/^1 row[\d.]+ m?scpu$/.test(await badge(page).textContent()), `the line above the rows is ${await badge(page).textContent()}`);
    await page.route("**/api/statements", async (route) => {
      const answer = await route.fetch();
      const frames = readFrames(await answer.body()).map(([kind, payload]) => {
        const event = kind === "J" ? JSON.parse(payload) : {};
        return [kind, event.event === "complete" ? JSON.stringify({ ...event, engine: "fused", ms: 4, bytes: 1_600_000_000 }) : payload];
      });
      await route.fulfill({ response: answer, body: writeFrames(frames) });
    });
    await run(page, "SELECT 8 AS eight");
    await page.unroute("**/api/statements");
    check((await badge(page).textContent()) === "1 row4.00 ms400 GB/sfused", `the line above the rows is ${await badge(page).textContent()}`);
  },

  async "keeps no password in the browser"(page) {
    const kept = () => page.evaluate(() => Object.entries(localStorage).map((each) => each.join("=")).join("\n"));
    await run(page, "SELECT 'kept' AS a;\n\nDROP ROLE IF EXISTS hidden; CREATE ROLE hidden PASSWORD 'hunter2';");
    await run(page, "SELECT 'kept' AS a;\n\nALTER ROLE hidden passWORD 'hunter2';\n\nSELECT 'https://me:hunter2@example.com' AS address;");
    check(/SELECT 'kept'/.test(await kept()), "statements without a password are not kept");
    check(!(await kept()).includes("hunter2"), "a password is kept");
    await page.reload();
    await page.locator(".cm-content").getByText("kept").waitFor();
    check(!(await page.locator(".cm-content").textContent()).includes("hunter2"), "a password comes back");
    await run(page, "DROP ROLE hidden");
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

  async "brushes by keyboard, and says what is chosen"(page, { base }) {
    await openBoard(page, base, BOARD);
    const all = await chosen(page);
    const view = (name) => page.getByRole("region", { name, exact: true });
    const chart = (name) => view(name).getByRole("application");
    const told = (name) => view(name).getByTestId("told").textContent();
    const press = async (name, ...keys) => {
      await chart(name).focus();
      for (const key of keys) await page.keyboard.press(key);
    };
    const selected = async (name) => {
      const [x, width] = await view(name).locator(".selection").evaluateAll(([each]) => [each.getAttribute("x"), each.getAttribute("width")].map(Number));
      return { x, width };
    };

    await press("Distance", "ArrowRight");
    check(/^0 to 2\.\d+$/.test(await told("Distance")), `told ${await told("Distance")}`);
    await until(async () => (await chosen(page)) < all, "an arrow brushes nothing");
    const first = { rows: await chosen(page), ...(await selected("Distance")) };
    await page.keyboard.press("Shift+ArrowRight");
    const wider = await selected("Distance");
    check(wider.x === first.x && wider.width > first.width, "Shift and an arrow do not widen the brush");
    await until(async () => (await chosen(page)) > first.rows, "a wider brush has no more rows");
    await page.keyboard.press("ArrowRight");
    const moved = await selected("Distance");
    check(moved.x > wider.x && moved.width === wider.width, "an arrow does not move the brush");
    await page.keyboard.press("End");
    check((await told("Distance")).endsWith("to 20"), `told ${await told("Distance")}`);
    await page.keyboard.press("Escape");
    await until(async () => (await chosen(page)) === all, "Escape does not lift the brush");
    check((await told("Distance")) === "No range is chosen.", `told ${await told("Distance")}`);

    await press("Pickups", "ArrowRight", "ArrowUp", "Shift+ArrowUp");
    await until(async () => (await chosen(page)) < all, "arrows brush nothing on the map");
    check(/^-74\.\d+ to -7[34]\.\d+, 40\.\d+ to 4[01]\.\d+$/.test(await told("Pickups")), `told ${await told("Pickups")}`);
    await page.keyboard.press("Escape");
    await until(async () => (await chosen(page)) === all, "Escape does not lift the brush of the map");

    await press("Cabs", "ArrowDown");
    check(/^\w+: [\d,]+$/.test(await told("Cabs")), `told ${await told("Cabs")}`);
    const [name, rows] = (await told("Cabs")).split(": ");
    await page.keyboard.press("Enter");
    await until(async () => (await chosen(page)) === Number(rows.replaceAll(",", "")), "Enter chooses another bar");
    check((await told("Cabs")) === `Chosen: ${name}`, `told ${await told("Cabs")}`);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Shift+Enter");
    await until(async () => (await chosen(page)) === all, "Shift and Enter do not choose one more bar");
    await page.keyboard.press("Escape");
    check((await told("Cabs")) === "Nothing is chosen.", `told ${await told("Cabs")}`);
    await inspect(page, "a dashboard at whose chart the keys are");
    check(!page.problems.length, page.problems.join("\n"));
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

  async "asks before another role's SQL runs, once for each text"(page, { base, browser }) {
    await run(page, "DROP ROLE IF EXISTS ann; CREATE ROLE ann LOGIN PASSWORD 'a'");
    const author = await openPage(browser, base);
    await logIn(author, "ann", "a");
    const body = { source: { sql: "SELECT g AS delay FROM generate_series(1, 50) g" }, views: [{ kind: "histogram", title: "Delays", x: "delay", part: "hour FROM now()) + (1" }] };
    const made = { kind: "dashboard", name: "Ann's delays", shared: true, body };
    const { id } = await post(author, "/documents", made);
    const asked = [];
    page.on("request", (request) => /\/(mosaic|statements)$/.test(request.url()) && asked.push(request.postData()));
    const open = async () => {
      await page.goto("about:blank");
      await page.goto(`${base}/console/#/d/${id}`);
    };
    const question = page.getByRole("region", { name: "Statement of another role" });
    await open();
    await question.getByText(body.source.sql).waitFor();
    check((await question.textContent()).includes("of the role ann"), "the author is not named");
    await inspect(page, "the question about another role's SQL");
    check(!asked.some((each) => each?.includes("AS delay")), "the statement runs before the viewer has agreed");
    await question.getByRole("button", { name: "Run it" }).click();
    await until(async () => (await chosen(page)) === 50, "the dashboard is not drawn");
    check(!asked.some((each) => each?.includes("now()")), "a field of a view that is no name is run as SQL");
    await open();
    await until(async () => (await chosen(page)) === 50, "the viewer is asked again about the same");
    await author.evaluate(async ([id, body]) => {
      const { csrf } = await (await fetch("/console/api/session")).json();
      await fetch(`/console/api/documents/${id}`, { method: "PUT", headers: { "content-type": "application/json", "x-csrf-token": csrf }, body: JSON.stringify({ body }) });
    }, [id, { ...body, source: { sql: "SELECT g AS delay FROM generate_series(1, 60) g" } }]);
    await open();
    await question.getByText("generate_series(1, 60)").waitFor();
    await question.getByRole("button", { name: "Back" }).click();
    await page.getByRole("link", { name: "Ann's delays" }).waitFor();

    await page.goto(`${base}/console/#/query`);
    await run(page, "GRANT CREATE ON SCHEMA public TO ann");
    await run(author, "CREATE VIEW anns AS SELECT 7 AS seven; GRANT SELECT ON anns TO PUBLIC");
    const { id: other } = await post(author, "/documents", { ...made, body: { source: { table: "anns" }, views: [{ kind: "bars", title: "Sevens", x: "seven" }] } });
    await page.goto(`${base}/console/#/d/${other}`);
    await question.getByText("SELECT 7 AS seven").waitFor();
    await question.getByRole("button", { name: "Run it" }).click();
    await until(async () => (await chosen(page)) === 1, "the view is not drawn");
    await author.context().close();
    await page.goto(`${base}/console/#/query`);
    await run(page, "DROP VIEW anns; REVOKE CREATE ON SCHEMA public FROM ann");
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
    await run(page, "CREATE TEMP TABLE changed AS SELECT 1 AS a; UPDATE changed SET a = a + 1 RETURNING a, random() AS r");
    await badge(page).getByText("1 row").waitFor();
    const drawn = await cells(page, 2).first().textContent();
    await page.getByRole("button", { name: "Download" }).click();
    const [change] = await Promise.all([page.waitForEvent("download"), page.getByRole("menuitem", { name: "CSV" }).click()]);
    check(readFileSync(await change.path(), "utf8") === `a,r\n2,${drawn}\n`, "other rows are downloaded than are shown");
    await page.getByRole("tab", { name: "Chart" }).click();
    await page.locator(".result-chart [data-testid=totals][data-all='1']").waitFor();
    await run(page, "SELECT a FROM changed");
    check((await cells(page, 1).first().textContent()) === "2", "a download or a chart changes rows again");
  },

  async "says that a result too large to be kept runs again"(page) {
    await run(page, "SELECT repeat('x', 1000) AS x, random() AS r FROM generate_series(1, 100000)");
    await badge(page).getByText("100,000 rows").waitFor();
    await page.getByRole("tab", { name: "Chart" }).click();
    await page.locator(".result-body[hidden]").waitFor({ state: "attached" });
    await page.getByRole("button", { name: "Run it again" }).click();
    await page.locator(".result-chart [data-testid=totals][data-all='100000']").waitFor();
    await page.getByRole("button", { name: "Download" }).click();
    await page.getByRole("menuitem", { name: "CSV" }).click();
    const dialog = page.getByRole("dialog", { name: "Run the statement again?" });
    const [file] = await Promise.all([page.waitForEvent("download"), dialog.getByRole("button", { name: "Run and download" }).click()]);
    check(readFileSync(await file.path(), "utf8").split("\n").length === 100_002, "not all rows are downloaded");
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
    await run(page, `SET application_name = '${EVIL}'; CREATE ROLE "${EVIL}"; SET ROLE "${EVIL}"`);
    await run(page, `DO $$ BEGIN RAISE NOTICE '%', '${EVIL}'; END $$`);
    await page.getByRole("list", { name: "Notices" }).getByText(EVIL).waitFor();
    await run(page, `RESET ROLE; DROP ROLE "${EVIL}"; EXPLAIN (FORMAT json) SELECT count(*) FROM "${EVIL}" WHERE "${EVIL}" = '${EVIL}'`);
    await page.locator(".plan").waitFor();
    await page.getByRole("tab", { name: "History" }).click();
    await page.getByRole("list", { name: "History" }).getByText(EVIL).first().waitFor();
    await page.getByRole("tab", { name: "Saved" }).click();
    await page.getByRole("list", { name: "Saved queries" }).getByText(EVIL).first().waitFor();
    await page.getByRole("tab", { name: "Tables" }).click();
    await page.goto(`${base}/console/#/server`);
    await page.getByRole("table", { name: "Sessions" }).getByText(EVIL).first().waitFor();
    check((await page.locator("img[src=x]").count()) === 0, "an element was made of a text");
    await page.goto(`${base}/console/#/query`);
    await run(page, `DROP TABLE "${EVIL}"; RESET application_name`);
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
    await run(other, "SELECT count(*) AS slow_one FROM trips a, trips b WHERE a.trip_id < b.trip_id AND a.trip_id < 40000");
    const slow = page.getByRole("table", { name: "Latest statements" }).getByRole("row").filter({ hasText: "AS slow_one" }).first();
    await slow.getByRole("button", { name: "Show the plan" }).click();
    await page.getByRole("img", { name: /Plan of \d+ operators/ }).waitFor();
    await page.goto(`${base}/console/#/server`);
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
