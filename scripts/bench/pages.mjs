// The inspector on a long conversation, in real Chromium:
//
//   npm run build && node scripts/bench/pages.mjs [--entries 10000] [--runs 5]
//
// Opens it, scrolls its log from end to beginning, and zooms its timeline all the way out and in again. Reports the most rows
// of the log and the most things of the timeline that existed at once, all elements, and tasks that kept the page from
// answering (Long Tasks API): those over 100 ms, and the longest. That is time by the clock, with what a task waited for a
// processor; so beside it stands the most processor time of a task, which is what the page itself costs. Median of the runs.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Lull } from "lull";
import { sqlite } from "lull/sqlite";
import { virtualClock } from "lull/testing";
import { chromium } from "playwright-core";
import { readArgs } from "../args.mjs";
import { chromiumLaunch } from "../servers/chromium.mjs";

const text = /** @type {const} */ ({ type: "string" });
const values = readArgs(import.meta.url, { entries: text, runs: text });
const wanted = Number(values.entries ?? 10_000);
const runs = Number(values.runs ?? 5);

/** In the page: what there is at most, looked at often, but not so often that the looking is what takes long. */
const watching = `
  const seen = (window.seen = { tasks: [], rows: 0, things: 0, elements: 0 });
  new PerformanceObserver((list) => seen.tasks.push(...list.getEntries().map((task) => task.duration))).observe({ entryTypes: ["longtask"] });
  const most = (name, selector) => { seen[name] = Math.max(seen[name], document.querySelectorAll(selector).length); };
  setInterval(() => {
    most("rows", ".log .virtual-row");
    most("things", "svg [data-key]");
    most("elements", "*");
  }, 50);
`;

const built = (/** @type {string} */ path) => new URL(`../../packages/lull-server/dist/${path}`, import.meta.url);
const { sqliteDriver } = await import(built("driver.js").href);
const bin = fileURLToPath(built("cli/bin.js"));
const temp = mkdtempSync(join(tmpdir(), "lull-pages-bench-"));
const path = join(temp, "lull.db");
const entries = await fill(path);
console.log(`a conversation of ${entries} entries`);

const server = spawn(process.execPath, [bin, "serve"], {
  cwd: temp,
  env: {
    PATH: process.env.PATH,
    LULL_PORT: "0",
    LULL_LOG_LEVEL: "error",
    LULL_STORE: `sqlite:${path}`,
    LULL_RESPOND: "none",
  },
  stdio: ["ignore", "pipe", "inherit"],
});
const browser = await chromium.launch(chromiumLaunch());
try {
  let told = "";
  /** @type {string | undefined} */
  let url;
  while (url === undefined) {
    told += (await once(server.stdout, "data"))[0];
    url = /listening on (http:\S+)/.exec(told)?.[1];
  }
  /** @type {Measured[]} */
  const measured = [];
  for (let run = 0; run < runs; run += 1) {
    const one = await measure(`${url}/inspector/#/c/long`);
    console.log(`run ${run + 1}: ${JSON.stringify(one)}`);
    measured.push(one);
  }
  const median = (/** @type {keyof Measured} */ name) =>
    measured.map((one) => one[name]).sort((a, b) => a - b)[Math.floor(runs / 2)];
  console.log(
    `\nmedian (load of the machine: ${loadavg()[0]?.toFixed(1)}; a task that waits for a processor is a long one)`,
  );
  for (const name of /** @type {(keyof Measured)[]} */ (Object.keys(measured[0] ?? {})))
    console.log(`${String(median(name)).padStart(8)}  ${name}`);
} finally {
  await browser.close();
  server.kill();
  rmSync(temp, { recursive: true, force: true });
}

/** @param {string} file */
async function fill(file) {
  const clock = virtualClock({ startMs: Date.parse("2026-11-30T00:00:00Z") });
  const driver = await sqliteDriver();
  const store = sqlite(driver.open(file), { now: clock.now });
  const lull = new Lull({
    store,
    clock,
    limits: { repliesPerHour: 1_000_000 },
    respond: async (turn) => {
      await clock.sleep(1_500, turn.signal);
      return `answer to ${turn.messages.length}`;
    },
    deliver: async () => ({ status: "sent" }),
  });
  await lull.start();
  for (let turn = 0; ; turn += 1) {
    await lull.receive("long", { text: `message ${turn}`, author: "ada" });
    await clock.advance(turn % 3 === 0 ? 1_700 : 400);
    await lull.receive("long", { text: "and another thing", author: "ada" });
    await clock.advance(12_000);
    const seq = (await lull.get("long"))?.seq ?? 0;
    if (seq >= wanted) {
      await lull.stop();
      await store.close();
      return seq;
    }
  }
}

/** @typedef {Awaited<ReturnType<typeof measure>>} Measured */

/** @param {string} address */
async function measure(address) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, timezoneId: "UTC" });
  const page = await context.newPage();
  await page.addInitScript({ content: watching });
  const traced = await tracing();
  const began = performance.now();
  await page.goto(address);
  await page.locator(".log .virtual-row").first().waitFor();
  await page.locator("svg [data-key]").first().waitFor();
  const shownMs = Math.round(performance.now() - began);

  const log = page.locator(".log");
  for (let step = 20; step >= 0; step -= 1) {
    await log.evaluate((node, share) => node.scrollTo(0, node.scrollHeight * share), step / 20);
    await page.waitForTimeout(60);
  }
  await page.getByRole("button", { name: "All", exact: true }).click();
  for (const name of ["Zoom in", "Zoom in", "Zoom in", "Zoom out", "Zoom out", "Zoom out", "Earlier", "Later"]) {
    await page.getByRole("button", { name, exact: true }).click();
    await page.waitForTimeout(60);
  }
  await page.waitForTimeout(500);
  /** @type {{ tasks: number[], rows: number, things: number, elements: number }} */
  const { tasks, rows, things, elements } = await page.evaluate("window.seen");
  const busy = await traced(page);
  await context.close();
  return {
    "ms until log and timeline are shown": shownMs,
    "rows of the log, at most": rows,
    "things of the timeline, at most": things,
    "elements, at most": elements,
    "tasks over 100 ms": tasks.filter((/** @type {number} */ ms) => ms > 100).length,
    "longest task, ms": Math.round(Math.max(0, ...tasks)),
    "most processor time of a task, ms": Math.round(Math.max(0, ...busy)),
  };
}

/** @typedef {{ name: string, pid: number, tid: number, cat: string, tdur?: number }} TraceEvent */

/**
 * Records from now on; what it returns ends that, and tells the processor time of each task of the page's main thread.
 * @returns {Promise<(page: import("playwright-core").Page) => Promise<number[]>>} milliseconds
 */
async function tracing() {
  const session = await browser.newBrowserCDPSession();
  /** @type {TraceEvent[]} */
  const events = [];
  session.on("Tracing.dataCollected", ({ value }) => {
    for (const event of /** @type {any} */ (value)) events.push(event);
  });
  await session.send("Tracing.start", {
    transferMode: "ReportEvents",
    traceConfig: { includedCategories: ["toplevel", "blink.user_timing"] },
  });
  return async (page) => {
    await page.evaluate(() => performance.mark("the page that is measured"));
    const all = new Promise((resolve) => session.once("Tracing.tracingComplete", resolve));
    await session.send("Tracing.end");
    await all;
    await session.detach();
    const mark = events.find(({ name }) => name === "the page that is measured");
    if (mark === undefined) throw new Error("the recording has no mark of the page");
    return events
      .filter(({ name, pid, tid }) => /\bRunTask$/.test(name) && pid === mark.pid && tid === mark.tid)
      .map(({ tdur = 0 }) => tdur / 1_000);
  };
}
