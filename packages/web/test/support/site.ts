/**
 * Somebody's site with the web chat on it, on an origin of its own, under a policy that allows no inline style or script.
 *
 * @module
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Page } from "playwright-core";
import { afterAll } from "vitest";
import { signVisitor } from "../../../lull-server/src/visitors/tokens.ts";

export const chatSecret = "the-secret-of-a-site-in-32-bytes-or-more";

export function signFor(visitor: string, forSeconds = 600): Promise<string> {
  return signVisitor({ sub: visitor }, chatSecret, Date.now() + forSeconds * 1_000);
}

export interface SiteOptions {
  /** Who is logged in; null: the chat is anonymous. */
  visitor: string | null;
  /** Where lull is. */
  lull: string;
  /** Further attributes of the element. Default `open`. */
  attributes?: string;
  lang?: string;
  /** False: without a policy, so that only the widget stands between a text and its execution. Default true. */
  policy?: boolean;
  /** How long each token lives. Default 600. */
  tokenSeconds?: number;
}

export interface Site {
  origin: string;
  /** The address of a page with the chat. */
  page(options: SiteOptions): string;
  /** How many tokens the site was asked for. */
  tokens(): number;
  close(): Promise<void>;
}

export async function startSite(): Promise<Site> {
  const pages: SiteOptions[] = [];
  let tokens = 0;
  const server = createServer(async (request, response) => {
    const [, place, number] = (request.url ?? "").split("/");
    const options = pages[Number(number)];
    if (options === undefined) return response.writeHead(404).end();
    if (place === "token") {
      tokens += 1;
      const token = await signFor(options.visitor ?? "", options.tokenSeconds);
      return response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ token }));
    }
    const { origin } = new URL(options.lull);
    const policy = `default-src 'none'; script-src ${origin}; connect-src 'self' ${origin}; img-src data:; base-uri 'none'`;
    response.writeHead(200, {
      "content-type": "text/html; charset=utf-8",
      ...(options.policy === false ? {} : { "content-security-policy": policy }),
    });
    response.end(pageOf(options, Number(number)));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    origin,
    page: (options) => `${origin}/page/${pages.push(options) - 1}`,
    tokens: () => tokens,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function pageOf({ visitor, lull, attributes = "open", lang = "en" }: SiteOptions, number: number): string {
  const token = visitor === null ? "" : `token-url="/token/${number}"`;
  return `<!doctype html>
<html lang="${lang}">
<head><meta charset="utf-8"><title>A shop</title><link rel="icon" href="data:,">
<script src="${new URL("widget/lull-chat.js", lull).href}" defer></script></head>
<body><main><h1>A shop</h1></main><lull-chat ${token} ${attributes}></lull-chat></body></html>`;
}

/** One site for a file's tests. */
export function useSite(): () => Promise<Site> {
  let started: Promise<Site> | undefined;
  afterAll(async () => (await started)?.close());
  return () => {
    started ??= startSite();
    return started;
  };
}

/** The widget's shadow root is closed to everybody; to tests it is open. */
export async function openShadows(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const attach = Element.prototype.attachShadow;
    Element.prototype.attachShadow = function (init) {
      return attach.call(this, { ...init, mode: "open" });
    };
  });
}
