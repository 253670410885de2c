/**
 * What a bot's author may set, with defaults, and the checks that refuse what cannot work. Every bound of
 * the protocol is named here.
 *
 * @module
 */
import { LullError } from "./errors.ts";
import type { Backlog, Content, ConversationId, Input, Limits, WhenBusy } from "./model.ts";
import { adaptive } from "./pace.ts";
import type { Channel, Clock, Store } from "./ports.ts";
import type { Respond } from "./turn.ts";

/** How long to hear the user out. */
export interface Debounce {
  /** Quiet after which the answer may go out; the model's own time counts towards it. Default 6,000. */
  quietMs: number;
  /**
   * Quiet after which the model may start. Default 1,000, never more than `quietMs`; equal to it: the plain debounce.
   * - `eager`: 300; the answer is ready sooner, and a few more are thrown away.
   * - `frugal`: as late as possible, by how long the model has taken so far in this process (1,000 until it is known).
   */
  startMs?: number | "eager" | "frugal";
  /** Hard cap, counted from the first unanswered message. Default 45,000. */
  maxWaitMs?: number;
  /**
   * Gives every conversation a quiet target of its own, between half and 1.7 times `quietMs`: longer for people whose
   * messages keep crossing replies, shorter for others, and after a question mark. `crossed` is the share of replies
   * that may be crossed; `true` means 0.08. Default false.
   */
  adaptive?: boolean | { crossed?: number };
}

/**
 * Named quiet targets. Source: real chat timings; 6 s of quiet leaves about one turn in twenty interrupted,
 * 3 s about one in six, 10 s one in forty.
 */
export const presets = {
  snappy: { quietMs: 3_000 },
  balanced: { quietMs: 6_000 },
  patient: { quietMs: 10_000 },
} as const satisfies Record<string, Debounce>;
export type Preset = keyof typeof presets;

export type { WhenBusy };

export interface LullOptions {
  store: Store;
  /** Answers a turn. Without it this process only receives. */
  respond?: Respond;
  /** Sends parts; the shortest way to make a channel. Not with `channels`. */
  deliver?: Channel["deliver"] | Channel;
  /** Channels by name; `address.channel` chooses one. */
  channels?: Channel[];
  /** Default "balanced". */
  debounce?: Preset | Debounce | ((conversation: ConversationId) => Preset | Debounce);
  /**
   * How sure it is that the user has said it all: 0 … 1, where 0.5 is no opinion. Asked after every message, beside the
   * wait, with everything unanswered: 1 halves the quiet target, 0 doubles it, never beyond the cap. Messages with a
   * `quietMs` of their own keep it. What throws, or is no such number, is as if it had not been asked.
   */
  completeness?: (messages: readonly Input[], conversation: ConversationId) => number | PromiseLike<number>;
  /** Default "interrupt". */
  whenBusy?: WhenBusy | ((conversation: ConversationId) => WhenBusy);
  /**
   * `leaseMs`: so long a holder that crashed keeps others waiting; default 30,000, at least ten times the slowest call of the
   * store (docs/proof.md, the simulator's last run). `renewMs`: default a third of it. `turnTimeoutMs`: the longest attempt.
   */
  lease?: { leaseMs?: number; renewMs?: number; turnTimeoutMs?: number };
  limits?: Partial<
    Pick<Limits, (typeof limitKeys)[number] & keyof Limits> & {
      maxTextBytes: number;
      maxIdBytes: number;
      maxAddressBytes: number;
      maxEffectBytes: number;
      seenMs: number;
    }
  >;
  /** Words that act at arrival, before any window. Whole message, case-insensitive. Default none. */
  commands?: { stop?: string[]; reset?: string[] };
  /** Input older than `maxAgeMs` (by `sentAt`) at arrival. Default: answered like any other. */
  backlog?: { maxAgeMs: number; then: Backlog };
  /** An edit of a message that was answered already. Default "ignore". */
  editAfterAnswer?: "ignore" | "new-input";
  /** How long answered conversations' logs are kept. Default: for ever. */
  history?: { keepMs?: number };
  /** Sent when a span is given up (parked). Default: nothing. */
  fallback?: string | ((conversation: ConversationId, error: string) => string | null);
  /** Conversations worked on at once by this process. Default 100. */
  concurrency?: number;
  /** Failed attempts are repeated after `firstMs · 2ⁿ` (at most `maxMs`), jittered by half. Defaults 1,000 and 60,000. */
  backoff?: { firstMs?: number; maxMs?: number };
  /** Delivery retries, same shape. Defaults 1,000 and 300,000. */
  deliverBackoff?: { firstMs?: number; maxMs?: number };
  /** The store's due index is read this often, jittered by half; local timers do the daily work. Default 750. */
  scanMs?: number;
  logger?: Logger;
  clock?: Clock;
  /** Name of this process in leases and logs. Default: a new id. */
  owner?: string;
}

/** Structured logging: pino, console and most others fit. Texts of users are never passed. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** Options with every default filled in and everything checked. */
export interface Settings {
  limits: Limits;
  maxTextBytes: number;
  maxIdBytes: number;
  maxAddressBytes: number;
  maxEffectBytes: number;
  seenMs: number;
  renewMs: number;
  scanMs: number;
  concurrency: number;
  commands: { stop: ReadonlySet<string>; reset: ReadonlySet<string> };
  backlog: { maxAgeMs: number; then: Backlog } | null;
  editAfterAnswer: "ignore" | "new-input";
  keepMs: number | null;
  /** Limits of one conversation: the defaults with its own debounce. `modelMs`: how long the model takes, if known. */
  limitsOf(conversation: ConversationId, modelMs?: number | null): Limits;
  whenBusyOf(conversation: ConversationId): WhenBusy;
  fallbackOf(conversation: ConversationId, error: string): string | null;
}

const day = 86_400_000;

/** Defaults of every bound. */
export const defaults = {
  startMs: 1_000,
  quietMs: presets.balanced.quietMs,
  maxWaitMs: 45_000,
  typingMs: 6_000,
  typingMaxMs: 30_000,
  incompleteMs: 20_000,
  leaseMs: 30_000,
  turnTimeoutMs: 120_000,
  maxRestarts: 3,
  maxFailures: 5,
  maxPending: 1_000,
  maxParts: 50,
  maxEffects: 100,
  maxSends: 20,
  deliverMaxMs: day,
  maxHandoffMs: 30 * day,
  repliesPerHour: 60,
  maxTextBytes: 1_048_576,
  maxIdBytes: 512,
  maxAddressBytes: 16_384,
  maxEffectBytes: 262_144,
  seenMs: 7 * day,
  concurrency: 100,
  scanMs: 750,
} as const;

/** What `startMs: "eager"` means. */
const eagerMs = 300;

/** Longest duration any setting may have: ten years. Keeps sums of instants far from 2⁵³. */
const longestMs = 3_650 * day;

function show(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "function") return "a function";
  try {
    return `${JSON.stringify(value) ?? String(value)} (${value === null ? "null" : typeof value})`;
  } catch {
    // A cycle, a bigint; or an object that cannot even become a string.
    return typeof value === "object" ? Object.prototype.toString.call(value) : String(value);
  }
}

function refuse(name: string, rule: string, value: unknown): never {
  throw new LullError("invalid-options", `${name} must be ${rule}; got ${show(value)}.`);
}

/** A whole number within bounds, or a clear error. `undefined` takes the default. */
function whole(name: string, value: unknown, fallback: number, least: number, most: number): number {
  if (value === undefined) return fallback;
  if (typeof value !== "number" || !Number.isInteger(value) || value < least || value > most)
    refuse(name, `a whole number from ${least} to ${most}`, value);
  return value as number;
}

function known(name: string, value: object, keys: readonly string[]): void {
  if (typeof value !== "object" || value === null || Array.isArray(value)) refuse(name, "an object", value);
  for (const key of Object.keys(value))
    if (!keys.includes(key))
      throw new LullError(
        "invalid-options",
        `${name} has an unknown key ${JSON.stringify(key)}; known: ${keys.join(", ")}.`,
      );
}

/** An object that can do all of this: a mistake shows at the start, not with the first message. */
function able(name: string, value: unknown, methods: readonly string[]): void {
  const given = value as Record<string, unknown> | null;
  const lacks = methods.filter((method) => typeof given?.[method] !== "function");
  if (typeof value !== "object" || value === null || lacks.length > 0)
    refuse(name, `an object with ${methods.join(", ")}`, value);
}

function checkChannel(name: string, value: Channel): void {
  able(name, value, ["deliver"]);
  const { name: called, idempotent, find, draft, draftMs, typing, typingMs, whenInDoubt, timeoutMs } = value;
  if (typeof called !== "string" || called === "") refuse(`${name}.name`, "a non-empty string", called);
  if (typeof (idempotent ?? false) !== "boolean") refuse(`${name}.idempotent`, "true or false", idempotent);
  for (const [key, method] of Object.entries({ find, draft, typing }))
    if (method !== undefined && typeof method !== "function") refuse(`${name}.${key}`, "a function", method);
  oneOf(`${name}.whenInDoubt`, whenInDoubt, ["at-least-once", "at-most-once"], "at-least-once");
  whole(`${name}.timeoutMs`, timeoutMs, 1, 1, day);
  whole(`${name}.draftMs`, draftMs, 1, 1, day);
  whole(`${name}.typingMs`, typingMs, 1, 1, day);
}

function checkChannels({ deliver, channels }: LullOptions): void {
  if (deliver !== undefined && channels !== undefined)
    throw new LullError("invalid-options", "Give either deliver or channels, not both.");
  if (deliver !== undefined && typeof deliver !== "function") checkChannel("deliver", deliver);
  if (channels === undefined) return;
  if (!Array.isArray(channels)) refuse("channels", "an array of channels", channels);
  channels.forEach((channel, index) => {
    checkChannel(`channels[${index}]`, channel);
  });
  const twice = channels.find(({ name }, index) => channels.findIndex((other) => other.name === name) !== index);
  if (twice !== undefined) throw new LullError("invalid-options", `Two channels are named ${show(twice.name)}.`);
}

/** One debounce setting as the protocol takes it. */
export type Waiting = Pick<Limits, "quietMs" | "startMs" | "maxWaitMs" | "leadMs" | "adaptive">;

/**
 * Checks one debounce setting. `modelMs`: how long the model takes, for `frugal`; null as long as it is not known.
 * @throws LullError `invalid-options` with the bad value.
 */
export function checkDebounce(value: Preset | Debounce, name = "debounce", modelMs: number | null = null): Waiting {
  if (typeof value === "string") {
    if (!Object.hasOwn(presets, value)) refuse(name, `one of ${Object.keys(presets).join(", ")} or an object`, value);
    return checkDebounce(presets[value], name);
  }
  known(name, value, ["quietMs", "startMs", "maxWaitMs", "adaptive"]);
  const quietMs = whole(`${name}.quietMs`, value.quietMs, defaults.quietMs, 0, longestMs);
  const usualMs = Math.min(defaults.startMs, quietMs);
  const named = value.startMs === "eager" || value.startMs === "frugal" ? value.startMs : null;
  const start = named === "eager" ? Math.min(eagerMs, quietMs) : named === null ? value.startMs : undefined;
  if (typeof start === "string") refuse(`${name}.startMs`, "a whole number, eager or frugal", start);
  const startMs = whole(`${name}.startMs`, start, usualMs, 0, longestMs);
  const maxWaitMs = whole(`${name}.maxWaitMs`, value.maxWaitMs, Math.max(defaults.maxWaitMs, quietMs), 0, longestMs);
  if (startMs > quietMs)
    throw new LullError(
      "invalid-options",
      `${name}.startMs (${startMs}) is greater than quietMs (${quietMs}): the model cannot start after its answer is due. Lower startMs.`,
    );
  if (maxWaitMs < quietMs)
    throw new LullError(
      "invalid-options",
      `${name}.maxWaitMs (${maxWaitMs}) is less than quietMs (${quietMs}): the cap would cut every window short. Raise maxWaitMs.`,
    );
  return {
    quietMs,
    startMs,
    maxWaitMs,
    ...(named === "frugal" && modelMs !== null && { leadMs: Math.ceil(modelMs) }),
    ...checkAdaptive(`${name}.adaptive`, value.adaptive),
  };
}

function checkAdaptive(name: string, value: Debounce["adaptive"]): Pick<Limits, "adaptive"> {
  if (value === undefined || value === false) return {};
  if (value === true) return { adaptive: { crossed: adaptive.crossed } };
  known(name, value, ["crossed"]);
  const { crossed = adaptive.crossed } = value;
  if (typeof crossed !== "number" || !(crossed > 0 && crossed < 1))
    refuse(`${name}.crossed`, "a share greater than 0 and less than 1", crossed);
  return { adaptive: { crossed } };
}

function backoff(
  name: string,
  value: { firstMs?: number; maxMs?: number } | undefined,
  firstMs: number,
  maxMs: number,
) {
  if (value !== undefined) known(name, value, ["firstMs", "maxMs"]);
  const first = whole(`${name}.firstMs`, value?.firstMs, firstMs, 1, longestMs);
  const most = whole(`${name}.maxMs`, value?.maxMs, Math.max(maxMs, first), 1, longestMs);
  if (first > most)
    throw new LullError("invalid-options", `${name}.firstMs (${first}) is greater than maxMs (${most}).`);
  return { firstMs: first, maxMs: most };
}

function words(name: string, value: unknown): ReadonlySet<string> {
  if (value === undefined) return new Set();
  if (!Array.isArray(value) || value.some((word) => typeof word !== "string" || word.trim() === ""))
    refuse(name, "an array of non-empty strings", value);
  return new Set((value as string[]).map(commandWord));
}

/** How a text is compared with a control word. */
export function commandWord(text: string): string {
  return text.trim().normalize("NFC").toLowerCase();
}

/** The text of a message whose only content is text; undefined otherwise. */
export function onlyText(content: Content): string | undefined {
  return content.parts.length === 1 && content.parts[0]?.type === "text" ? content.parts[0].text : undefined;
}

const optionKeys = [
  "store",
  "respond",
  "deliver",
  "channels",
  "debounce",
  "completeness",
  "whenBusy",
  "lease",
  "limits",
  "commands",
  "backlog",
  "editAfterAnswer",
  "history",
  "fallback",
  "concurrency",
  "backoff",
  "deliverBackoff",
  "scanMs",
  "logger",
  "clock",
  "owner",
] as const;
const limitKeys = [
  "typingMs",
  "typingMaxMs",
  "incompleteMs",
  "maxRestarts",
  "maxFailures",
  "maxPending",
  "maxParts",
  "maxEffects",
  "maxSends",
  "deliverMaxMs",
  "maxHandoffMs",
  "repliesPerHour",
  "maxTextBytes",
  "maxIdBytes",
  "maxAddressBytes",
  "maxEffectBytes",
  "seenMs",
] as const;
const busyWays = ["interrupt", "queue", "steer"] as const;

function oneOf<T extends string>(name: string, value: unknown, ways: readonly T[], fallback: T): T {
  if (value === undefined) return fallback;
  if (!ways.includes(value as T)) refuse(name, `one of ${ways.join(", ")}`, value);
  return value as T;
}

/**
 * Fills in defaults and checks everything.
 * @throws LullError `invalid-options` naming the option, the rule and the bad value.
 */
export function settle(options: LullOptions): Settings {
  known("options", options, optionKeys);
  if (typeof options.store?.exchange !== "function")
    refuse("store", "a store such as memory() or sqlite(db)", options.store);
  if (options.respond !== undefined && typeof options.respond !== "function")
    refuse("respond", "a function", options.respond);
  if (options.completeness !== undefined && typeof options.completeness !== "function")
    refuse("completeness", "a function", options.completeness);
  checkChannels(options);
  if (options.clock !== undefined) able("clock", options.clock, ["now", "monotonic", "sleep", "random", "id"]);
  if (options.logger !== undefined) able("logger", options.logger, ["debug", "info", "warn", "error"]);
  const given = options.limits ?? {};
  known("limits", given, limitKeys);
  if (options.lease !== undefined) known("lease", options.lease, ["leaseMs", "renewMs", "turnTimeoutMs"]);

  const leaseMs = whole("lease.leaseMs", options.lease?.leaseMs, defaults.leaseMs, 100, day);
  const turnTimeoutMs = whole("lease.turnTimeoutMs", options.lease?.turnTimeoutMs, defaults.turnTimeoutMs, 100, day);
  // No lease outlives the time an attempt has, and renewals are what grants it more while it waits for quiet.
  const shortest = leaseMs <= turnTimeoutMs ? "leaseMs" : "turnTimeoutMs";
  const shortestMs = Math.min(leaseMs, turnTimeoutMs);
  const renewMs = whole("lease.renewMs", options.lease?.renewMs, Math.floor(shortestMs / 3), 1, day);
  // Kubernetes' leader election keeps the same order (renew deadline well below the lease): a renewal
  // that starts too late cannot be repeated once before others may take over.
  if (renewMs * 2 > shortestMs)
    throw new LullError(
      "invalid-options",
      `lease.renewMs (${renewMs}) is more than half of ${shortest} (${shortestMs}): one lost renewal would lose the lease. Use a third.`,
    );

  const limit = (key: (typeof limitKeys)[number], least: number, most: number) =>
    whole(`limits.${key}`, given[key], defaults[key], least, most);
  const retry = backoff("backoff", options.backoff, 1_000, 60_000);
  const redeliver = backoff("deliverBackoff", options.deliverBackoff, 1_000, 300_000);
  const base = {
    typingMs: limit("typingMs", 1, day),
    typingMaxMs: limit("typingMaxMs", 1, day),
    incompleteMs: limit("incompleteMs", 1, day),
    leaseMs,
    turnTimeoutMs,
    maxRestarts: limit("maxRestarts", 0, 1_000),
    maxFailures: limit("maxFailures", 1, 1_000),
    maxPending: limit("maxPending", 1, 100_000),
    maxParts: limit("maxParts", 1, 1_000),
    maxEffects: limit("maxEffects", 0, 1_000),
    maxSends: limit("maxSends", 0, 1_000),
    deliverMaxMs: limit("deliverMaxMs", 1, longestMs),
    maxHandoffMs: limit("maxHandoffMs", 1, longestMs),
    repliesPerHour: limit("repliesPerHour", 1, 1_000_000),
    backoffFirstMs: retry.firstMs,
    backoffMaxMs: retry.maxMs,
    deliverBackoffFirstMs: redeliver.firstMs,
    deliverBackoffMaxMs: redeliver.maxMs,
  };

  const debounce = options.debounce ?? "balanced";
  const frugal = typeof debounce === "object" && debounce.startMs === "frugal";
  const fixed = typeof debounce === "function" ? null : { ...base, ...checkDebounce(debounce) };
  const limitsOf = (conversation: ConversationId, modelMs: number | null = null): Limits => {
    if (fixed !== null && (!frugal || modelMs === null)) return fixed;
    if (typeof debounce !== "function") return { ...base, ...checkDebounce(debounce, "debounce", modelMs) };
    return { ...base, ...checkDebounce(debounce(conversation), "debounce(…)", modelMs) };
  };

  const busy = options.whenBusy;
  if (typeof busy !== "function") oneOf("whenBusy", busy, busyWays, "interrupt");
  const whenBusyOf = (conversation: ConversationId): WhenBusy =>
    oneOf("whenBusy", typeof busy === "function" ? busy(conversation) : busy, busyWays, "interrupt");

  if (options.commands !== undefined) known("commands", options.commands, ["stop", "reset"]);
  if (options.backlog !== undefined) known("backlog", options.backlog, ["maxAgeMs", "then"]);
  if (options.history !== undefined) known("history", options.history, ["keepMs"]);
  const fallback = options.fallback;
  if (fallback !== undefined && typeof fallback !== "function" && (typeof fallback !== "string" || fallback === ""))
    refuse("fallback", "a non-empty string or a function", fallback);
  if (options.owner !== undefined && (typeof options.owner !== "string" || options.owner === ""))
    refuse("owner", "a non-empty string", options.owner);

  const stop = words("commands.stop", options.commands?.stop);
  const reset = words("commands.reset", options.commands?.reset);
  for (const word of stop)
    if (reset.has(word))
      throw new LullError(
        "invalid-options",
        `commands.stop and commands.reset share the word ${JSON.stringify(word)}: it can only mean one of them.`,
      );

  return {
    limits: fixed ?? { ...base, ...checkDebounce("balanced") },
    maxTextBytes: limit("maxTextBytes", 1, 64 * 1_048_576),
    maxIdBytes: limit("maxIdBytes", 1, 4_096),
    maxAddressBytes: limit("maxAddressBytes", 0, 1_048_576),
    maxEffectBytes: limit("maxEffectBytes", 1, 16 * 1_048_576),
    seenMs: limit("seenMs", 1, longestMs),
    renewMs,
    scanMs: whole("scanMs", options.scanMs, defaults.scanMs, 1, day),
    concurrency: whole("concurrency", options.concurrency, defaults.concurrency, 1, 100_000),
    commands: { stop, reset },
    backlog:
      options.backlog === undefined
        ? null
        : {
            maxAgeMs: whole("backlog.maxAgeMs", options.backlog.maxAgeMs, day, 0, longestMs),
            // biome-ignore lint/suspicious/noThenProperty: the name authors write; a string, so nobody can await it
            then: oneOf("backlog.then", options.backlog.then, ["answer", "context"], "answer"),
          },
    editAfterAnswer: oneOf("editAfterAnswer", options.editAfterAnswer, ["ignore", "new-input"], "ignore"),
    keepMs:
      options.history?.keepMs === undefined ? null : whole("history.keepMs", options.history.keepMs, day, 1, longestMs),
    limitsOf,
    whenBusyOf,
    fallbackOf: (conversation, error) =>
      fallback === undefined ? null : typeof fallback === "function" ? fallback(conversation, error) : fallback,
  };
}
