/**
 * A platform on loopback, for tests: its web API, what the person sees, and its webhooks with signatures and retries.
 * What all platforms share is here; what each of them says and wants is in its own file.
 *
 * @module
 */
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Platform } from "../../channels/platforms.ts";
import type { Clock } from "../../ports.ts";

/** A message of the bot's, as it stands on the screen. */
export interface OnScreen {
  chat: string;
  id: string;
  text: string;
  atMs: number;
  edited: boolean;
  deleted: boolean;
}

/** How the platform takes one call that posts. */
export type Mood =
  /** Refused: nothing is shown. `retryAfterS`: in the platform's own way. */
  | { status: number; retryAfterS?: number }
  /** Shown, and the connection breaks before the bot hears of it. */
  | "shown, answer lost"
  /** The connection breaks before anything is shown. */
  | "lost";

/** One call of the bot's. */
export interface ApiCall {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: Record<string, unknown>;
}

export interface ApiAnswer {
  status?: number;
  headers?: Record<string, string>;
  body: unknown;
}

/** A webhook's post: hand it to `new Request(url, post)`, or send it. */
export interface WebhookPost {
  method: "POST";
  headers: Record<string, string>;
  body: string;
}

export interface PlatformDouble {
  readonly platform: Platform;
  /** Base of its web API. */
  readonly url: string;
  readonly screen: readonly OnScreen[];
  readonly calls: readonly ApiCall[];
  /** The texts on the screen, in their order; deleted ones aside. */
  texts(chat?: string): string[];
  /** What becomes of the next posts, one after the other; then all is well again. */
  mood(...moods: Mood[]): void;
  /**
   * Posts a webhook as the platform does: again and again, after its own pauses times `pace` (default 1), until it is
   * answered 2xx or the platform gives up. Resolves to every status it was answered with; 0 is none.
   */
  deliver(post: (nth: number) => WebhookPost, to: Receiver, options?: { pace?: number }): Promise<number[]>;
  close(): Promise<void>;
}

/** Where webhooks go: a URL, or a function in this process. */
export type Receiver = string | ((request: Request) => Promise<Response>);

export interface DoubleOptions {
  clock: Clock;
}

/** What a platform's file adds. */
export interface PlatformRules {
  platform: Platform;
  /** A post of the bot's; null: another call, which `answer` sees to. */
  posted(call: ApiCall): { chat: string; text: string; key?: string } | null;
  /** The answer to a post that was shown. */
  shown(call: ApiCall, message: OnScreen): ApiAnswer;
  /** The answer to a post that was refused. */
  refused(mood: { status: number; retryAfterS?: number }): ApiAnswer;
  /** Every other call; may change the screen. */
  answer(call: ApiCall, screen: OnScreen[]): ApiAnswer;
  newId(chat: string, count: number): string;
}

/** Starts a platform on a free port of loopback. */
export async function startDouble(rules: PlatformRules, { clock }: DoubleOptions): Promise<PlatformDouble> {
  const screen: OnScreen[] = [];
  const keys = new Map<string, OnScreen>();
  const calls: ApiCall[] = [];
  const moods: Mood[] = [];

  function take(call: ApiCall): ApiAnswer | null {
    const post = rules.posted(call);
    if (post === null) return rules.answer(call, screen);
    const mood = moods.shift();
    if (mood === "lost") return null;
    if (typeof mood === "object") return rules.refused(mood);
    const key = post.key === undefined ? undefined : `${post.chat} ${post.key}`;
    let message = key === undefined ? undefined : keys.get(key);
    if (message === undefined) {
      const id = rules.newId(post.chat, screen.length + 1);
      message = { chat: post.chat, id, text: post.text, atMs: clock.now(), edited: false, deleted: false };
      screen.push(message);
      if (key !== undefined) keys.set(key, message);
    }
    const answer = rules.shown(call, message);
    return mood === "shown, answer lost" ? null : answer;
  }

  const server = createServer((request, response) => {
    void read(request).then((call) => {
      calls.push(call);
      const answer = take(call);
      if (answer === null) return void request.socket.destroy();
      response.writeHead(answer.status ?? 200, { "content-type": "application/json", ...answer.headers });
      response.end(JSON.stringify(answer.body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;

  return {
    platform: rules.platform,
    url: `http://127.0.0.1:${port}`,
    screen,
    calls,
    texts: (chat) =>
      screen.filter((one) => !one.deleted && (chat === undefined || one.chat === chat)).map(({ text }) => text),
    mood: (...next) => void moods.push(...next),
    async deliver(post, to, { pace = 1 } = {}) {
      const statuses: number[] = [];
      for (const pauseMs of [0, ...rules.platform.retriesMs]) {
        if (statuses.length > 0) await clock.sleep(pauseMs * pace);
        const status = await send(post(statuses.length), to, clock, rules.platform.webhookTimeoutMs);
        statuses.push(status);
        if (status >= 200 && status < 300) break;
      }
      return statuses;
    },
    close: () => closeServer(server),
  };
}

/** The status it was answered with; 0 when nobody answered in time. */
async function send(post: WebhookPost, to: Receiver, clock: Clock, timeoutMs: number): Promise<number> {
  const over = new AbortController();
  const url = typeof to === "string" ? to : "http://bot.test/webhook";
  const answer = (async () => {
    const response = typeof to === "string" ? await fetch(url, post) : await to(new Request(url, post));
    await response.arrayBuffer();
    return response.status;
  })().catch(() => 0);
  const status = await Promise.race([answer, clock.sleep(timeoutMs, over.signal).then(() => 0)]);
  over.abort();
  return status;
}

async function read(request: IncomingMessage): Promise<ApiCall> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString("utf8");
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, String(value)] as const),
  );
  return { method: request.method ?? "GET", path: request.url ?? "/", headers, body: bodyOf(text, headers) };
}

function bodyOf(text: string, headers: Record<string, string>): Record<string, unknown> {
  if (headers["content-type"]?.startsWith("application/x-www-form-urlencoded"))
    return Object.fromEntries(new URLSearchParams(text));
  try {
    return Object(JSON.parse(text)) as Record<string, unknown>;
  } catch {
    return { text };
  }
}

function closeServer(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}
