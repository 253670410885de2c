/**
 * The reference store: everything in this process's memory, gone with it. For tests, demos and as the answer
 * to "what should a store do?".
 *
 * @module
 */
import { systemClock } from "../../clock.ts";
import { LullError } from "../../errors.ts";
import type { ConversationId, ConversationRecord, Json, LogEntry, Revision, Seq } from "../../model.ts";
import { type DueTimer, maxSkewMs, type Pause, type Store, type Write } from "../../ports.ts";
import { decodeEntry, decodeRecord, encodeEntry, encodeRecord } from "../codec.ts";
import {
  checkContinues,
  checkId,
  checkList,
  checkPause,
  checkRewrite,
  checkWrite,
  firstSeq,
  logBounds,
  notInLog,
  pageSize,
} from "../write.ts";
import { compareUtf8, Sorted } from "./sorted.ts";

export interface MemoryOptions {
  /** The store's clock, milliseconds since 1970. Default: the machine's. */
  now?: () => number;
  /** Default "memory". */
  name?: string;
}

/** One conversation. Texts, not objects: nothing a caller holds is shared with the store. */
interface Kept {
  revision: Revision;
  record: string;
  seq: Seq;
  parked: boolean;
  handedOff: boolean;
  timer: DueTimer | null;
  /** Entry `seq` is at index `seq - logFrom`. */
  logFrom: Seq;
  log: { atMs: number; text: string }[];
  seen: Map<string, { expiresAtMs: number; value: string }>;
}

/** A store for one process. Survives nothing. */
export function memory(options: MemoryOptions = {}): Store {
  const now = options.now ?? systemClock().now;
  const kept = new Map<ConversationId, Kept>();
  const ids = new Sorted<ConversationId>(compareUtf8);
  const timers = new Sorted<DueTimer>((a, b) => a.wakeAtMs - b.wakeAtMs || compareUtf8(a.id, b.id));
  const listeners = new Set<(id: ConversationId, revision: Revision) => void>();
  let closed = false;
  let paused: string | null = null;

  const open = () => {
    if (closed) throw new LullError("store-closed", "The store was closed.");
  };

  const recordOf = (id: ConversationId): ConversationRecord | null => {
    const conversation = kept.get(id);
    return conversation ? decodeRecord(id, conversation.record) : null;
  };

  const entriesOf = (id: ConversationId, from: Seq, before = Number.POSITIVE_INFINITY): LogEntry[] => {
    const conversation = kept.get(id);
    if (!conversation) return [];
    const first = Math.max(from, conversation.logFrom);
    return conversation.log
      .slice(first - conversation.logFrom, Math.max(0, before - conversation.logFrom))
      .map(({ text }, index) => decodeEntry(id, first + index, text));
  };

  const setTimer = (id: ConversationId, conversation: Kept, wakeAtMs: number | null) => {
    if (conversation.timer) timers.delete(conversation.timer);
    conversation.timer = wakeAtMs === null ? null : { id, wakeAtMs, revision: conversation.revision };
    if (conversation.timer) timers.add(conversation.timer);
  };

  const write = ({ id, next, wakeAtMs, append = [], seen = [] }: Write) => {
    const before = kept.get(id);
    const conversation: Kept = {
      revision: next.revision,
      record: encodeRecord(next),
      seq: next.seq,
      parked: next.parked !== null,
      handedOff: next.handoff !== null,
      timer: before?.timer ?? null,
      logFrom: before?.logFrom ?? 1,
      log: before?.log ?? [],
      seen: before?.seen ?? new Map(),
    };
    for (const entry of append) conversation.log.push({ atMs: entry.atMs, text: encodeEntry(entry) });
    for (const { key, expiresAtMs, value } of seen) {
      conversation.seen.set(key, { expiresAtMs, value: JSON.stringify(value) });
    }
    setTimer(id, conversation, wakeAtMs);
    kept.set(id, conversation);
    if (!before) ids.add(id);
  };

  // Every method below does its whole work before its first `await`, which makes it atomic.
  return {
    name: options.name ?? "memory",
    durability: { class: "memory", note: "Kept in this process's memory; gone when it ends." },

    async load(id, { logFrom } = {}) {
      open();
      checkId(id);
      const log = logFrom === undefined ? [] : entriesOf(id, logFrom);
      return { record: recordOf(id), log, nowMs: now() };
    },

    async exchange(wanted) {
      open();
      checkWrite(wanted);
      const { id, expected, seen = [], logFrom } = wanted;
      const nowMs = now();
      if (Math.abs(wanted.nowMs - nowMs) > maxSkewMs) return { kind: "skewed", nowMs };

      const conversation = kept.get(id);
      const repeated: { key: string; value: Json }[] = [];
      for (const { key } of seen) {
        const stored = conversation?.seen.get(key);
        if (stored && stored.expiresAtMs > nowMs) repeated.push({ key, value: JSON.parse(stored.value) });
      }
      if (repeated.length > 0) return { kind: "duplicate", record: recordOf(id), seen: repeated, nowMs };
      if ((conversation?.revision ?? null) !== expected) {
        return { kind: "conflict", record: recordOf(id), nowMs };
      }
      checkContinues(id, firstSeq(wanted), conversation?.seq ?? 0);

      write(wanted);
      const { revision } = wanted.next;
      for (const listener of listeners) queueMicrotask(() => listener(id, revision));
      return { kind: "stored", log: logFrom === undefined ? [] : entriesOf(id, logFrom), nowMs };
    },

    async due(dueMs, limit) {
      open();
      const most = pageSize(limit, limit);
      const due: DueTimer[] = [];
      const start = timers.first();
      for (const timer of start ? timers.from(start) : []) {
        if (timer.wakeAtMs > dueMs || due.length === most) break;
        due.push({ ...timer });
      }
      return { timers: due, paused: paused === null ? null : (JSON.parse(paused) as Pause), nowMs: now() };
    },

    async log(id, page = {}) {
      open();
      checkId(id);
      const { from, before, limit, newest } = logBounds(page);
      const end = Math.min(before ?? Number.POSITIVE_INFINITY, (kept.get(id)?.seq ?? 0) + 1);
      const entries = newest
        ? entriesOf(id, Math.max(from, end - limit), end)
        : entriesOf(id, from, Math.min(end, Math.max(from, kept.get(id)?.logFrom ?? 1) + limit));
      return { entries, nowMs: now() };
    },

    async list(page = {}, filter = {}) {
      open();
      checkList(page, filter);
      const limit = pageSize(page.limit, 50);
      const { after = "" } = page;
      const { prefix = "" } = filter;
      const conversations: ConversationRecord[] = [];
      for (const id of ids.from(compareUtf8(after, prefix) > 0 ? after : prefix)) {
        if (id === after) continue;
        if (!id.startsWith(prefix)) break;
        const conversation = kept.get(id) as Kept;
        if ((filter.active ?? conversation.timer !== null) !== (conversation.timer !== null)) continue;
        if ((filter.parked ?? conversation.parked) !== conversation.parked) continue;
        if ((filter.handedOff ?? conversation.handedOff) !== conversation.handedOff) continue;
        if (conversations.length === limit) {
          return { conversations, next: conversations.at(-1)?.id ?? null, nowMs: now() };
        }
        conversations.push(decodeRecord(id, conversation.record));
      }
      return { conversations, next: null, nowMs: now() };
    },

    async stats() {
      open();
      const nowMs = now();
      let due = 0;
      const first = timers.first();
      for (const { wakeAtMs } of first ? timers.from(first) : []) {
        if (wakeAtMs > nowMs) break;
        due++;
      }
      let parked = 0;
      let handedOff = 0;
      for (const conversation of kept.values()) {
        if (conversation.parked) parked++;
        if (conversation.handedOff) handedOff++;
      }
      return {
        conversations: kept.size,
        active: timers.size,
        due,
        oldestDueAtMs: first?.wakeAtMs ?? null,
        parked,
        handedOff,
        nowMs,
      };
    },

    async repair(page, wakeAt) {
      open();
      checkList(page, {});
      const limit = pageSize(page.limit, 50);
      const { after = "" } = page;
      const repaired: ConversationId[] = [];
      let visited = 0;
      let last: ConversationId | null = null;
      for (const id of ids.from(after)) {
        if (id === after) continue;
        if (visited++ === limit) return { repaired, next: last };
        last = id;
        const conversation = kept.get(id) as Kept;
        const wakeAtMs = wakeAt(decodeRecord(id, conversation.record));
        if (wakeAtMs === (conversation.timer?.wakeAtMs ?? null)) continue;
        setTimer(id, conversation, wakeAtMs);
        repaired.push(id);
      }
      return { repaired, next: null };
    },

    async erase(id) {
      open();
      checkId(id);
      const conversation = kept.get(id);
      if (!conversation) return false;
      setTimer(id, conversation, null);
      ids.delete(id);
      return kept.delete(id);
    },

    async rewrite(id, expected, entries) {
      open();
      checkRewrite(id, entries);
      const conversation = kept.get(id);
      if (conversation?.revision !== expected) return false;
      const { log, logFrom } = conversation;
      for (const { seq } of entries) if (log[seq - logFrom] === undefined) throw notInLog(id, seq);
      for (const entry of entries) log[entry.seq - logFrom] = { atMs: entry.atMs, text: encodeEntry(entry) };
      return true;
    },

    async setPause(pause) {
      open();
      checkPause(pause);
      paused = pause === null ? null : JSON.stringify(pause);
      return { nowMs: now() };
    },

    async prune({ seenBeforeMs, logBeforeMs, keepFrom, limit }) {
      open();
      const most = pageSize(limit, 1000, Number.POSITIVE_INFINITY);
      const expiredMs = Math.min(seenBeforeMs, now());
      const pruned = { seen: 0, entries: 0 };
      for (const [id, conversation] of kept) {
        for (const [key, { expiresAtMs }] of conversation.seen) {
          if (expiresAtMs > expiredMs || pruned.seen === most) continue;
          conversation.seen.delete(key);
          pruned.seen++;
        }
        if (logBeforeMs === undefined || (conversation.log[0]?.atMs ?? logBeforeMs) >= logBeforeMs) continue;
        // Only ever a beginning of the log: what is left has no gaps.
        const young = conversation.log.findIndex(({ atMs }) => atMs >= logBeforeMs);
        const old = young === -1 ? conversation.log.length : young;
        const unneeded = keepFrom(decodeRecord(id, conversation.record)) - conversation.logFrom;
        const count = Math.max(0, Math.min(old, unneeded, most - pruned.entries));
        conversation.log.splice(0, count);
        conversation.logFrom += count;
        pruned.entries += count;
      }
      return pruned;
    },

    async close() {
      closed = true;
      listeners.clear();
    },

    wake(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
