/**
 * A conversation as its visitor sees it: one fold over pages of history and events of the stream, in whatever order they
 * come and however often, and what this browser has not handed in yet. Pure; no DOM, no network.
 *
 * @module
 */
import type { ChatEvent, HistoryPage, Logged, Part, State } from "./events.ts";

/** Something written here that the server may not have yet. */
export interface Unsent {
  id: string;
  text: string;
  /** Milliseconds since 1970, on this machine. */
  at: number;
  /** Why the server refused it for good. */
  refused?: string;
}

/** `queued`: not with the server yet · `refused`: never will be, as it is. */
export type Progress = "queued" | "sent" | "refused";

/** One thing on the screen. `key` is the same for as long as it is the same thing. */
export type Line = { key: string; at: number } & (
  | { from: "visitor"; id: string; text: string; edited: boolean; progress: Progress }
  | { from: "bot" | "human"; part: Part }
);

export interface Talk {
  readonly state: State;
  /** Provisional text of the bot's; null: none. */
  readonly draft: string | null;
  /** What was provisional was taken back, and nothing has taken its place yet. */
  readonly takenBack: boolean;
  /** The last answer was given up, and nothing has been written since. */
  readonly failed: boolean;
  /** The log up to here is known; null: nothing is. */
  readonly seq: number | null;
  /** What is older begins below; null: nothing is, or nothing is known. */
  readonly older: number | null;
  take(event: ChatEvent): void;
  /** A page of history; the newest one first. */
  takePage(page: HistoryPage): void;
  /** What waits in this browser now. What is gone from there was handed in, unless it was `forget`ten. */
  takeUnsent(unsent: readonly Unsent[]): void;
  forget(id: string): void;
  lines(): Line[];
}

type Of<T extends Logged["type"]> = Extract<Logged, { type: T }>;

export function createTalk(): Talk {
  let state: State = "resting";
  let draft: string | null = null;
  let takenBack = false;
  let failed = false;
  let seq: number | null = null;
  let older: number | null = null;
  const messages = new Map<string, Of<"message">>();
  const edits = new Map<string, Of<"edited">>();
  const retracted = new Set<string>();
  const parts = new Map<string, Of<"part">>();
  /** Part → the newest part that took its place. */
  const replaced = new Map<string, Of<"part">>();
  /** Written here: waiting, or handed in and not yet seen in the log. */
  const unsent = new Map<string, Unsent & { gone: boolean }>();

  function clear(): void {
    for (const known of [messages, edits, parts, replaced]) known.clear();
    retracted.clear();
    for (const [id, { gone }] of unsent) if (gone) unsent.delete(id);
    [draft, takenBack, failed, seq, older] = [null, false, false, 0, null];
  }

  /** The newest one stands, whichever came first. */
  function keep<T extends Logged>(known: Map<string, T>, id: string, event: T): void {
    if ((known.get(id)?.seq ?? 0) < event.seq) known.set(id, event);
  }

  function learn(event: Logged): void {
    switch (event.type) {
      case "message":
        keep(messages, event.id, event);
        unsent.delete(event.id);
        return;
      case "edited":
        return keep(edits, event.id, event);
      case "retracted":
        retracted.add(event.id);
        return;
      case "part":
        // Told twice it is one part, at its first place.
        if (!parts.has(event.id)) parts.set(event.id, event);
        if (event.edits !== undefined) keep(replaced, event.edits, event);
    }
  }

  return {
    get state() {
      return state;
    },
    get draft() {
      return draft;
    },
    get takenBack() {
      return takenBack;
    },
    get failed() {
      return failed;
    },
    get seq() {
      return seq;
    },
    get older() {
      return older;
    },
    take(event) {
      switch (event.type) {
        case "cleared":
          return clear();
        case "state":
          state = event.state;
          return;
        case "draft":
          takenBack = event.text === null && (takenBack || draft !== null);
          draft = event.text;
          return;
      }
      // Also of kinds that this release does not know: they are behind us.
      if (typeof event.seq === "number") seq = Math.max(seq ?? 0, event.seq);
      learn(event);
      if (event.type === "part" || event.type === "done") takenBack = false;
      if (event.type === "part" && event.by === "bot") draft = null;
      if (event.type === "done") failed = event.outcome === "failed";
      else if (event.type === "message") failed = false;
    },
    takePage(page) {
      if (seq === null) {
        seq = page.seq;
        state = page.state;
      }
      older = page.next;
      for (const event of page.events) learn(event);
    },
    takeUnsent(now) {
      const ids = new Set(now.map(({ id }) => id));
      for (const known of unsent.values()) if (!ids.has(known.id)) known.gone = true;
      for (const one of now) if (!messages.has(one.id)) unsent.set(one.id, { ...one, gone: false });
    },
    forget(id) {
      unsent.delete(id);
    },
    lines() {
      const lines: { seq: number; line: Line }[] = [];
      for (const { id, text, seq: place, at } of messages.values()) {
        if (retracted.has(id)) continue;
        const edit = edits.get(id);
        lines.push({
          seq: place,
          line: {
            key: `m:${id}`,
            at: Date.parse(at),
            from: "visitor",
            id,
            text: edit?.text ?? text,
            edited: edit !== undefined,
            progress: "sent",
          },
        });
      }
      for (const event of parts.values()) {
        // It stands where the part stands whose place it took.
        if (event.edits !== undefined && parts.has(event.edits)) continue;
        let newest = event;
        for (let next = replaced.get(event.id); next !== undefined; next = replaced.get(next.id)) newest = next;
        const { id, seq: place, at, by } = event;
        lines.push({ seq: place, line: { key: `p:${id}`, at: Date.parse(at), from: by, part: newest.part } });
      }
      // Parts of one entry have one place, and come in their order.
      lines.sort((a, b) => a.seq - b.seq);
      const waiting = [...unsent.values()].sort((a, b) => a.at - b.at);
      return [
        ...lines.map(({ line }) => line),
        ...waiting.map(
          ({ id, text, at, gone, refused }): Line => ({
            key: `m:${id}`,
            at,
            from: "visitor",
            id,
            text,
            edited: false,
            progress: refused !== undefined ? "refused" : gone ? "sent" : "queued",
          }),
        ),
      ];
    },
  };
}
