/**
 * A small world for a bot, on virtual time: processes that crash and freeze, one store they share, a model and a
 * channel that do what the script says, and a platform that posts again until it is told that a message arrived.
 *
 * Deterministic, and the same on every store: store calls are carried out one at a time, in the order they were made,
 * and time stands still until everything that can happen without it has happened. All instants are milliseconds since
 * the world began.
 *
 * The words: a *run* is one call of the model, an *attempt* one call of the channel, the *screen* what the user sees.
 */
import assert from "node:assert/strict";
import {
  type Answer,
  type Channel,
  type Clock,
  type ConversationRecord,
  type Delivery,
  type Incoming,
  Lull,
  LullError,
  type LullEvent,
  type LullOptions,
  memory,
  type Part,
  type Receipt,
  type Received,
  type Store,
  type Turn,
  textOf,
  type Write,
} from "../../src/index.ts";
import type { LogEntry } from "../../src/model.ts";
import { sqlite } from "../../src/stores/sqlite/index.ts";
import { openDatabase } from "../stores/database.ts";
import { type VirtualClock, virtualClock } from "../support/virtual.ts";

export type StoreKind = "memory" | "sqlite" | MakeStore;
/** An empty store on the world's time. */
export type MakeStore = (options: { now: () => number }) => Store;

/** What a scenario sets before its world begins. */
export interface Setting {
  /** Options of every process. Unless set: plain debounce of 1 s, cap 6 s, lease 5 s. */
  options?: Partial<LullOptions>;
  /** How long the model thinks. Default 3 s. */
  modelMs?: number;
  /** Replaces the model that thinks for `modelMs` and answers `re: m1+m2`. */
  model?: (turn: Turn, run: Run) => Answer | Promise<Answer>;
  channel?: Partial<Channel> & {
    /** What becomes of an attempt; undefined: the user sees it and the channel says so. */
    script?: (attempt: Attempt, nth: number) => Reaction | undefined;
    /** How long an attempt takes. Default 0. */
    sendMs?: number;
    /** The platform can be asked whether a part arrived. */
    searchable?: boolean;
  };
}

/** How the platform takes one attempt. */
export interface Reaction {
  shown: boolean;
  receipt: Receipt;
  /** How long it takes to say so; what is shown is shown at once. */
  afterMs?: number;
}

/** One call of the model. */
export interface Run {
  process: string;
  conversation: string;
  /** 1 for the first run in this world. */
  nth: number;
  startedAtMs: number;
  endedAtMs: number | null;
  /** Null while it runs, and for ever when its process died; else "answered" or the code of what it ended with. */
  outcome: string | null;
  /** Ids of the inputs it saw, in the order it saw them. */
  ids: string[];
  text: string;
  turn: Turn;
  /** Thinks for so long; ends at once, with the reason, when the turn is aborted. */
  think(ms: number): Promise<void>;
  /** The same for a model that does not listen to `signal`. */
  thinkDeaf(ms: number): Promise<void>;
}

/** One call of the channel. */
export interface Attempt extends Omit<Delivery, "signal"> {
  process: string;
  atMs: number;
  text: string;
}

export interface Shown {
  conversation: string;
  atMs: number;
  text: string;
  key: string;
}

/** A call of a process to the store, before it is carried out. */
export interface StoreCall {
  process: string;
  method: keyof Store;
  /** Log entries it appends. */
  entries: readonly LogEntry[];
}

/**
 * What becomes of a store call. `down`: refused, nothing happened. `lost`: carried out, and the caller is told that
 * the connection broke. `dies`: carried out, and the process dies before it hears of it. `died`: the process dies
 * before the call leaves. A number: it takes so long to arrive.
 */
export type StoreFault = "down" | "lost" | "dies" | "died" | number;

export interface Process {
  readonly name: string;
  readonly lull: Lull;
  readonly state: "running" | "frozen" | "dead";
  /** `kill -9`: nothing of it goes on, and nobody is told. */
  crash(): void;
  /** Stops it in the middle of everything: timers and answers wait until `thaw`. The world goes on. */
  freeze(): void;
  thaw(): Promise<void>;
  /** Somebody writes: a message whose text is its id, unless `message` says otherwise. */
  hears(id: string, message?: Incoming & { in?: string }): Promise<Received>;
}

export interface World {
  readonly kind: StoreKind;
  readonly store: Store;
  readonly clock: VirtualClock;
  readonly runs: Run[];
  readonly attempts: Attempt[];
  readonly screen: Shown[];
  readonly events: LullEvent[];
  /** What happened, a line a step; printed when a scenario fails. */
  readonly trace: string[];
  /** Now. */
  readonly ms: number;
  /** Asked for every store call of every process. */
  fault: (call: StoreCall) => StoreFault | undefined;
  /** Starts a process; a name may be used again after a crash. */
  process(name: string, options?: Partial<LullOptions> & { skewMs?: number; idle?: boolean }): Promise<Process>;
  /** Lets time pass until then, with everything that happens meanwhile. */
  until(ms: number): Promise<void>;
  /**
   * A platform that posts a message, and again every `everyMs` until a post is acknowledged, to whatever process `to`
   * names then. Resolves to what the acknowledged post was told.
   */
  post(id: string, to: () => Process, everyMs: number, message?: Incoming & { in?: string }): Promise<Received>;
  /** The model's runs: `1000-4000 m1+m2`, and what a run ended with unless it answered. */
  thought(conversation?: string): string[];
  /** The user's screen: `4000 re: m1+m2`. */
  seen(conversation?: string): string[];
  record(conversation?: string): Promise<ConversationRecord>;
  log(conversation?: string): Promise<LogEntry[]>;
  /** What replaces a record by itself, for `store.exchange`: to spoil it. */
  write(record: ConversationRecord): Write;
  /** Every conversation is at rest, and each of its inputs ended exactly once. */
  verify(): Promise<void>;
  close(): Promise<void>;
}

const epochMs = 1_750_000_000_000;

/** The settings the bug reports are told with. */
const usual = {
  debounce: { quietMs: 1_000, startMs: 1_000, maxWaitMs: 6_000 },
  lease: { leaseMs: 5_000, renewMs: 1_500 },
} satisfies Partial<LullOptions>;

export function createWorld(kind: StoreKind, setting: Setting = {}): World {
  const wires = oneAtATime();
  const clock = virtualClock({ startMs: epochMs, settle: wires.settle });
  const ms = () => clock.now() - epochMs;
  const database = kind === "sqlite" ? openDatabase(":memory:") : null;
  const store =
    typeof kind === "function"
      ? kind({ now: clock.now })
      : database === null
        ? memory({ now: clock.now })
        : sqlite(database, { now: clock.now, clock });
  const runs: Run[] = [];
  const attempts: Attempt[] = [];
  const screen: Shown[] = [];
  const events: LullEvent[] = [];
  const trace: string[] = [];
  const say = (who: string, what: string) => void trace.push(`${ms()} ${who}: ${what}`);

  function storeFor(name: string, gate: Gate): Store {
    async function carry<T>(method: keyof Store, entries: readonly LogEntry[], perform: () => Promise<T>): Promise<T> {
      const fault = world.fault({ process: name, method, entries });
      if (fault !== undefined) say(name, `store.${method}: ${typeof fault === "number" ? `${fault} ms` : fault}`);
      if (typeof fault === "number") await clock.sleep(fault);
      if (fault === "died") gate.die();
      const answer = wires.run(async () => {
        if (gate.state === "dead" || fault === "down") return null;
        return { value: await perform() };
      });
      const performed = await answer;
      if (fault === "dies") gate.die();
      await gate.pass();
      if (performed === null || fault === "lost") throw new LullError("store-unavailable", "The connection broke.");
      return performed.value;
    }
    return {
      name: store.name,
      durability: store.durability,
      load: (id, options) => carry("load", [], () => store.load(id, options)),
      exchange: (write) => carry("exchange", write.append ?? [], () => store.exchange(write)),
      due: (nowMs, limit) => carry("due", [], () => store.due(nowMs, limit)),
      log: (id, page) => carry("log", [], () => store.log(id, page)),
      list: (page, filter) => carry("list", [], () => store.list(page, filter)),
      stats: () => carry("stats", [], () => store.stats()),
      repair: (page, wakeAt) => carry("repair", [], () => store.repair(page, wakeAt)),
      erase: (id) => carry("erase", [], () => store.erase(id)),
      prune: (options) => carry("prune", [], () => store.prune(options)),
      close: () => Promise.resolve(),
    };
  }

  function clockFor(gate: Gate, skewMs: number): Clock {
    return {
      ...clock,
      now: () => clock.now() + skewMs,
      sleep: (length, signal) => clock.sleep(length, signal).then(() => gate.pass()),
    };
  }

  function respondFor(name: string, local: Clock) {
    return async (turn: Turn): Promise<Answer> => {
      const thinkDeaf = (length: number) => local.sleep(length);
      const run: Run = {
        process: name,
        conversation: turn.conversation,
        nth: runs.length + 1,
        startedAtMs: ms(),
        endedAtMs: null,
        outcome: null,
        ids: turn.messages.map(({ id }) => id),
        text: turn.text,
        turn,
        async think(length) {
          await local.sleep(length, turn.signal);
          turn.signal.throwIfAborted();
        },
        thinkDeaf,
      };
      runs.push(run);
      say(name, `the model starts with ${run.ids.join("+")}`);
      const end = (outcome: string) => {
        Object.assign(run, { outcome, endedAtMs: ms() });
        say(name, `the model ends: ${outcome}`);
      };
      try {
        const answer = await model(turn, run);
        end("answered");
        return answer;
      } catch (error) {
        end(LullError.isInstance(error) ? error.code : (error as Error).message);
        throw error;
      }
    };
  }

  const model =
    setting.model ??
    (async (_turn: Turn, run: Run) => {
      await run.think(setting.modelMs ?? 3_000);
      return `re: ${run.ids.join("+")}`;
    });

  /** The platform's side of the channel goes on whatever becomes of the process that called it. */
  function channelFor(name: string, gate: Gate): Channel {
    const { script, sendMs = 0, searchable = false, ...channel } = setting.channel ?? {};
    const find = async ({ idempotencyKey }: Delivery): Promise<Receipt | null> => {
      await gate.pass();
      return screen.some(({ key }) => key === idempotencyKey) ? { status: "sent" } : null;
    };
    return {
      name: "double",
      idempotent: false,
      ...(searchable && { find }),
      async deliver(part: Part, { signal: _, ...context }: Delivery) {
        const { conversation, idempotencyKey: key } = context;
        const attempt: Attempt = { ...context, process: name, atMs: ms(), text: textOf([part]) };
        attempts.push(attempt);
        const {
          shown,
          receipt,
          afterMs = 0,
        } = script?.(attempt, attempts.length) ?? {
          shown: true,
          receipt: { status: "sent" },
        };
        say(name, `sends "${attempt.text}" (${key}, try ${context.attempt}): ${receipt.status}`);
        if (sendMs > 0) await clock.sleep(sendMs);
        const known = channel.idempotent === true && screen.some((other) => other.key === key);
        if (shown && !known) screen.push({ conversation, atMs: ms(), text: attempt.text, key });
        if (afterMs > 0) await clock.sleep(afterMs);
        await gate.pass();
        return receipt;
      },
      ...channel,
    };
  }

  const inside = (id: string, { in: conversation = "c", ...message }: Incoming & { in?: string } = {}) =>
    [conversation, { id, ...(message.parts === undefined && { text: id }), ...message }] as const;

  const world: World = {
    kind,
    store,
    clock,
    runs,
    attempts,
    screen,
    events,
    trace,
    get ms() {
      return ms();
    },
    fault: () => undefined,
    async process(name, { skewMs = 0, idle = false, ...options } = {}) {
      const gate = createGate();
      const local = clockFor(gate, skewMs);
      const lull = new Lull({
        ...usual,
        ...(options.channels === undefined && { deliver: channelFor(name, gate) }),
        respond: respondFor(name, local),
        ...setting.options,
        ...options,
        lease: { ...usual.lease, ...setting.options?.lease, ...options.lease },
        store: storeFor(name, gate),
        clock: local,
        owner: name,
      });
      lull.on((event) => {
        events.push(event);
        const detail = event.entry === undefined ? "" : ` ${JSON.stringify({ ...event.entry, atMs: undefined })}`;
        say(name, `${event.conversation} ${event.type}${detail}`);
      });
      if (!idle) await lull.start();
      return {
        name,
        lull,
        get state() {
          return gate.state;
        },
        crash() {
          say(name, "dies");
          gate.die();
        },
        freeze() {
          say(name, "freezes");
          gate.freeze();
        },
        async thaw() {
          say(name, "thaws");
          await gate.thaw();
        },
        async hears(id, message) {
          await gate.pass();
          return lull.receive(...inside(id, message));
        },
      };
    },
    until: (until) => clock.advance(until - ms()),
    async post(id, to, everyMs, message) {
      let acknowledged: Received | undefined;
      while (acknowledged === undefined) {
        const heard = to().hears(id, message);
        heard.then((received) => (acknowledged ??= received)).catch(() => {});
        await clock.sleep(everyMs);
      }
      return acknowledged;
    },
    thought: (conversation = "c") =>
      runs
        .filter((run) => run.conversation === conversation)
        .map(({ startedAtMs, endedAtMs, ids, outcome }) => {
          const ending = outcome === null || outcome === "answered" ? "" : ` ${outcome}`;
          return `${startedAtMs}-${endedAtMs ?? ""} ${ids.join("+")}${ending}`;
        }),
    seen: (conversation = "c") =>
      screen.filter((shown) => shown.conversation === conversation).map(({ atMs, text }) => `${atMs} ${text}`),
    async record(conversation = "c") {
      const { record } = await store.load(conversation);
      assert.ok(record, `nobody wrote in ${conversation}`);
      return record;
    },
    write: (record) => ({
      id: record.id,
      next: record,
      expected: record.revision,
      wakeAtMs: record.lease?.expiresAtMs ?? null,
      nowMs: clock.now(),
    }),
    log: async (conversation = "c") => (await store.load(conversation, { logFrom: 1 })).log,
    async verify() {
      const { conversations } = await store.list({ limit: 1_000 });
      for (const record of conversations) {
        const { id, window, lease, outbox, sends, version, answered } = record;
        const open = { window, lease, outbox, sends: sends.length, unanswered: version - answered };
        const rest = { window: null, lease: null, outbox: null, sends: 0, unanswered: 0 };
        assert.deepEqual(open, rest, `conversation ${id} is not at rest`);
        checkEndings(await world.log(id));
      }
      assert.deepEqual((await store.list({}, { active: true })).conversations, [], "a timer is left");
    },
    async close() {
      await wires.settle();
      await store.close();
      database?.close();
    },
  };
  return world;
}

/** No loss, one answer: every input of a conversation at rest ended once. */
function checkEndings(log: readonly LogEntry[]): void {
  const ends = log.flatMap((entry) =>
    entry.kind === "settled" || (entry.kind === "closed" && entry.outcome !== "withdrawn") ? [entry] : [],
  );
  for (const input of log) {
    if (!("version" in input) || "aside" in input) continue;
    const { version } = input;
    const ended = ends.filter(({ from, to }) => version > from && version <= to);
    assert.equal(ended.length, 1, `version ${version} ended ${ended.length} times`);
  }
}

/** What keeps a process from going on. */
interface Gate {
  readonly state: "running" | "frozen" | "dead";
  /** Resolves when the process may go on: now, after a thaw, or never. */
  pass(): Promise<void>;
  die(): void;
  freeze(): void;
  thaw(): Promise<void>;
}

function createGate(): Gate {
  let state: Gate["state"] = "running";
  const held: (() => void)[] = [];
  return {
    get state() {
      return state;
    },
    pass: () =>
      state === "running"
        ? Promise.resolve()
        : new Promise((resolve) => void (state === "frozen" && held.push(resolve))),
    die() {
      state = "dead";
      held.length = 0;
    },
    freeze() {
      if (state === "running") state = "frozen";
    },
    /** What waited goes on in its order, one after the other, as an event loop would do it. */
    async thaw() {
      for (let go = held.shift(); go !== undefined; go = held.shift()) {
        go();
        await nextTurn();
      }
      if (state === "frozen") state = "running";
    },
  };
}

/** Carries out jobs one at a time, each after everything the one before it caused has been asked for. */
function oneAtATime(): { run<T>(job: () => Promise<T>): Promise<T>; settle(): Promise<void> } {
  const queue: (() => Promise<void>)[] = [];
  let running = false;

  async function drain(): Promise<void> {
    running = true;
    for (let job = queue.shift(); job !== undefined; job = queue.shift()) {
      await job();
      await nextTurn();
    }
    running = false;
  }

  return {
    run: (job) =>
      new Promise((resolve, reject) => {
        queue.push(() => job().then(resolve, reject));
        if (!running) void drain();
      }),
    async settle() {
      do await nextTurn();
      while (running);
    },
  };
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}
