/**
 * What the API answers, as types: the library's own with instants as RFC 3339 (`atMs` → `at`), as the server writes them.
 *
 * @module
 */
import type { ConversationView, LogEntry, LullEvent } from "lull";

type Plain<K> = K extends `${infer Head}AtMs` ? `${Head}At` : K extends keyof Irregular ? Irregular[K] : K;
interface Irregular {
  atMs: "at";
  untilMs: "untilAt";
  sinceMs: "sinceAt";
  deadlineMs: "deadlineAt";
  holdUntilMs: "holdUntilAt";
  incompleteUntilMs: "incompleteUntilAt";
}
type Instant<V> = null extends V ? string | null : undefined extends V ? string | undefined : string;
/** Distributes over unions. Fields whose content belongs to others stay as they are. */
type Shown<T> = T extends object
  ? {
      [K in keyof T as Plain<K>]: Plain<K> extends K ? (K extends Deep ? Shown<T[K]> : T[K]) : Instant<T[K]>;
    }
  : T;
type Deep = "entry" | "record" | "window" | "newer" | "lease" | "outbox" | "handoff" | "parked" | "draft";

/** A log entry as the API shows it. */
export type Entry = Shown<LogEntry>;
export type EntryOf<K extends Entry["kind"]> = Extract<Entry, { kind: K }>;
/** A conversation as the API shows it. */
export type Conversation = Omit<Shown<Omit<ConversationView, "record">>, "outbox"> & {
  outbox: {
    replyId: string;
    from: number;
    to: number;
    parts: { state: string; tries: number; nextAt: string }[];
  } | null;
  record: Shown<ConversationView["record"]>;
};
/** An event of a stream: the log's, with `entry`, or a live one. */
export type Event = Shown<LullEvent>;

/** A row of the list: without its record, with when its timer rings. */
export type Listed = Omit<Conversation, "record"> & { openedAt?: string | null; dueAt?: string | null };

export interface ListPage {
  conversations: Listed[];
  /** Where to go on; null at the end. */
  next: string | null;
  /** How many were looked at, where a filter has no index. */
  scanned?: number;
}

/** Who is signed in. */
export interface Session {
  name: string | null;
  roles: string[];
  bot: string | null;
  /** False: texts come as their lengths. */
  texts: boolean;
}

type Pair = [p50: number, p95: number] | null;

/** What one process did in one stretch of time. Durations in milliseconds. */
export interface HealthBucket {
  at: string;
  answers: number;
  silent: number;
  superseded: number;
  failed: number;
  expired: number;
  crossed: number;
  duplicates: number;
  parked: number;
  tokens: number;
  wasteTokens: number;
  wait: { window: Pair; queue: Pair; model: Pair; delivery: Pair; total: Pair };
  dueLagMs: number | null;
}

export interface Health {
  owner: string;
  sinceAt: string;
  bucketSeconds: number;
  /** Of the whole store. */
  states: Record<string, number | null>;
  stats: Record<string, unknown>;
  /** Of this process. */
  buckets: HealthBucket[];
}
