// What is measured. Each system takes messages in, waits for 500 ms of quiet and hands a burst to a handler. Another one
// is another entry here.
/**
 * @typedef {object} World
 * @property {string} url     of the private server; empty where there is none
 * @property {string} folder  its own, empty
 * @property {number} windowMs
 * @property {(conversation: string, ids: string[]) => Promise<void>} handler  the model: 50 ms; a reply is out when it is done
 *
 * @typedef {object} Running
 * @property {(conversation: string, id: string) => Promise<unknown>} accept  resolves when the message is stored
 * @property {() => Promise<void>} stop
 * @property {() => Record<string, number>} [counts]  store calls, where only the client can count them
 *
 * @typedef {object} System
 * @property {string} name
 * @property {"none" | "redis" | "postgres"} server
 * @property {string} file     beside this one
 * @property {"lull" | "peer" | "floor"} kind
 * @property {string} about
 * @property {number} size     conversations at full speed
 * @property {boolean} all     gives the handler every message of a burst
 */

/** @type {readonly System[]} */
export const systems = [
  { name: "lull memory", server: "none", file: "lull", kind: "lull", about: "memory()", size: 2_000, all: true },
  {
    name: "lull sqlite",
    server: "none",
    file: "lull",
    kind: "lull",
    about: "sqlite(db), every acknowledgement synced",
    size: 2_000,
    all: true,
  },
  {
    name: "lull redis",
    server: "redis",
    file: "lull",
    kind: "lull",
    about: "redis(client), ioredis",
    size: 2_000,
    all: true,
  },
  {
    name: "lull postgres",
    server: "postgres",
    file: "lull",
    kind: "lull",
    about: "postgres(pool), 20 connections",
    size: 800,
    all: true,
  },
  {
    name: "floor sqlite",
    server: "none",
    file: "floors",
    kind: "floor",
    about: "version, message and timer rows; one synced commit per turn of the event loop",
    size: 2_000,
    all: true,
  },
  {
    name: "floor redis",
    server: "redis",
    file: "floors",
    kind: "floor",
    about: "one EVALSHA per message: INCR, RPUSH, ZADD",
    size: 2_000,
    all: true,
  },
  {
    name: "floor postgres",
    server: "postgres",
    file: "floors",
    kind: "floor",
    about: "one statement per message: version, message and timer rows",
    size: 800,
    all: true,
  },
  {
    name: "bullmq",
    server: "redis",
    file: "bullmq",
    kind: "peer",
    about: "deduplication { extend, replace }, delay 500",
    size: 2_000,
    all: false,
  },
  {
    name: "bullmq inbox",
    server: "redis",
    file: "bullmq",
    kind: "peer",
    about: "the same, with a list of one's own for the messages",
    size: 2_000,
    all: true,
  },
  {
    name: "chat-sdk burst",
    server: "redis",
    file: "chat",
    kind: "peer",
    about: "concurrency burst; a fixed window from the first message",
    size: 2_000,
    all: true,
  },
  {
    name: "pg-boss",
    server: "postgres",
    file: "pg-boss",
    kind: "peer",
    about: "upsert with singletonKey and startAfter; polls every 0.5 s",
    size: 400,
    all: false,
  },
  {
    name: "graphile-worker",
    server: "postgres",
    file: "graphile",
    kind: "peer",
    about: "jobKey replace, array payload; polls every 100 ms",
    size: 400,
    all: true,
  },
  { name: "dbos", server: "postgres", file: "dbos", kind: "peer", about: "Debouncer", size: 300, all: false },
];
