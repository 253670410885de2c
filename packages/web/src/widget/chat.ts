/**
 * The chat without its looks: talk, queue, line and token together. An element shows it and tells it what is typed.
 *
 * @module
 */
import { ApiError } from "../shared/api.ts";
import { createAccess } from "./access.ts";
import type { ChatEvent } from "./events.ts";
import { holdLine, type LineState, pageOf } from "./line.ts";
import { createQueue, type Queue, type Tried } from "./queue.ts";
import { storageOn } from "./storage.ts";
import { aloneIn, createTabs, newId, pause, type Tabs } from "./tabs.ts";
import { createTalk, type Talk, type Unsent } from "./talk.ts";

export interface ChatOptions {
  /** Where the server is, ending with a slash. */
  server: string;
  siteToken: (() => Promise<string>) | null;
  /** Something is to be shown anew. */
  onChange(): void;
  onEvent(event: ChatEvent): void;
  /** Somebody else is logged in at the site: this chat is over. */
  onOther(): void;
}

export interface Chat {
  readonly talk: Talk;
  readonly line: LineState;
  /** Has this browser talked here before? Then it is worth connecting before anybody asks. */
  readonly isKnown: boolean;
  /** Connects, and stays connected. Asked again, there is nothing to do. */
  start(): void;
  /** Ends the connection; what waits in the queue waits on. */
  stop(): void;
  send(text: string): void;
  retry(id: string): void;
  discard(id: string): void;
  /** The visitor has typed something, or has nothing typed any more. */
  typing(on: boolean): void;
  /** What is older. Resolves when it is there, or could not be got. */
  loadOlder(): Promise<void>;
}

/** How often the server is told that somebody goes on typing: well within the time it counts for. */
const typingMs = 2_500;
const sendMs = 20_000;

export function createChat({ server, siteToken, onChange, onEvent, onOther }: ChatOptions): Chat {
  const storage = storageOn(() => localStorage);
  const talk = createTalk();
  const stop = new AbortController();
  const name = (what: string) => `lull-chat|${server}|${what}`;
  const access = createAccess({
    server,
    siteToken,
    storage,
    alone: (work) => aloneIn(name("token"), work),
    onOther,
  });
  let line: LineState = { is: "connecting" };
  let started = false;
  let typedAt = Number.NEGATIVE_INFINITY;
  let writtenAt = 0;
  /** Written before it was known who writes. */
  let early: Unsent[] = [];
  let outgoing: { queue: Queue; tabs: Tabs } | null = null;

  async function send({ id, text, at }: Unsent): Promise<Tried> {
    try {
      const body = JSON.stringify({ id, text, sentAt: new Date(at).toISOString() });
      const headers = { "content-type": "application/json" };
      const signal = AbortSignal.timeout(sendMs);
      await access.ask("v1/chat/messages", { method: "POST", headers, body, signal });
      return { is: "accepted" };
    } catch (error) {
      const { status, code, retryAfter } = error instanceof ApiError ? error : new ApiError(0, "unreachable", "");
      // Only what lies in the message itself is worth telling; everything else may pass.
      if (status === 400 || status === 413) return { is: "refused", why: code };
      return { is: "later", retryMs: retryAfter === null ? null : retryAfter * 1_000 };
    }
  }

  /** Opens the queue of whoever writes. */
  function open(visitor: string): void {
    if (outgoing !== null || stop.signal.aborted) return;
    const mine = name(visitor);
    const look = () => {
      talk.takeUnsent(queue.list());
      onChange();
    };
    const tabs = createTabs(mine, (news) => {
      if (news.type === "forget") talk.forget(news.id);
      look();
      queue.work();
    });
    const queue = createQueue({
      storage,
      prefix: `${mine}|`,
      send,
      alone: (work, signal) => aloneIn(`${mine}|send`, work, signal),
      pause,
      onChange() {
        tabs.tell({ type: "queue" });
        look();
      },
    });
    outgoing = { queue, tabs };
    for (const message of early) queue.add(message);
    early = [];
    look();
    queue.work();
  }

  async function run(): Promise<void> {
    const known = access.knownVisitor();
    if (known !== null) open(known);
    while (outgoing === null && !stop.signal.aborted) {
      try {
        open(await access.visitor());
      } catch (error) {
        const problem = error instanceof ApiError ? error : new ApiError(0, "unreachable", String(error));
        const isForGood = problem.status >= 400 && problem.status < 500 && problem.status !== 429;
        setLine({ is: isForGood ? "refused" : "broken", error: problem });
        if (isForGood) return;
        await pause((problem.retryAfter ?? 2) * 1_000, stop.signal);
      }
    }
    await holdLine({
      access,
      seq: () => talk.seq,
      onPage(page) {
        talk.takePage(page);
        onChange();
      },
      onEvent(event) {
        talk.take(event);
        onChange();
        onEvent(event);
      },
      onState: setLine,
      pause,
      signal: stop.signal,
    });
  }

  function setLine(state: LineState): void {
    line = state;
    if (state.is === "live") outgoing?.queue.work();
    onChange();
  }

  return {
    talk,
    get line() {
      return line;
    },
    isKnown: storage.keys(name("")).length > 0,
    start() {
      if (started) return;
      started = true;
      void run();
    },
    stop() {
      stop.abort();
      outgoing?.queue.stop();
      outgoing?.tabs.close();
    },
    send(text) {
      // One after the other, also within a millisecond.
      writtenAt = Math.max(Date.now(), writtenAt + 1);
      const message = { id: newId(), text, at: writtenAt };
      storage.set(name("known"), "1");
      typedAt = Number.NEGATIVE_INFINITY;
      if (outgoing !== null) return outgoing.queue.add(message);
      early.push(message);
      talk.takeUnsent(early);
      onChange();
    },
    retry: (id) => outgoing?.queue.retry(id),
    discard(id) {
      talk.forget(id);
      outgoing?.tabs.tell({ type: "forget", id });
      outgoing?.queue.remove(id);
    },
    typing(on) {
      const now = performance.now();
      if (line.is !== "live" || (on && now - typedAt < typingMs)) return;
      if (!on && typedAt === Number.NEGATIVE_INFINITY) return;
      typedAt = on ? now : Number.NEGATIVE_INFINITY;
      const headers = { "content-type": "application/json" };
      // A hint: lost, it costs nothing but a guess.
      access.ask("v1/chat/typing", { method: "POST", headers, body: JSON.stringify({ on }) }).catch(() => {});
    },
    async loadOlder() {
      if (talk.older === null) return;
      try {
        talk.takePage(await pageOf(access, { before: talk.older }, stop.signal));
      } catch {
        // Still there to be asked for again.
      }
      onChange();
    },
  };
}
