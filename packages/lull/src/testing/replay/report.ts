/**
 * A bug report played again: the same messages at the same times, a model that takes as long and fails where it failed,
 * and processes that die where they died. What comes of it now stands beside what came of it then.
 *
 * @module
 */
import { LullError } from "../../errors.ts";
import type { LogEntry, Part } from "../../model.ts";
import { hiddenLength } from "../../redact.ts";
import { type Report, reportSchema } from "../../report.ts";
import { type Replay, type ReplayOptions, replayBurst } from "./index.ts";
import type { BurstStep } from "./script.ts";
import type { BenchRespond } from "./stage.ts";

/** An attempt as the report has it. `outcome`: `answered`, `silent`, how it ended otherwise, or null where that is not told. */
export interface RecordedAttempt {
  tookMs: number;
  outcome: string | null;
  error?: string;
}

export interface ReplayedReport extends Replay {
  /** What the report tells, to compare with. */
  recorded: { attempts: RecordedAttempt[]; replies: number };
}

type Of<K extends LogEntry["kind"]> = Extract<LogEntry, { kind: K }>;

/** A model that is discarded would have taken longer than that: nobody knows how much. */
const moreMs = 1_000;
/** A process that died is followed by another one this soon. */
const rebirthMs = 500;
/** Somebody who types says so this often. */
const typingMs = 3_000;

/**
 * Plays what a report tells (`GET /v1/conversations/{id}/report`, `lull.report()`), as {@link replayBurst} does: as a test
 * that fails until the bug is mended. Texts are as long as they were, and mean nothing. Not in it: what a channel refused,
 * effects, and a pace that was learned before the report begins.
 *
 * @param respond Default: takes as long as the attempt did, and ends as it ended.
 * @param options Before the report's own settings.
 * @throws LullError `invalid-argument` for what is no report
 * @example
 * const { replies, recorded } = await replayReport(JSON.parse(await readFile("report.json", "utf8")));
 * expect(recorded.replies).toBe(2); // what the user saw
 * expect(replies).toHaveLength(1);
 */
export async function replayReport(
  report: Report,
  respond?: BenchRespond,
  options: ReplayOptions = {},
): Promise<ReplayedReport> {
  if (report?.schema !== reportSchema)
    throw new LullError("invalid-argument", `This is no report of the kind ${reportSchema}.`, {
      details: { field: "schema" },
    });
  const log = fromAnswered(report.log);
  const attempts = log.filter((entry) => entry.kind === "attempt").map((attempt) => recordedOf(attempt, log));
  const replies = log.filter((entry) => entry.kind === "reply" && entry.cause === "turn").length;
  const replay = await replayBurst(respond ?? again(attempts), burstOf(log, report), {
    ...settingsOf(report),
    modelMs: 0,
    ...options,
  });
  return { ...replay, recorded: { attempts, replies } };
}

/** A report that does not go back to the conversation's beginning starts in the middle of something: from the next rest on. */
function fromAnswered(log: readonly LogEntry[]): LogEntry[] {
  if (log[0] === undefined || log[0].seq === 1) return [...log];
  const end = log.findIndex(({ kind }) => kind === "closed" || kind === "settled" || kind === "reset");
  return log.slice(end + 1);
}

function recordedOf(attempt: Of<"attempt">, log: readonly LogEntry[]): RecordedAttempt {
  const end = log.find(
    (entry) =>
      entry.seq > attempt.seq &&
      (((entry.kind === "ended" || entry.kind === "reply") && entry.fence === attempt.fence) ||
        entry.kind === "settled" ||
        entry.kind === "attempt"),
  );
  const tookMs = end === undefined ? 0 : end.atMs - attempt.atMs;
  switch (end?.kind) {
    case "reply":
      return { tookMs, outcome: "answered" };
    case "settled":
      return { tookMs, outcome: end.outcome };
    case "ended":
      return { tookMs, outcome: end.outcome, ...(end.error === undefined ? {} : { error: end.error }) };
    default:
      return { tookMs, outcome: null };
  }
}

/** Does what the attempts did, one after the other. */
function again(attempts: readonly RecordedAttempt[]): BenchRespond {
  let next = 0;
  return async (turn, bench) => {
    const { tookMs, outcome, error } = attempts[next++] ?? { tookMs: moreMs, outcome: "answered" };
    const ends = outcome === "answered" || outcome === "silent" || outcome === "failed";
    await bench.sleep(ends ? tookMs : tookMs + moreMs, turn.signal);
    if (outcome === "failed") throw new Error(error ?? "failed");
    return outcome === "silent" ? null : "answer";
  };
}

function settingsOf({ settings: { limits, whenBusy } }: Report): ReplayOptions {
  const { quietMs, startMs, leadMs, maxWaitMs, adaptive, leaseMs, turnTimeoutMs, maxRestarts, maxFailures } = limits;
  return {
    debounce: {
      quietMs,
      startMs: leadMs === undefined ? startMs : Math.max(0, quietMs - leadMs),
      maxWaitMs,
      ...(adaptive === undefined ? {} : { adaptive }),
    },
    whenBusy,
    lease: { leaseMs, turnTimeoutMs },
    limits: { maxRestarts, maxFailures, typingMs: limits.typingMs, incompleteMs: limits.incompleteMs },
    backoff: { firstMs: limits.backoffFirstMs, maxMs: limits.backoffMaxMs },
  };
}

/** What came from outside, at its time: everything else is lull's own doing. */
function burstOf(log: readonly LogEntry[], { settings: { limits } }: Report): BurstStep[] {
  const startMs = log[0]?.atMs ?? 0;
  const attempts = log.filter((entry) => entry.kind === "attempt");
  let handoffUntilMs = 0;
  return log.flatMap((entry): BurstStep[] => {
    const atMs = entry.atMs - startMs;
    switch (entry.kind) {
      case "message": {
        // Control words are told by what they did.
        if (entry.aside === "command") return [];
        const attempt = attempts.find(({ seq, to }) => seq > entry.seq && to >= entry.version);
        const asks = attempt?.to === entry.version && attempt.wait?.reason === "question";
        const { quietMs, author } = entry;
        return [
          {
            atMs,
            id: entry.id,
            parts: partsOf(entry.parts, asks ? "?" : ""),
            ...(author === undefined ? {} : { author }),
            ...(quietMs === undefined ? {} : { quietMs }),
            ...(entry.incomplete ? { incomplete: true } : {}),
            ...(entry.aside === undefined ? {} : { context: true }),
          },
        ];
      }
      case "edit":
        return [{ atMs, edit: entry.target, text: textOf(entry.parts), incomplete: entry.incomplete === true }];
      case "retraction":
        return [{ atMs, retract: entry.target }];
      case "attempt":
        return held(entry, log, startMs);
      case "ended":
        return entry.outcome === "expired" ? crash(entry, log, startMs, limits.leaseMs) : [];
      case "flushed":
        return [{ atMs, flush: true }];
      case "handoff":
        handoffUntilMs = entry.untilMs;
        return [{ atMs, handoff: entry.untilMs - entry.atMs }];
      case "human":
        return [{ atMs, human: textOf(entry.parts) }];
      case "resumed":
        // What ends by itself need not be ended.
        return entry.atMs >= handoffUntilMs ? [] : [{ atMs, resume: true }];
      case "reset":
        return [{ atMs, reset: true }];
      case "retry":
        return [{ atMs, retry: true }];
      case "send":
        return [{ atMs, send: textOf(entry.parts) }];
      default:
        return [];
    }
  });
}

/** What held the attempt, or let it go, without an entry of its own: typing, and a flush by a program. */
function held({ seq, atMs, wait }: Of<"attempt">, log: readonly LogEntry[], startMs: number): BurstStep[] {
  const before = log.findLast((entry) => entry.seq < seq && (entry.kind === "message" || entry.kind === "edit"));
  if (before === undefined) return [];
  if (wait?.reason === "flush" && log[seq - (log[0]?.seq ?? 1) - 1]?.kind !== "flushed")
    return [{ atMs: Math.max(before.atMs, atMs - 1) - startMs, flush: true }];
  if (wait?.reason !== "typing") return [];
  const steps: BurstStep[] = [];
  for (let at = before.atMs + 1; at < atMs; at += typingMs) steps.push({ atMs: at - startMs, typing: true });
  return [...steps, { atMs: atMs - startMs, typing: false }];
}

/** Its lease was renewed for the last time before it died: between a lease and a third of one before it ran out. */
function crash({ fence, atMs }: Of<"ended">, log: readonly LogEntry[], startMs: number, leaseMs: number): BurstStep[] {
  const attempt = log.find((entry) => entry.kind === "attempt" && entry.fence === fence);
  return attempt === undefined
    ? []
    : [{ atMs: Math.max(attempt.atMs + 1, atMs - leaseMs) - startMs, crash: rebirthMs }];
}

/** As long as it was, and without meaning. */
function filler(text: string, ending = ""): string {
  const length = Math.max(1, hiddenLength(text) ?? text.length);
  return "x".repeat(Math.max(0, length - ending.length)) + ending;
}

function partsOf(parts: readonly Part[], ending: string): Part[] {
  if (parts.length === 0) return [{ type: "text", text: "x" }];
  return parts.map((part, at) =>
    part.type === "text" ? { type: "text", text: filler(part.text, at === parts.length - 1 ? ending : "") } : part,
  );
}

function textOf(parts: readonly Part[]): string {
  return parts.map((part) => (part.type === "text" ? filler(part.text) : "x")).join(" ") || "x";
}
