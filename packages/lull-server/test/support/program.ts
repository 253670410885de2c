/**
 * The other side of the webhooks, as a bot's author would run it: one local program that is both the model and
 * the channel. It writes down every request, checks every signature, and does what the test says.
 *
 * @module
 */
import { EventEmitter } from "node:events";
import http from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { Webhook } from "standardwebhooks";

export interface Call {
  kind: "model" | "delivery";
  /** The server process that called: each is configured with an address of its own. */
  from: string;
  /** On the monotonic clock of the test. */
  atMs: number;
  conversation: string;
  /** Ids of the messages that the model saw, or that the reply covers. */
  covers: string[];
  /** Delivery only. */
  key: string;
  index: number;
  text: string;
  overtaken: boolean;
  /** Of the turn, or of the part. */
  attempt: number;
  headers: http.IncomingHttpHeaders;
  /** The body as it was sent, for checking signatures. */
  raw: string;
  /** The status we answered with, once we did. */
  answered: number | null;
  /** The server closed the request before it was answered. */
  closedAtMs: number | null;
}

/** Null: never answer. */
export type Reply = { status?: number; headers?: Record<string, string>; body?: unknown } | null;
export type Behaviour = (call: Call) => Reply | Promise<Reply>;

export interface Program {
  /** Addresses for a server called `name`. */
  model(name: string): string;
  delivery(name: string): string;
  calls: Call[];
  models(conversation: string): Call[];
  deliveries(conversation: string): Call[];
  /** What a server did that nobody asked it for: a request elsewhere, a signature that is wrong. */
  faults: string[];
  /** Looks at each new connection before anything of it is read; returns false to drop it. */
  admit: ((socket: Socket) => boolean) | null;
  /** Resolves to the first truthy value; looked at whenever something happened. */
  until<T>(what: string, look: () => T | false | null | undefined, withinMs?: number): Promise<T>;
  close(): Promise<void>;
}

export interface Behaviours {
  secrets: readonly string[];
  model: Behaviour;
  delivery: Behaviour;
}

export async function startProgram(behaviours: Behaviours): Promise<Program> {
  const hooks = behaviours.secrets.map((secret) => new Webhook(secret));
  const news = new EventEmitter().setMaxListeners(0);
  const calls: Call[] = [];
  const faults: string[] = [];

  const server = http.createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    // A server that was killed in the middle of a request.
    request.on("error", () => {});
    response.on("error", () => {});
    request.on("end", () => void answer(request, response, Buffer.concat(chunks).toString("utf8")));
  });

  async function answer(request: http.IncomingMessage, response: http.ServerResponse, raw: string): Promise<void> {
    const atMs = performance.now();
    const [, kind, from] = /^\/(model|delivery)\/(\w+)$/.exec(request.url ?? "") ?? [];
    if (request.method !== "POST" || from === undefined || (kind !== "model" && kind !== "delivery")) {
      faults.push(`${request.method} ${request.url} was asked for`);
      response.writeHead(404).end();
      return;
    }
    try {
      for (const hook of hooks) hook.verify(raw, request.headers as Record<string, string>);
    } catch (error) {
      faults.push(`${kind}: ${(error as Error).message}`);
    }
    const call = callOf(kind, from, atMs, request.headers, raw);
    calls.push(call);
    response.on("close", () => {
      if (response.writableEnded) return;
      call.closedAtMs = performance.now();
      news.emit("news");
    });
    news.emit("news");
    try {
      const reply = await behaviours[kind](call);
      if (reply === null || response.destroyed) return;
      const { status = 200, headers = {}, body = {} } = reply;
      call.answered = status;
      response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
      news.emit("news");
    } catch (error) {
      faults.push(`the ${kind} failed: ${(error as Error).stack}`);
      response.destroy();
    }
  }

  const program: Program = {
    model: (name) => `${base}/model/${name}`,
    delivery: (name) => `${base}/delivery/${name}`,
    calls,
    models: (conversation) => calls.filter((call) => call.kind === "model" && call.conversation === conversation),
    deliveries: (conversation) =>
      calls.filter((call) => call.kind === "delivery" && call.conversation === conversation),
    faults,
    admit: null,
    until(what, look, withinMs = 20_000) {
      return new Promise((resolve, reject) => {
        const check = () => {
          const value = look();
          if (!value) return;
          end();
          resolve(value);
        };
        const end = () => {
          clearTimeout(timer);
          news.off("news", check);
        };
        const timer = setTimeout(() => {
          end();
          reject(new Error(`Within ${withinMs} ms there was no ${what}. So far:\n${calls.map(summary).join("\n")}`));
        }, withinMs);
        news.on("news", check);
        check();
      });
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
  server.prependListener("connection", (socket: Socket) => {
    if (program.admit !== null && !program.admit(socket)) socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return program;
}

interface Body {
  conversation: string;
  attempt: number;
  messages?: { id: string }[];
  covers?: string[];
  idempotencyKey?: string;
  part?: { index: number; text?: string };
  overtaken?: boolean;
}

function callOf(kind: Call["kind"], from: string, atMs: number, headers: http.IncomingHttpHeaders, raw: string): Call {
  const body = JSON.parse(raw) as Body;
  return {
    kind,
    from,
    atMs,
    conversation: body.conversation,
    covers: body.covers ?? body.messages?.map(({ id }) => id) ?? [],
    key: body.idempotencyKey ?? "",
    index: body.part?.index ?? 0,
    text: body.part?.text ?? "",
    overtaken: body.overtaken ?? false,
    attempt: body.attempt,
    headers,
    raw,
    answered: null,
    closedAtMs: null,
  };
}

/** One line for a failure's message. */
export function summary(call: Call): string {
  const end = call.answered !== null ? `answered ${call.answered}` : call.closedAtMs !== null ? "closed" : "open";
  const what = call.kind === "model" ? `attempt ${call.attempt}` : `${call.key} "${call.text}"`;
  return `${Math.round(call.atMs)} ${call.from} ${call.kind} ${call.conversation} [${call.covers}] ${what}, ${end}`;
}
