// How smoothly the console's grid fills and scrolls, in Chromium: base address, user, password, rows of the long result.
// Prints a line of JSON for each measurement: its name, and milliseconds.
import { launch, logIn, openPage, until, write } from "../../tests/console/browser/support.mjs";

const [base, user, password, long] = process.argv.slice(2);
const SHORT = 100_000;
const RUNS = 7;
const sql = (rows) => `SELECT i, i * 0.5::float8 AS half, 'row ' || i AS name, date '2024-01-01' + i % 365 AS day FROM generate_series(1, ${rows}) AS i`;
const tell = (name, times, rows) => console.log(JSON.stringify({ name, times, rows }));

const browser = await launch();
const page = await openPage(browser, base, { viewport: { width: 1600, height: 1000 } });
page.setDefaultTimeout(600_000);
await logIn(page, user, password);

/** Runs a statement by its button, and returns the milliseconds until the grid has all rows and has drawn the first. */
async function fill(rows) {
  await write(page, sql(rows));
  await page.evaluate(() => document.querySelectorAll(".grid").forEach((each) => each.removeAttribute("aria-rowcount")));
  return page.evaluate(async (rows) => {
    const button = [...document.querySelectorAll(".query-bar button")].find((each) => each.textContent === "Run");
    const began = performance.now();
    button.click();
    const frame = () => new Promise((done) => requestAnimationFrame(done));
    for (;;) {
      await frame();
      const grid = document.querySelector(".grid");
      if (grid?.getAttribute("aria-rowcount") === String(rows + 1) && document.querySelector("[data-testid=badge]") && grid.querySelector("[role=gridcell]")?.textContent === "1") break;
    }
    return performance.now() - began;
  }, rows);
}

/** Runs a function in the page; tells the longest gap between frames, and the longest task of the page's thread meanwhile. */
async function watch(name, rows, act, ...given) {
  await browser.startTracing(page, { categories: ["toplevel"] });
  const gaps = await page.evaluate(async ([text, given]) => {
    const gaps = [];
    let [running, before] = [true, performance.now()];
    const count = (now) => {
      gaps.push(now - before);
      before = now;
      if (running) requestAnimationFrame(count);
    };
    requestAnimationFrame(count);
    await new Function(`return (${text})`)()(...given);
    running = false;
    return gaps.slice(1);
  }, [String(act), given]);
  const { traceEvents } = JSON.parse(String(await browser.stopTracing()));
  const threads = new Set(traceEvents.filter((each) => each.name === "thread_name" && each.args.name === "CrRendererMain").map((each) => `${each.pid} ${each.tid}`));
  const tasks = traceEvents.filter((each) => each.ph === "X" && threads.has(`${each.pid} ${each.tid}`));
  const longest = (field) => Math.max(...tasks.map((each) => each[field] ?? 0)) / 1000;
  tell(`${name}: longest gap between frames`, [Math.max(...gaps)], rows);
  tell(`${name}: longest task`, [longest("dur")], rows);
  tell(`${name}: longest task, time on the processor`, [longest("tdur")], rows);
}

const times = [];
for (let run = 0; run < RUNS; run++) times.push(await fill(SHORT));
tell("100,000 rows from the click to the grid", times.slice(1), SHORT);

const rows = Number(long);
await write(page, sql(rows));
await watch("rows arrive", rows, async (rows) => {
  [...document.querySelectorAll(".query-bar button")].find((each) => each.textContent === "Run").click();
  const began = performance.now();
  while (document.querySelector(".grid")?.getAttribute("aria-rowcount") !== String(rows + 1)) {
    await new Promise((done) => requestAnimationFrame(done));
    if (performance.now() - began > 500_000) throw new Error("the rows do not arrive");
  }
}, rows);
await until(async () => page.evaluate(() => document.querySelector(".results").getAttribute("aria-busy") === "false"), "the statement does not end");

const frames = 300;
await watch("scroll by the wheel", rows, async (frames) => {
  const grid = document.querySelector(".grid");
  for (let each = 0; each < frames; each++) {
    grid.dispatchEvent(new WheelEvent("wheel", { deltaY: 120 + 40 * (each % 7), bubbles: true, cancelable: true }));
    await new Promise((done) => requestAnimationFrame(done));
  }
}, frames);
await watch("drag of the scrollbar to the end and back", rows, async (frames) => {
  const grid = document.querySelector(".grid");
  for (let each = 0; each <= frames; each++) {
    grid.scrollTop = (1 - Math.abs(1 - (2 * each) / frames)) * grid.scrollHeight;
    await new Promise((done) => requestAnimationFrame(done));
  }
}, frames);
await watch("Page Down held", rows, async (frames) => {
  const grid = document.querySelector(".grid");
  for (let each = 0; each < frames; each++) {
    grid.dispatchEvent(new KeyboardEvent("keydown", { key: "PageDown", bubbles: true, cancelable: true }));
    await new Promise((done) => requestAnimationFrame(done));
  }
}, frames);
await browser.close();
