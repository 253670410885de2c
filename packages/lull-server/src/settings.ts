/**
 * Every setting of the server, in one table. Flags, environment variables, keys of the configuration file,
 * `--help` and the documentation are all read from here, so none of them can lack one.
 *
 * A setting `fooBarMs` is `--foo-bar-ms`, `LULL_FOO_BAR_MS` and the key `fooBarMs`. Settings marked `file`
 * may also come from a file named by `LULL_…_FILE` (mounted secrets, long texts).
 *
 * @module
 */
import { defaults } from "lull";

export type SettingKind = "integer" | "string" | "choice" | "list";

export interface SettingSpec {
  kind: SettingKind;
  /** Headline in `--help`. */
  group: "Server" | "Timing" | "Answering" | "Delivery" | "Limits" | "Web chat";
  doc: string;
  /** The value when nobody sets it; undefined: unset. */
  default?: number | string | readonly string[];
  /** Shown instead of the default when the default is decided elsewhere. */
  defaultDoc?: string;
  least?: number;
  most?: number;
  /** Of a choice; of an integer: words that may stand in its place. */
  choices?: readonly string[];
  /** Never printed; may come from a file. */
  secret?: true;
  /** May come from a file named by `LULL_…_FILE`. */
  file?: true;
  /** Other environment variables that are read when ours is unset. */
  also?: readonly string[];
  /** The setting's name in earlier releases: its flag, variable and key still work, with a warning. */
  formerly?: string;
}

const day = 86_400_000;
/** The library's own upper bound of a duration: ten years. */
const longestMs = 3_650 * day;

/** A duration with a default. */
function ms(group: SettingSpec["group"], value: number, doc: string, least = 0, most = longestMs) {
  return { kind: "integer" as const, group, doc, least, most, default: value };
}

/** A duration that is unset unless given, or whose default the engine decides. */
function msOrUnset(group: SettingSpec["group"], doc: string, least = 0, most = longestMs) {
  return { kind: "integer" as const, group, doc, least, most };
}

export const settings = {
  port: {
    kind: "integer",
    group: "Server",
    default: 8080,
    least: 0,
    most: 65_535,
    also: ["PORT"],
    doc: "Port; 0 takes a free one",
  },
  host: {
    kind: "string",
    group: "Server",
    default: "127.0.0.1",
    doc: "Address to listen on; beyond loopback needs apiKeys",
  },
  adminPort: {
    kind: "integer",
    group: "Server",
    least: 0,
    most: 65_535,
    defaultDoc: "none: everything is served on port",
    doc: "A second port for metrics, health and whatever needs the role operate; then `port` serves none of those but health",
  },
  adminHost: {
    kind: "string",
    group: "Server",
    default: "127.0.0.1",
    doc: "Address of adminPort; beyond loopback needs apiKeys",
  },
  store: {
    kind: "string",
    group: "Server",
    default: "sqlite:./data/lull.db",
    file: true,
    doc: "Where conversations live: sqlite:PATH, postgres://HOST/DATABASE, redis://HOST (also rediss:, redis+cluster:, redis+sentinel:), or memory: (lost at exit)",
  },
  storeSchema: {
    kind: "string",
    group: "Server",
    default: "lull",
    doc: "Postgres: the schema of lull's tables; Redis: the prefix of its keys",
  },
  storeConnections: {
    kind: "integer",
    group: "Server",
    default: 10,
    least: 1,
    most: 1_000,
    doc: "Connections of this process, at most (Postgres; Redis: those that wait for replicas, to each node)",
  },
  storeTimeoutMs: ms("Server", 10_000, "Time limit of every call (Postgres, Redis)", 100, 600_000),
  storeHints: {
    kind: "choice",
    group: "Server",
    default: "off",
    choices: ["on", "off"],
    doc: "Processes tell each other of news (Postgres: LISTEN/NOTIFY, not through a pooler; Redis: PUBLISH)",
  },
  storeShards: {
    kind: "integer",
    group: "Server",
    default: 64,
    least: 1,
    most: 4_096,
    doc: "Redis: parts that the keys are divided into; fixed for the life of a store",
  },
  storeReplicas: {
    kind: "integer",
    group: "Server",
    default: 0,
    least: 0,
    most: 10,
    doc: "Redis: replicas that must have a message before it is acknowledged",
  },
  storeEviction: {
    kind: "choice",
    group: "Server",
    default: "refuse",
    choices: ["refuse", "allow"],
    doc: "Redis: what to do with a server whose maxmemory-policy is not noeviction",
  },
  storeAfterLoss: {
    kind: "choice",
    group: "Server",
    default: "auto",
    choices: ["auto", "refuse", "begin-anew"],
    doc: "Redis: when it came back without its data; auto: begin anew only if it keeps nothing on disk",
  },
  channels: {
    kind: "list",
    group: "Server",
    defaultDoc: "those whose variables are set",
    doc: "Chat platforms to listen on: telegram, slack, whatsapp, discord (each by its own variables, see the documentation), or none",
  },
  apiKeys: {
    kind: "list",
    group: "Server",
    secret: true,
    doc: "name:role:secret, …; roles: send, read (both: send+read), operate (everything), inspect (reads, without texts); a name twice: two secrets, while rotating",
  },
  maxBodyBytes: {
    kind: "integer",
    group: "Server",
    default: 2_097_152,
    least: 1_024,
    most: 268_435_456,
    doc: "Largest request body",
  },
  maxHeaderBytes: {
    kind: "integer",
    group: "Server",
    default: 16_384,
    least: 1_024,
    most: 1_048_576,
    doc: "Largest request line and headers, together",
  },
  requestTimeoutMs: ms("Server", 30_000, "Time for a client to send its whole request", 100, day),
  maxConnections: {
    kind: "integer",
    group: "Server",
    default: 10_000,
    least: 1,
    most: 1_000_000,
    doc: "Connections open at once; further ones are closed",
  },
  maxRequestsPerMinute: {
    kind: "integer",
    group: "Server",
    default: 120_000,
    least: 1,
    most: 100_000_000,
    doc: "Requests of one key (without keys: of one address) in a minute, to this process",
  },
  maxRequestsAtOnce: {
    kind: "integer",
    group: "Server",
    default: 2_000,
    least: 1,
    most: 1_000_000,
    doc: "Requests of one key (without keys: of one address) under way at once; streams and ?wait= count",
  },
  maxStreams: {
    kind: "integer",
    group: "Server",
    default: 1_000,
    least: 1,
    most: 1_000_000,
    doc: "Event streams open at once",
  },
  heartbeatMs: ms("Server", 15_000, "Comment sent on idle event streams, so that proxies keep them open", 100, day),
  stopTimeoutMs: {
    ...ms(
      "Server",
      10_000,
      "SIGTERM to exit, at most: running answers may finish, then their leases are handed back",
      0,
      day,
    ),
    formerly: "shutdownMs",
  },
  startPaused: {
    kind: "choice",
    group: "Server",
    default: "off",
    choices: ["on", "off"],
    doc: "on: pauses the store before anything is claimed, for every process on it, until `lull unpause`",
  },
  owner: { kind: "string", group: "Server", defaultDoc: "a new id", doc: "Name of this process in leases" },
  logLevel: {
    kind: "choice",
    group: "Server",
    default: "info",
    choices: ["debug", "info", "warn", "error", "silent"],
    doc: "JSON lines on stderr; texts of users are never logged",
  },

  quietMs: ms("Timing", defaults.quietMs, "Quiet after which an answer may go out"),
  startMs: {
    ...msOrUnset(
      "Timing",
      "Quiet after which the model may start; at most quietMs. eager: 300; frugal: as late as the model's own time allows",
    ),
    choices: ["eager", "frugal"],
    defaultDoc: `${defaults.startMs}, or quietMs if that is less`,
  },
  maxWaitMs: {
    ...msOrUnset("Timing", "Hard cap on waiting, from the first unanswered message"),
    defaultDoc: `${defaults.maxWaitMs}, or quietMs if that is more`,
  },
  adaptive: {
    kind: "choice",
    group: "Timing",
    default: "off",
    choices: ["on", "off"],
    doc: "on: each user's quiet is learnt, from 0.5 to 1.7 times quietMs, by whether they were still typing when an answer came",
  },
  typingMs: ms("Timing", defaults.typingMs, "How long one typing event holds the window", 1, day),
  incompleteMs: ms("Timing", defaults.incompleteMs, "How long an incomplete message holds the window", 1, day),
  leaseMs: ms("Timing", defaults.leaseMs, "Exclusive right to answer; a crash delays an answer by this much", 100, day),
  renewMs: {
    ...msOrUnset("Timing", "How often the lease is renewed; at most half of leaseMs", 1, day),
    defaultDoc: "a third of leaseMs",
  },
  turnTimeoutMs: ms("Timing", defaults.turnTimeoutMs, "Time limit of one attempt to answer", 1, day),
  scanMs: ms("Timing", defaults.scanMs, "How often the store is searched for work of processes that died", 1, day),

  respond: {
    kind: "string",
    group: "Answering",
    default: "demo",
    doc: "Who answers: demo, openai, a webhook (https:// or http://), or none (only receive)",
  },
  whenBusy: {
    kind: "choice",
    group: "Answering",
    default: "interrupt",
    choices: ["interrupt", "queue", "steer"],
    doc: "What a newer message does to an answer in the making",
  },
  demoMs: ms(
    "Answering",
    2_000,
    "respond=demo: how long it pretends to think; a message may ask for another time (metadata.thinkMs)",
    0,
    day,
  ),
  modelUrl: {
    kind: "string",
    group: "Answering",
    also: ["OPENAI_BASE_URL"],
    default: "https://api.openai.com/v1",
    doc: "respond=openai: any OpenAI-compatible endpoint",
  },
  model: { kind: "string", group: "Answering", doc: "respond=openai: the model's name; required" },
  modelKey: {
    kind: "string",
    group: "Answering",
    secret: true,
    also: ["OPENAI_API_KEY"],
    doc: "respond=openai: the key",
  },
  system: { kind: "string", group: "Answering", file: true, doc: "respond=openai: the system prompt" },
  historyEntries: {
    kind: "integer",
    group: "Answering",
    default: 200,
    least: 0,
    most: 1_000,
    doc: "Log entries before the turn that the answerer is given",
  },
  fallback: {
    kind: "string",
    group: "Answering",
    defaultDoc: "nothing is sent",
    doc: "Text sent when a turn is given up",
  },
  stopWords: { kind: "list", group: "Answering", doc: "Messages that stop the running answer, at arrival" },
  resetWords: { kind: "list", group: "Answering", doc: "Messages that forget the conversation so far, at arrival" },
  editAfterAnswer: {
    kind: "choice",
    group: "Answering",
    default: "ignore",
    choices: ["ignore", "new-input"],
    doc: "An edit of a message that was answered already",
  },
  backlogMaxAgeMs: msOrUnset("Answering", "Messages older than this (by sentAt) at arrival follow backlogThen"),
  backlogThen: {
    kind: "choice",
    group: "Answering",
    default: "context",
    choices: ["answer", "context"],
    doc: "See backlogMaxAgeMs",
  },
  backoffFirstMs: ms("Answering", 1_000, "Wait after a failed attempt; doubles each time", 1),
  backoffMaxMs: ms("Answering", 60_000, "Longest such wait", 1),

  deliver: {
    kind: "string",
    group: "Delivery",
    default: "events",
    doc: "events (clients read them), or a webhook (https:// or http://) called for each part",
  },
  deliverMaxMs: ms("Delivery", defaults.deliverMaxMs, "A part older than this is not tried any more", 1),
  deliverTimeoutMs: ms("Delivery", 30_000, "Time limit of one delivery request", 1, day),
  deliverBackoffFirstMs: ms("Delivery", 1_000, "Wait after a refused delivery; doubles each time", 1),
  deliverBackoffMaxMs: ms("Delivery", 300_000, "Longest such wait", 1),
  webhookSecret: {
    kind: "list",
    group: "Delivery",
    secret: true,
    doc: "Signs webhooks (Standard Webhooks): whsec_…; `lull secret` makes one; two, separated by a comma, while rotating",
  },
  webhookAuthorization: {
    kind: "string",
    group: "Delivery",
    secret: true,
    doc: "Authorization header sent to webhooks, for receivers that check one",
  },

  maxPending: {
    kind: "integer",
    group: "Limits",
    default: defaults.maxPending,
    least: 1,
    most: 100_000,
    doc: "Unanswered messages a conversation holds",
  },
  maxTextBytes: {
    kind: "integer",
    group: "Limits",
    default: defaults.maxTextBytes,
    least: 1,
    most: 67_108_864,
    doc: "Largest message",
  },
  maxParts: {
    kind: "integer",
    group: "Limits",
    default: defaults.maxParts,
    least: 1,
    most: 1_000,
    doc: "Parts of one message or reply",
  },
  maxSends: {
    kind: "integer",
    group: "Limits",
    default: defaults.maxSends,
    least: 0,
    most: 1_000,
    doc: "The bot's own messages that wait",
  },
  maxRestarts: {
    kind: "integer",
    group: "Limits",
    default: defaults.maxRestarts,
    least: 0,
    most: 1_000,
    doc: "Discarded answers after which the model waits for quiet",
  },
  maxFailures: {
    kind: "integer",
    group: "Limits",
    default: defaults.maxFailures,
    least: 1,
    most: 1_000,
    doc: "Failed attempts after which a turn is parked",
  },
  maxHandoffMs: ms("Limits", defaults.maxHandoffMs, "Longest hand-off to a human", 1),
  repliesPerHour: {
    kind: "integer",
    group: "Limits",
    default: defaults.repliesPerHour,
    least: 1,
    most: 1_000_000,
    doc: "Answers per conversation and hour; more wait",
  },
  seenMs: ms("Limits", defaults.seenMs, "How long message ids are remembered", 1),
  historyKeepMs: {
    ...msOrUnset("Limits", "Answered conversations' logs are kept this long", 1),
    defaultDoc: "for ever, or historyDays",
  },
  historyDays: {
    kind: "integer",
    group: "Limits",
    least: 1,
    most: 3_650,
    defaultDoc: "for ever",
    doc: "The same in days; set one of the two",
  },
  concurrency: {
    kind: "integer",
    group: "Limits",
    default: defaults.concurrency,
    least: 1,
    most: 100_000,
    doc: "Conversations worked on at once",
  },

  chatSecret: {
    kind: "list",
    group: "Web chat",
    secret: true,
    defaultDoc: "no web chat",
    doc: "Switches the web chat on: the secret that your site signs visitors' tokens with (HS256), 32 bytes or more; two while rotating, the new one first",
  },
  chatOrigins: {
    kind: "list",
    group: "Web chat",
    defaultDoc: "the server's own pages only",
    doc: "Sites whose pages may use the web chat, for example https://www.example.com",
  },
  chatAnonymous: {
    kind: "choice",
    group: "Web chat",
    default: "off",
    choices: ["on", "off"],
    doc: "on: visitors without a token of your site get one of the server's own",
  },
  chatTokenMs: ms("Web chat", 3_600_000, "Longest life of a visitor's token, and that of the server's own", 1_000, day),
  chatRenewMs: ms("Web chat", 30 * day, "How long after its end an anonymous visitor's token can still be renewed"),
  chatVisitorsPerHour: {
    kind: "integer",
    group: "Web chat",
    default: 30,
    least: 1,
    most: 1_000_000,
    doc: "Anonymous visitors that one address may become in an hour, at this process",
  },
  chatMessagesPerMinute: {
    kind: "integer",
    group: "Web chat",
    default: 30,
    least: 1,
    most: 1_000_000,
    doc: "Messages of one visitor in a minute, to this process",
  },
  chatRequestsPerMinute: {
    kind: "integer",
    group: "Web chat",
    default: 240,
    least: 1,
    most: 1_000_000,
    doc: "Requests of one visitor in a minute, to this process; typing and reconnecting count",
  },
  chatStreams: {
    kind: "integer",
    group: "Web chat",
    default: 10,
    least: 1,
    most: 1_000,
    doc: "Streams that one visitor may have open at once: tabs and devices",
  },
  chatMaxTextBytes: {
    kind: "integer",
    group: "Web chat",
    default: 8_192,
    least: 1,
    most: 1_048_576,
    doc: "Largest message of a visitor",
  },
  chatAddressHeader: {
    kind: "string",
    group: "Web chat",
    defaultDoc: "none: the connection's address",
    doc: "Header in which your proxy says who asks, for example x-real-ip; only if every request comes through it",
  },
} as const satisfies Record<string, SettingSpec>;

export type SettingName = keyof typeof settings;
export const settingNames = Object.keys(settings) as SettingName[];

type Of<S extends SettingSpec> = S["kind"] extends "integer"
  ? number | (S extends { choices: readonly (infer C)[] } ? C : never)
  : S["kind"] extends "list"
    ? string[]
    : S extends { choices: readonly (infer C)[] }
      ? C
      : string;
type Given<S> = S extends { default: number | string } ? true : false;

/** All settings with their values; those without default may be undefined, lists are empty. */
export type Config = {
  -readonly [K in SettingName]: Given<(typeof settings)[K]> extends true
    ? Of<(typeof settings)[K]>
    : (typeof settings)[K]["kind"] extends "list"
      ? string[]
      : Of<(typeof settings)[K]> | undefined;
} & {
  /** Further bots, by name (the file's key `bots`): each with all settings, its own before the server's. */
  bots?: Record<string, Config> | undefined;
};

/** `fooBarMs` → `foo-bar-ms`. */
export function flagOf(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** `fooBarMs` → `LULL_FOO_BAR_MS`. */
export function variableOf(name: string): string {
  return `LULL_${flagOf(name).replaceAll("-", "_").toUpperCase()}`;
}

export function mayBeFile(spec: SettingSpec): boolean {
  return spec.secret === true || spec.file === true;
}

/** The default as a person reads it. */
export function defaultText(spec: SettingSpec): string {
  if (spec.defaultDoc !== undefined) return spec.defaultDoc;
  if (spec.default === undefined) return "unset";
  return String(spec.default);
}
