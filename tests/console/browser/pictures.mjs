// Takes the guide's pictures of the page: main.mjs's arguments, a folder, and the file of the dashboard.
import { readFileSync } from "node:fs";
import { brush, launch, logIn, openPage, post, run, until, write } from "./support.mjs";

const [base, user, password, folder, dashboard] = process.argv.slice(2);
const browser = await launch();
const chosen = async (page) => Number(await page.locator(".scroll [data-testid=totals]").getAttribute("data-chosen"));
const settle = (page) => page.waitForTimeout(1500); // drawings end some frames after their answers

async function openDashboard(page, id) {
  await page.setViewportSize({ width: 1280, height: 880 });
  await page.goto(`${base}/console/#/d/${id}`);
  await until(async () => (await chosen(page)) > 0, "no rows are counted");
  await settle(page);
  await brush(page, "Distance (miles)", 0.35, 0.72);
  await page.mouse.move(700, 60);
  await settle(page);
}

async function take(page, name) {
  await page.screenshot({ path: `${folder}/${name}.png` });
}

const page = await openPage(browser, base, { viewport: { width: 1280, height: 800 } });
await logIn(page, user, password);
const { id } = await post(page, "/documents", JSON.parse(readFileSync(dashboard, "utf8")));
await openDashboard(page, id);
await take(page, "console-dashboard");

await page.setViewportSize({ width: 1280, height: 760 });
await page.goto(`${base}/console/#/query`);
const question = `-- Where do long rides begin?
SELECT pickup_ntaname AS neighbourhood, count(*) AS rides,
       round(avg(trip_distance), 2) AS miles, round(avg(total_amount), 2) AS fare
FROM trips
WHERE trip_distance > 5 AND pickup_ntaname IS NOT NULL
GROUP BY neighbourhood
ORDER BY rides DESC;`;
await run(page, question);
await page.mouse.move(700, 60);
await take(page, "console-query");
await page.getByRole("button", { name: "Plans" }).click();
await page.getByRole("menuitem", { name: /with times/ }).click();
await page.locator(".plan").waitFor();
await take(page, "console-plan");
await write(page, question.replace("trip_distance > 5", "trip_distanze > 5"));
await page.keyboard.press("Control+Shift+Enter");
await page.locator(".cm-lintRange-error").waitFor();
await take(page, "console-error");
await page.goto(`${base}/console/#/server`);
await page.getByRole("table", { name: "Tables" }).waitFor();
await until(async () => (await page.locator(".spark path").count()) > 0, "no rate is shown");
await take(page, "console-server");

const dark = await openPage(browser, base, { viewport: { width: 1280, height: 800 }, colorScheme: "dark" });
await logIn(dark, user, password);
await openDashboard(dark, id);
await take(dark, "console-dark");
await browser.close();
