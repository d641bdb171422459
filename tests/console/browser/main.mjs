// Runs the scenarios, one after another in one browser; prints a line of JSON for each: its name, and what went wrong.
import { launch, logIn, openPage } from "./support.mjs";
import { scenarios } from "./scenarios.mjs";

const [base, user, password, wanted] = process.argv.slice(2);
const browser = await launch();
const page = await openPage(browser, base);
await logIn(page, user, password);
for (const [name, act] of Object.entries(scenarios)) {
  if (wanted && !name.includes(wanted)) continue;
  const began = Date.now();
  let problem = "";
  page.problems.length = 0;
  try {
    await page.goto(`${base}/console/#/query`);
    await act(page, { base, browser, user, password });
    problem = page.problems.join("\n");
  } catch (error) {
    problem = [String(error.stack ?? error), ...page.problems].join("\n");
    if (process.env.PICTURES) await page.screenshot({ path: `${process.env.PICTURES}/${name.slice(0, 40)}.png` }).catch(() => {});
    await page.keyboard.press("Escape").catch(() => {});
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.goto("about:blank");
  }
  console.log(JSON.stringify({ name, problem, seconds: (Date.now() - began) / 1000 }));
}
await browser.close();
