/**
 * Real Chromium for a test file: one browser a file, one context a page, and nothing it complains of is let pass.
 *
 * @module
 */
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import { chromiumLaunch } from "../../../../scripts/servers/chromium.mjs";

export interface OpenOptions {
  /** CSS pixels. Default 1280. */
  width?: number;
  /** CSS pixels. Default 900. */
  height?: number;
  /** Default false. */
  dark?: boolean;
  /** Default false. */
  reducedMotion?: boolean;
  /** The browser's language. Default `en-GB`. */
  locale?: string;
  /** Another tab of the same visitor: cookies and storage are shared. Default: a context of its own. */
  context?: BrowserContext;
  /** Complaints that belong to the test, such as the browser's own line about a 401. */
  expected?: readonly RegExp[];
  /** Without the pages' content security policy: what it would have stopped, runs. Default false. */
  bypassPolicy?: boolean;
  /** Before the page loads: routes, scripts. */
  prepare?: (page: Page) => Promise<unknown>;
}

export interface Chromium {
  /** A new page at this address, loaded. Closed after the test. */
  open(url: string, options?: OpenOptions): Promise<Page>;
  /** What pages of this test complained of so far and was not expected. */
  complaints(): string[];
  /** Forgets those that match: for tests whose point is that there are some. */
  forgive(pattern: RegExp): void;
}

/**
 * Starts a browser before the file's tests and ends it after them. A test fails if one of its pages wrote an error to
 * the console, threw, or violated its content security policy.
 */
export function useChromium(): Chromium {
  let browser: Browser;
  let contexts: BrowserContext[] = [];
  let complaints: string[] = [];

  beforeAll(async () => {
    browser = await chromium.launch(chromiumLaunch());
  });
  afterAll(async () => {
    await browser?.close();
  });
  afterEach(async () => {
    const complained = complaints;
    const open = contexts;
    complaints = [];
    contexts = [];
    for (const context of open) await context.close();
    expect(complained, "a page complained").toEqual([]);
  });

  return {
    complaints: () => [...complaints],
    forgive(pattern) {
      complaints = complaints.filter((complaint) => !pattern.test(complaint));
    },
    async open(url, options = {}) {
      let { context } = options;
      if (context === undefined) {
        context = await browser.newContext({
          viewport: { width: options.width ?? 1280, height: options.height ?? 900 },
          colorScheme: options.dark ? "dark" : "light",
          reducedMotion: options.reducedMotion ? "reduce" : "no-preference",
          locale: options.locale ?? "en-GB",
          timezoneId: "UTC",
          bypassCSP: options.bypassPolicy ?? false,
        });
        // Against a slow machine; what hangs is said by the step that hung.
        context.setDefaultTimeout(60_000);
        contexts.push(context);
      }
      const page = await context.newPage();
      const expected = options.expected ?? [];
      watch(page, (complaint) => {
        if (!expected.some((pattern) => pattern.test(complaint))) complaints.push(complaint);
      });
      await options.prepare?.(page);
      await page.goto(url);
      return page;
    },
  };
}

/** Every complaint of a page: console errors (violations of its policy among them), exceptions, crashes. */
function watch(page: Page, complain: (what: string) => void): void {
  page.on("console", (message) => {
    if (message.type() === "error") complain(`console: ${message.text()} (${message.location().url})`);
  });
  page.on("pageerror", (error) => complain(`exception: ${error.stack ?? error}`));
  page.on("crash", () => complain("the page crashed"));
  page.on("dialog", (dialog) => {
    complain(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
}
