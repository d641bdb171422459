// Chromium, a logged-in page, and small steps that scenarios share.
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const console_ = join(dirname(fileURLToPath(import.meta.url)), "../../../console/");
export const require = createRequire(console_);
const { chromium } = require("playwright-core");

const PATIENCE_MS = 60_000;
const QUIET = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--force-color-profile=srgb"];

export function launch() {
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: QUIET });
}

/** Opens the page; `page.problems` collects errors of scripts and requests to anywhere else. */
export async function openPage(browser, base, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, acceptDownloads: true, permissions: ["clipboard-read", "clipboard-write"], ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  page.problems = [];
  page.on("pageerror", (error) => page.problems.push(String(error.stack ?? error)));
  page.on("console", (message) => /Content Security Policy|Refused to/.test(message.text()) && page.problems.push(message.text()));
  page.on("request", (request) => {
    const { protocol, host } = new URL(request.url());
    if (protocol.startsWith("http") && host !== new URL(base).host) page.problems.push(`a request to ${request.url()}`);
  });
  page.on("dialog", (dialog) => {
    if (dialog.type() === "alert") page.problems.push("an alert");
    void dialog.accept();
  });
  await page.goto(`${base}/console/`);
  return page;
}

export async function logIn(page, user, password) {
  await page.getByLabel("Role").fill(user);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.locator(".top").waitFor();
}

/** Puts a text into the editor in the place of what is there. */
export async function write(page, text) {
  await page.locator(".cm-content").focus();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(text);
  await page.keyboard.press("Escape"); // completion
}

/** Runs the whole text, and waits until it has ended. */
export async function run(page, text) {
  await write(page, text);
  await page.keyboard.press("Control+Shift+Enter");
  await page.locator(".results[aria-busy=true], .results [data-testid=badge], .problem-box").first().waitFor();
  await page.locator(".results[aria-busy=false]").waitFor();
}

export function check(condition, message) {
  if (!condition) throw new Error(message);
}

/** Waits until a value that is asked for again and again is right. */
export async function until(ask, message) {
  const end = Date.now() + PATIENCE_MS;
  let seen;
  for (;;) {
    seen = await ask();
    if (seen) return seen;
    if (Date.now() > end) throw new Error(`${message}; seen: ${JSON.stringify(seen)}`);
    await new Promise((done) => setTimeout(done, 50));
  }
}

export async function post(page, path, body) {
  return page.evaluate(async ([path, body]) => {
    const { csrf } = await (await fetch("/console/api/session")).json();
    const response = await fetch(`/console/api${path}`, { method: "POST", headers: { "content-type": "application/json", "x-csrf-token": csrf }, body: JSON.stringify(body) });
    return response.json();
  }, [path, body]);
}

/** Drags over a part of a chart, as shares of its width, at its middle. */
export async function brush(page, view, from, to) {
  const box = await page.locator(`.view[aria-label="${view}"] .chart-place svg`).first().boundingBox();
  const y = box.y + box.height / 2;
  await page.mouse.move(box.x + box.width * from, y);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * ((from + to) / 2), y, { steps: 4 });
  await page.mouse.move(box.x + box.width * to, y, { steps: 4 });
  await page.mouse.up();
}

/** The frames of a run's answer: a kind and its payload each. */
export function readFrames(body) {
  const frames = [];
  for (let at = 0; at < body.length; ) {
    const length = body.readUInt32LE(at + 1);
    frames.push([String.fromCharCode(body[at]), body.subarray(at + 5, at + 5 + length)]);
    at += 5 + length;
  }
  return frames;
}

export function writeFrames(frames) {
  return Buffer.concat(frames.flatMap(([kind, payload]) => {
    const head = Buffer.alloc(5);
    head.write(kind);
    head.writeUInt32LE(Buffer.byteLength(payload), 1);
    return [head, Buffer.from(payload)];
  }));
}
