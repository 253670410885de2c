// A bot under test on virtual time: what its author wrote, what its users saw.
import { Lull, type LullEvent, type LullOptions, memory, type Part, type Store, type Turn } from "../../src/index.ts";
import { type VirtualClock, virtualClock } from "./virtual.ts";

export interface Sent {
  text: string;
  atMs: number;
  key: string;
  covers: string[];
}

/** The default debounce: the model may start after 1 s, the answer goes out after 6 s of quiet. */
export const startMs = 1_000;
export const quietMs = 6_000;

export interface World {
  clock?: VirtualClock;
  store?: Store;
  /** How long the default model thinks. */
  modelMs?: number;
}

/**
 * A bot whose model thinks for a while and then repeats what it was asked. Two bots with the same `clock` and
 * `store` are two processes.
 */
export function bot(options: Partial<LullOptions> = {}, world: World = {}) {
  const clock = world.clock ?? virtualClock();
  const store = world.store ?? options.store ?? memory({ now: () => clock.now() });
  const turns: Turn[] = [];
  const sent: Sent[] = [];
  const events: LullEvent[] = [];
  const began = clock.now();
  const { respond, deliver, channels, ...rest } = options;
  const lull = new Lull({
    store,
    clock,
    respond: async (turn) => {
      turns.push(turn);
      if (respond !== undefined) return respond(turn) as never;
      await clock.sleep(world.modelMs ?? 2_000, turn.signal);
      turn.signal.throwIfAborted();
      return `answer to: ${textOf(turn)}`;
    },
    ...(channels === undefined
      ? {
          deliver:
            deliver ??
            ((part: Part, { idempotencyKey, covers }) => {
              sent.push({ text: words(part), atMs: clock.now() - began, key: idempotencyKey, covers });
              return Promise.resolve({ status: "sent" });
            }),
        }
      : { channels }),
    ...rest,
  });
  lull.on((event) => events.push(event));
  return {
    clock,
    store,
    lull,
    turns,
    sent,
    events,
    texts: () => sent.map(({ text }) => text),
    types: () => events.map(({ type }) => type),
    /** Milliseconds since the bot was made. */
    elapsed: () => clock.now() - began,
    /** Lets a burst arrive: the messages' texts are also their ids. */
    async hear(...texts: string[]) {
      for (const text of texts) await lull.receive("c", { id: text, text });
    },
  };
}

/** What the user said, on one line. */
export function textOf(turn: Turn): string {
  return turn.text.replaceAll("\n", " | ");
}

export function words(part: Part): string {
  return part.type === "text" ? part.text : JSON.stringify(part);
}
