/**
 * The timeline's arithmetic, pure: from a conversation's log and record to lanes of bars and marks. Nothing here knows pixels
 * (scale.ts does) or drawing.
 *
 * What the log has no entry for is worked out: windows from the inputs they opened with and were pushed by, leases from the
 * attempts that took them. Three things cannot be: when exactly an expired lease expired (the log says when that was found
 * out), who delivers a reply after its first holder is gone, and the user's typing, of which only the wait it caused is kept.
 *
 * @module
 */
import type { Conversation, Entry, EntryOf } from "../shared/shapes.ts";
import { clockTime, counted, dateTime, excerpt, lasting, ownerName } from "./words.ts";

export const lanes = ["people", "window", "lease", "attempt", "effect", "reply", "part", "operator"] as const;
export type Lane = (typeof lanes)[number];

/** `warn`: worth a look, and as it should be (discarded, tried again). `bad`: something was lost, failed or is in doubt. */
export type Tone = "plain" | "good" | "warn" | "bad" | "human" | "live";

export interface Fact {
  name: string;
  value: string;
}

/** An instant within a bar: a quiet target, a cap, a lease's end. */
export interface Tick {
  at: number;
  name: string;
  kind: "quiet" | "cap" | "expiry" | "input";
}

/** Something that happened (`start === end`) or lasted. Instants are milliseconds since 1970. */
export interface Item {
  /** The same as long as the conversation is: for permalinks. */
  id: string;
  lane: Lane;
  /** Within its lane: what overlaps is drawn below each other. */
  row: number;
  shape: "bar" | "mark";
  kind: string;
  start: number;
  end: number;
  tone: Tone;
  /** A few words, drawn. Never a user's. */
  label: string;
  /** What people wrote, if anything: drawn, and left out of what is exported. */
  text?: string;
  /** One sentence, for those who hear it. */
  title: string;
  facts: Fact[];
  ticks: Tick[];
  /** The log entry it began with; null for what only the record knows. */
  seq: number | null;
  /** It goes on. */
  open: boolean;
}

/** One unanswered range, from its first input to the end of its answer. */
export interface Turn {
  seq: number;
  start: number;
  end: number;
}

export interface Timeline {
  items: Item[];
  /** Rows each lane needs; lanes without items are left out. */
  rows: { lane: Lane; rows: number }[];
  turns: Turn[];
  start: number;
  end: number;
}

/** The most rows a lane grows to: beyond, bars lie over each other. */
const mostRows = 4;

/**
 * @param entries Oldest first. May begin anywhere in the log; what began before is shown from where it is seen.
 * @param conversation How things stand; null if that is not known, and then nothing is said to go on.
 * @param now The instant up to which what goes on is drawn.
 */
export function timelineOf(entries: readonly Entry[], conversation: Conversation | null, now: number): Timeline {
  const made = building(conversation, now);
  for (const entry of entries) made.take(entry);
  return laidOut(made.finish(), now);
}

/**
 * The same for long logs, in slices of about `sliceMs` with a pause after each, so that a page stays quick to answer.
 *
 * @returns null when `signal` aborted.
 */
export async function timelineInSlices(
  entries: readonly Entry[],
  conversation: Conversation | null,
  now: number,
  { pause, signal, sliceMs = 10 }: { pause: () => Promise<unknown>; signal: AbortSignal; sliceMs?: number },
): Promise<Timeline | null> {
  const made = building(conversation, now);
  let since = performance.now();
  for (const [index, entry] of entries.entries()) {
    made.take(entry);
    if (index % 20 !== 0 || performance.now() - since < sliceMs) continue;
    await pause();
    if (signal.aborted) return null;
    since = performance.now();
  }
  await pause();
  return signal.aborted ? null : laidOut(made.finish(), now);
}

function laidOut({ items, turns }: Pick<Timeline, "items" | "turns">, now: number): Timeline {
  items.sort((a, b) => a.start - b.start || (a.seq ?? 0) - (b.seq ?? 0));
  const rows = pack(items);
  let start = Number.POSITIVE_INFINITY;
  let end = Number.NEGATIVE_INFINITY;
  for (const item of items) {
    start = Math.min(start, item.start);
    end = Math.max(end, item.end);
  }
  return items.length === 0 ? { items, rows, turns, start: now, end: now } : { items, rows, turns, start, end };
}

/** Gives every bar the first row of its lane that is free; marks stay in the first. */
function pack(items: readonly Item[]): Timeline["rows"] {
  const free = new Map<Lane, number[]>();
  for (const item of items) {
    const ends = free.get(item.lane) ?? [];
    free.set(item.lane, ends);
    if (item.shape === "mark") {
      ends[0] ??= Number.NEGATIVE_INFINITY;
      continue;
    }
    const found = ends.findIndex((end) => end <= item.start);
    item.row = found >= 0 ? found : Math.min(ends.length, mostRows - 1);
    ends[item.row] = Math.max(ends[item.row] ?? Number.NEGATIVE_INFINITY, item.end);
  }
  return lanes.flatMap((lane) => {
    const ends = free.get(lane);
    return ends === undefined ? [] : [{ lane, rows: ends.length }];
  });
}

/** A reply on its way. */
interface Sending {
  bar: Item;
  fence: number | null;
  from: number;
  to: number;
  open: boolean;
  /** From when the part that is next is on its way. */
  since: number;
  /** The window it answered, in case it is withdrawn. */
  window: Item | null;
}

function building(conversation: Conversation | null, now: number) {
  const items: Item[] = [];
  const turns: Turn[] = [];
  const attempts = new Map<number, Item>();
  const leases = new Map<number, Item>();
  const sendings = new Map<string, Sending>();
  const drafts = new Map<string, Item>();
  const tokens = new Map<number, number>();
  /** Unanswered inputs. */
  let pending: { version: number; at: number; seq: number }[] = [];
  let window: Item | null = null;
  let handoff: Item | null = null;
  /** The newest window that typing is shown to have held. */
  let held: Item | null = null;
  /** The newest attempt's: the only lease that may still be held. */
  let current: number | null = null;
  let last = Number.NEGATIVE_INFINITY;

  function add(lane: Lane, kind: string, entry: { at: number; seq: number | null }, more: Partial<Item>): Item {
    const item: Item = {
      id: `${kind}-${entry.seq ?? "now"}`,
      lane,
      row: 0,
      shape: "mark",
      kind,
      start: entry.at,
      end: entry.at,
      tone: "plain",
      label: "",
      title: "",
      facts: [],
      ticks: [],
      seq: entry.seq,
      open: false,
      ...more,
    };
    items.push(item);
    return item;
  }

  function bar(lane: Lane, kind: string, entry: { at: number; seq: number | null }, more: Partial<Item>): Item {
    return add(lane, kind, entry, { shape: "bar", open: true, ...more });
  }

  function end(item: Item | null | undefined, at: number, more: Partial<Item> = {}): void {
    if (!item?.open) return;
    Object.assign(item, { end: Math.max(item.start, at), open: false }, more);
  }

  function fact(item: Item | null | undefined, name: string, value: string | undefined): void {
    if (item && value !== undefined && value !== "") item.facts.push({ name, value });
  }

  // --- windows

  function openWindow(at: number, seq: number): void {
    window = bar("window", "window", { at, seq }, { label: "window", title: "Hearing the user out" });
    turns.push({ seq, start: at, end: at });
  }

  /** An unanswered input, from now on. */
  function heard(version: number, at: number, seq: number): void {
    pending.push({ version, at, seq });
    if (window === null) openWindow(at, seq);
    else (window as Item).ticks.push({ at, name: "heard more", kind: "input" });
    const turn = turns.at(-1);
    if (turn) turn.end = Math.max(turn.end, at);
  }

  /** What the window waited for, known once its answer is committed. */
  function waited(wait: { targetMs: number; reason: string } | undefined, at: number): void {
    if (window === null || wait === undefined) return;
    const bar = window as Item;
    const lastInput = pending.filter((input) => input.at <= at).at(-1)?.at ?? bar.start;
    const quiet = lastInput + wait.targetMs;
    bar.ticks = bar.ticks.filter((tick) => tick.kind !== "quiet");
    bar.ticks.push({ at: quiet, name: `quiet target ${lasting(wait.targetMs)}`, kind: "quiet" });
    if (wait.reason === "typing") typed(bar, quiet, at);
  }

  /** The user typed: all the log keeps of it is that the window was held. */
  function typed(window: Item, from: number, to: number): void {
    if (to <= from || held === window) return;
    held = window;
    bar(
      "people",
      "typing",
      { at: from, seq: window.seq },
      {
        end: to,
        open: false,
        label: "typing",
        title: `Typing held the window for ${lasting(to - from)}`,
        facts: [{ name: "Held for", value: lasting(to - from) }],
      },
    );
  }

  /** Inputs up to `to` have ended: their window is over, and what came later has one of its own. */
  function answered(to: number, at: number, how: string, tone: Tone): void {
    const closing = window as Item | null;
    const covered = pending.filter(({ version }) => version <= to);
    const rest = pending.filter(({ version }) => version > to);
    if (closing !== null) {
      capOf(closing, at);
      end(closing, at, { tone });
      closing.ticks = closing.ticks.filter(
        (tick) => tick.kind !== "input" || covered.some((input) => input.at === tick.at),
      );
      const first = covered[0]?.at ?? closing.start;
      const newest = covered.at(-1)?.at ?? closing.start;
      closing.title = `Heard ${counted(covered.length, "input")} out for ${lasting(at - first)}: ${how}`;
      closing.label = `${counted(covered.length, "input")} heard out for ${lasting(at - first)}`;
      fact(closing, "Inputs", String(covered.length));
      fact(closing, "Open for", lasting(at - first));
      fact(closing, "Quiet given", lasting(at - newest));
      for (const tick of closing.ticks) if (tick.kind === "quiet") fact(closing, "Quiet target", clockTime(tick.at));
      fact(closing, "Ended", how);
    }
    window = null;
    pending = [];
    const [next] = rest;
    if (next === undefined) return;
    openWindow(next.at, next.seq);
    for (const input of rest) heard(input.version, input.at, input.seq);
    // The first one opened it.
    (window as unknown as Item).ticks.shift();
  }

  /** The cap is drawn where the window came to it; by the settings of today, since the log does not have it. */
  function capOf(window: Item, until: number): void {
    const maxWaitMs = conversation?.waits?.maxWaitMs;
    if (maxWaitMs === undefined) return;
    const at = window.start + maxWaitMs;
    fact(window, "Hard cap", `${clockTime(at)}${at <= until ? "" : ", not reached"}`);
    if (at <= until) window.ticks.push({ at, name: `hard cap ${lasting(maxWaitMs)}`, kind: "cap" });
  }

  // --- attempts and leases

  function endAttempt(fence: number, at: number, outcome: string, tone: Tone, why?: string): void {
    const attempt = attempts.get(fence);
    if (!attempt?.open) return;
    end(attempt, at, { tone, label: `${attempt.label} ${outcome}` });
    attempt.title = `${attempt.title}: ${outcome}${why ? ` (${why})` : ""} after ${lasting(at - attempt.start)}`;
    fact(attempt, "Outcome", outcome);
    fact(attempt, "Took", lasting(at - attempt.start));
    fact(attempt, "Why", why);
  }

  function endLease(fence: number | null, at: number, how: string, tone: Tone = "plain"): void {
    const lease = fence === null ? undefined : leases.get(fence);
    if (!lease?.open) return;
    end(lease, at, { tone });
    lease.title = `${lease.title}: ${how} after ${lasting(at - lease.start)}`;
    fact(lease, "Ended", how);
    fact(lease, "Held for", lasting(at - lease.start));
  }

  function grow(at: number): void {
    const turn = turns.at(-1);
    if (turn) turn.end = Math.max(turn.end, at);
  }

  // --- entries

  function input(entry: EntryOf<"message" | "edit">, at: number): void {
    const aside = entry.aside;
    const name = entry.kind === "message" ? "Message" : "Edit";
    const text = excerpt(entry.parts);
    const item = add(
      "people",
      entry.kind,
      { at, seq: entry.seq },
      {
        tone: aside === undefined ? "plain" : "warn",
        label: entry.kind === "edit" ? "edit" : "",
        text,
        title: `${name} ${entry.version}${entry.author ? ` from ${entry.author}` : ""}${aside ? `, set aside as ${aside}` : ""}: ${text}`,
        facts: [
          { name, value: entry.id },
          { name: "Version", value: String(entry.version) },
        ],
      },
    );
    fact(item, "Author", entry.author);
    if (entry.kind === "edit") fact(item, "Edits", entry.target);
    fact(item, "Set aside", aside);
    if (entry.quietMs !== undefined) fact(item, "Asks for quiet", lasting(entry.quietMs));
    if (entry.incomplete) fact(item, "Incomplete", "more of it is on the way");
    if (entry.sentAt !== undefined) {
      fact(item, "Sent by the platform's clock", clockTime(Date.parse(entry.sentAt)));
      const late = at - Date.parse(entry.sentAt);
      if (late >= 1_000) fact(item, "On its way for", lasting(late));
    }
    fact(item, "Text", text);
    if (aside === undefined) heard(entry.version, at, entry.seq);
  }

  function take(entry: Entry): void {
    const at = Date.parse(entry.at);
    last = Math.max(last, at);
    const place = { at, seq: entry.seq };
    switch (entry.kind) {
      case "message":
      case "edit":
        input(entry, at);
        return;
      case "retraction":
        add("people", "retraction", place, {
          tone: "warn",
          label: "taken back",
          title: `The author took message ${entry.target} back${entry.aside ? ", after it was answered" : ""}`,
          facts: [
            { name: "Takes back", value: entry.target },
            { name: "Version", value: String(entry.version) },
          ],
        });
        if (entry.aside === undefined) heard(entry.version, at, entry.seq);
        return;
      case "retry":
        operated(place, "retry", "brought back", `Inputs ${entry.from + 1} to ${entry.to} were brought back`, entry.by);
        heard(entry.version, at, entry.seq);
        return;
      case "attempt":
        return attempt(entry, at);
      case "absorbed":
        fact(attempts.get(entry.fence), "Took in", `up to version ${entry.to} at ${clockTime(at)}`);
        return;
      case "sealed":
        add("attempt", "sealed", place, {
          label: "sealed",
          title: "Sealed: newer input no longer discards the answer",
          facts: [{ name: "Fence", value: String(entry.fence) }],
        });
        return;
      case "ended": {
        const [words, tone] = endings[entry.outcome];
        endAttempt(entry.fence, at, words, tone, entry.error);
        fact(attempts.get(entry.fence), "Tried again at", entry.retryAt && clockTime(Date.parse(entry.retryAt)));
        const expired = entry.outcome === "expired";
        endLease(entry.fence, at, expired ? "expired: its holder was gone" : words, expired ? "bad" : "plain");
        if (expired)
          add("lease", "expired", place, {
            tone: "bad",
            label: "expired",
            title: `A crash: the lease with fence ${entry.fence} was found expired`,
            facts: [
              { name: "Fence", value: String(entry.fence) },
              { name: "Found", value: "by the next holder, at this time; the lease had ended before" },
            ],
          });
        grow(at);
        return;
      }
      case "reply":
        return reply(entry, at);
      case "part":
        fact(sendings.get(entry.replyId)?.bar, `Part ${entry.index + 1}`, `said at ${clockTime(at)}`);
        return;
      case "receipt":
        return receipt(entry, at);
      case "closed":
        return closed(entry, at);
      case "settled": {
        const [words, tone] = settlings[entry.outcome];
        if (entry.outcome === "silent" && current !== null) {
          endAttempt(current, at, "chose silence", "plain");
          endLease(current, at, "silent");
        }
        add("reply", "settled", place, {
          tone,
          label: words,
          title: `Inputs ${entry.from + 1} to ${entry.to} ended without a reply: ${words}${entry.reason ? `, ${entry.reason}` : ""}`,
          facts: [
            { name: "Inputs", value: `${entry.from + 1} to ${entry.to}` },
            { name: "Ended", value: words },
            ...(entry.reason ? [{ name: "Why", value: entry.reason }] : []),
          ],
        });
        grow(at);
        answered(entry.to, at, words, tone === "bad" ? "bad" : "plain");
        return;
      }
      case "effect": {
        const value = JSON.stringify(entry.value) ?? "";
        add("effect", "effect", place, {
          tone: entry.late ? "warn" : "good",
          label: entry.key,
          title: `Effect ${entry.key} was recorded${entry.late ? ", after its turn had ended" : ""}`,
          facts: [
            { name: "Effect", value: entry.key },
            { name: "Fence", value: String(entry.fence) },
            { name: "Result", value: value.length > 200 ? `${value.slice(0, 199)}…` : value },
          ],
        });
        return;
      }
      case "effect-unknown":
        add("effect", "effect-unknown", place, {
          tone: "bad",
          label: entry.key,
          title: `Effect ${entry.key} was begun and nobody saw its end`,
          facts: [{ name: "Effect", value: entry.key }],
        });
        return;
      case "draft":
        if (entry.state === "shown")
          drafts.set(
            entry.draftId,
            bar("reply", "draft", place, {
              tone: "live",
              label: "draft",
              title: "Provisional text was on the screen",
              facts: [{ name: "Fence", value: String(entry.fence) }],
            }),
          );
        else {
          const draft = drafts.get(entry.draftId);
          end(draft, at, { tone: entry.state === "left" ? "bad" : entry.state === "retracted" ? "warn" : "plain" });
          if (draft)
            draft.title = `Provisional text was on the screen for ${lasting(at - draft.start)}, then ${entry.state}`;
          fact(draft, "Then", entry.state);
          fact(draft, "Why", entry.error);
        }
        return;
      case "usage":
        tokens.set(entry.fence, (tokens.get(entry.fence) ?? 0) + entry.tokens);
        return;
      case "send":
        sendings.set(entry.replyId, {
          bar: bar("reply", "send", place, {
            label: "own message",
            text: excerpt(entry.parts),
            title: `A message of the bot's own accord (${entry.when})`,
            facts: [{ name: "When", value: entry.when }],
          }),
          fence: null,
          from: 0,
          to: 0,
          open: false,
          since: at,
          window: null,
        });
        return;
      case "human":
        operated(
          place,
          "human",
          "human answered",
          `A human answered everything up to version ${entry.upTo}`,
          entry.author,
        );
        fact(items.at(-1), "Text", excerpt(entry.parts));
        return;
      case "handoff":
        end(handoff, at);
        handoff = bar("operator", "handoff", place, {
          tone: "human",
          label: "handed off",
          title: `Handed off to a human until ${dateTime(Date.parse(entry.untilAt))}`,
          facts: [
            { name: "Until", value: dateTime(Date.parse(entry.untilAt)) },
            ...(entry.by ? [{ name: "By", value: entry.by }] : []),
          ],
        });
        return;
      case "resumed":
        fact(handoff, "Ended", `at ${clockTime(at)}${entry.by ? ` by ${entry.by}` : ""}`);
        end(handoff, at);
        handoff = null;
        operated(
          place,
          "resumed",
          "resumed",
          `The bot answers again; what waited is ${backlogs[entry.backlog]}`,
          entry.by,
        );
        return;
      case "tuned":
        operated(place, "tuned", "tuned", `Its own settings from here on: ${JSON.stringify(entry.tuning)}`, entry.by);
        return;
      case "reset":
        operated(
          place,
          "reset",
          entry.forget ? "reset" : "stopped",
          entry.forget ? "The conversation was reset" : "The answer was stopped",
          entry.by,
        );
        return;
      default:
        return other(entry, place);
    }
  }

  /** Kinds that came later than this code, or are no more than a mark. */
  function other(entry: { kind: string; by?: string }, place: { at: number; seq: number }): void {
    const [words, title] = others[entry.kind] ?? [entry.kind, `An entry of the kind ${entry.kind}`];
    operated(place, entry.kind, words, title, entry.by);
  }

  function operated(
    place: { at: number; seq: number },
    kind: string,
    label: string,
    title: string,
    by: string | undefined,
  ) {
    const item = add("operator", kind, place, { tone: "human", label, title: `${title}${by ? `, by ${by}` : ""}` });
    fact(item, "What", title);
    fact(item, "By", by);
  }

  function attempt(entry: EntryOf<"attempt">, at: number): void {
    const { fence, owner, from, to, attempt, sealed, wait, crossed } = entry;
    // A lease that nobody saw the end of ended at the latest now: there is only ever one.
    if (current !== null) {
      endLease(current, at, "followed by another");
      endAttempt(current, at, "not known", "warn");
    }
    current = fence;
    const place = { at, seq: entry.seq };
    const lease = bar("lease", "lease", place, {
      label: `${ownerName(owner)} · fence ${fence}`,
      title: `Lease of ${ownerName(owner)}, fence ${fence}`,
    });
    fact(lease, "Holder", owner);
    fact(lease, "Fence", String(fence));
    leases.set(fence, lease);
    const item = bar("attempt", "attempt", place, {
      tone: "live",
      label: `#${attempt}`,
      title: `Attempt ${attempt} at inputs ${from + 1} to ${to}`,
    });
    fact(item, "Attempt", String(attempt));
    fact(item, "Inputs", from + 1 === to ? String(to) : `${from + 1} to ${to}`);
    fact(item, "Fence", String(fence));
    fact(item, "Holder", owner);
    if (wait !== undefined)
      fact(item, "Started after", `${lasting(wait.targetMs)} of quiet (${waits[wait.reason] ?? wait.reason})`);
    if (sealed) fact(item, "Sealed", "from its start: newer input does not discard it");
    fact(
      item,
      "Crossed",
      crossed === undefined ? undefined : `its first input was typed when reply ${crossed} appeared`,
    );
    attempts.set(fence, item);
    if (wait !== undefined) waited(wait, at);
    grow(at);
  }

  function reply(entry: EntryOf<"reply">, at: number): void {
    const fallback = entry.cause === "fallback";
    const place = { at, seq: entry.seq };
    if (!fallback) waited(entry.wait, at);
    const label = fallback ? "fallback" : counted(entry.parts.length, "part");
    const item = bar("reply", "reply", place, {
      tone: "good",
      label,
      text: excerpt(entry.parts),
      title: fallback ? "The fallback text" : `Reply to inputs ${entry.from + 1} to ${entry.to}, ${label}`,
    });
    fact(item, "Reply", entry.replyId);
    fact(item, "Covers inputs", `${entry.from + 1} to ${entry.to}`);
    fact(item, "Fence", String(entry.fence));
    if (entry.wait)
      fact(
        item,
        "Committed after",
        `${lasting(entry.wait.targetMs)} of quiet (${waits[entry.wait.reason] ?? entry.wait.reason})`,
      );
    if (entry.overtaken) fact(item, "Overtaken", "newer input had come; it is answered next");
    fact(item, "Text", excerpt(entry.parts));
    add("attempt", "commit", place, {
      tone: "good",
      label: "commit",
      title: `${fallback ? "The fallback text was committed" : "The answer was committed"} at ${clockTime(at)}${entry.overtaken ? ", overtaken by newer input" : ""}`,
      facts: [...item.facts],
    });
    sendings.set(entry.replyId, {
      bar: item,
      fence: entry.fence,
      from: entry.from,
      to: entry.to,
      open: entry.open,
      since: at,
      window: window as Item | null,
    });
    grow(at);
    if (fallback) return;
    // A streamed answer is still being written.
    if (!entry.open) endAttempt(entry.fence, at, "committed", "good");
    answered(entry.to, at, "answered", "good");
  }

  function receipt(entry: EntryOf<"receipt">, at: number): void {
    const sending = sendings.get(entry.replyId);
    const [words, tone] = receipts[entry.state];
    const from = Math.min(sending?.since ?? at, at);
    const item = bar(
      "part",
      "part",
      { at: from, seq: entry.seq },
      {
        end: at,
        open: false,
        tone,
        label: `${entry.index + 1} ${words}`,
        title: `Part ${entry.index + 1} ${words}${entry.error ? `: ${entry.error}` : ""}`,
      },
    );
    fact(item, "Part", String(entry.index + 1));
    fact(item, "Receipt", words);
    fact(item, "Took", lasting(at - from));
    fact(item, "Platform's id", entry.externalId);
    fact(item, "Why", entry.error);
    fact(item, "Next try", entry.retryAt && clockTime(Date.parse(entry.retryAt)));
    grow(at);
    if (sending === undefined) return;
    sending.since = entry.retryAt ? Date.parse(entry.retryAt) : at;
    // A refusal gives the lease back; the timer wakes whoever tries again.
    if (entry.state === "queued" && !sending.open) endLease(sending.fence, at, "given back until the next try");
  }

  function closed(entry: EntryOf<"closed">, at: number): void {
    const sending = sendings.get(entry.replyId);
    const [words, tone] = closings[entry.outcome];
    grow(at);
    if (sending !== undefined) {
      const { bar, fence } = sending;
      if (fence !== null) {
        if (sending.open) endAttempt(fence, at, entry.outcome === "cut" ? "cut short" : "committed", tone);
        endLease(fence, at, words);
      }
      fact(bar, "Ended", words);
      fact(bar, "Delivery took", lasting(at - bar.start));
      end(bar, at, { tone, label: `${bar.label} ${words}` });
      bar.title = `${bar.title}: ${words} after ${lasting(at - bar.start)}`;
      sendings.delete(entry.replyId);
    }
    if (entry.outcome !== "withdrawn") return;
    // Its inputs wait again, in the window they had.
    const attempt = sending?.fence == null ? undefined : attempts.get(sending.fence);
    if (attempt !== undefined) Object.assign(attempt, { tone: "warn" });
    fact(attempt, "Then", "withdrawn: newer input came before anything was shown");
    const before = sending?.window ?? null;
    if (before === null) return;
    if (window !== null) {
      // The window of what came meanwhile was the same all along.
      items.splice(items.indexOf(window), 1);
      turns.pop();
    }
    const inputs = pending;
    pending = [];
    window = bar2(before, at);
    for (const { version, at, seq } of inputs) heard(version, at, seq);
  }

  /** The window of a withdrawn answer goes on. */
  function bar2(before: Item, at: number): Item {
    before.open = true;
    before.tone = "plain";
    before.facts = [];
    before.ticks.push({ at, name: "answer withdrawn", kind: "input" });
    before.ticks = before.ticks.filter((tick) => tick.kind === "input");
    return before;
  }

  /** What goes on, by the record; and what the log left open. */
  function finish(): { items: Item[]; turns: Turn[] } {
    for (const [fence, sum] of tokens) fact(attempts.get(fence), "Tokens", String(sum));
    const lease = conversation?.lease ?? null;
    if (current !== null && lease?.fence !== current) {
      endAttempt(current, Math.max(last, attempts.get(current)?.start ?? last), "not known", "warn");
      endLease(current, Math.max(last, leases.get(current)?.start ?? last), "not known");
    }
    const answering = lease === null ? undefined : attempts.get(lease.fence);
    if (answering?.open)
      Object.assign(answering, {
        end: now,
        title: `${answering.title}, running for ${lasting(now - answering.start)}`,
      });
    if (lease !== null && conversation !== null) {
      // A fence is the store's clock at the claim, unless two claims shared a millisecond.
      const begun = Math.min(Math.max(lease.fence, last), now);
      const item =
        leases.get(lease.fence) ??
        bar(
          "lease",
          "lease",
          { at: begun, seq: null },
          {
            label: `${ownerName(lease.owner)} · fence ${lease.fence}`,
            title: `Lease of ${ownerName(lease.owner)}, fence ${lease.fence}, to ${lease.purpose}`,
            facts: [
              { name: "Holder", value: lease.owner },
              { name: "Fence", value: String(lease.fence) },
            ],
          },
        );
      const expiry = Date.parse(lease.expiresAt);
      item.open = true;
      item.end = Math.max(now, item.start);
      item.tone = expiry < now ? "bad" : "live";
      fact(item, "Expires", clockTime(expiry));
      item.ticks.push({ at: expiry, name: `lease expires ${clockTime(expiry)}`, kind: "expiry" });
    }
    for (const { bar } of sendings.values())
      if (bar.open) bar.end = conversation === null ? Math.max(last, bar.start) : now;
    for (const draft of drafts.values()) if (draft.open) draft.end = now;
    effectsUnderWay();
    openNow();
    if (handoff !== null) {
      const until = conversation?.handoff ? now : Math.max(last, (handoff as Item).start);
      Object.assign(handoff as Item, { end: until, open: conversation?.handoff != null });
    }
    for (const item of items) if (item.open && item.end < item.start) item.end = item.start;
    return { items, turns };
  }

  function effectsUnderWay(): void {
    for (const [key, effect] of Object.entries(conversation?.record?.effects ?? {})) {
      if (effect.state !== "begun") continue;
      const until = Date.parse(String((effect as { untilAt?: string }).untilAt));
      bar(
        "effect",
        `begun-${key}`,
        { at: attempts.get(effect.fence)?.start ?? now, seq: null },
        {
          end: now,
          tone: until < now ? "bad" : "live",
          label: key,
          title: `Effect ${key} was begun, and has not ended`,
          facts: [
            { name: "Effect", value: key },
            { name: "Counts as running until", value: clockTime(until) },
          ],
        },
      );
    }
  }

  /** The window that is open now, by the record. */
  function openNow(): void {
    const open = conversation?.record?.window ?? null;
    if (open === null) {
      if (window !== null) end(window, Math.max(last, (window as Item).start));
      return;
    }
    if (window === null) openWindow(Date.parse(open.openedAt), 0);
    const bar = window as unknown as Item;
    bar.end = now;
    bar.tone = "live";
    const quiet = conversation?.quietAt == null ? null : Date.parse(conversation.quietAt);
    bar.ticks = bar.ticks.filter((tick) => tick.kind !== "quiet");
    if (quiet !== null) {
      bar.ticks.push({ at: quiet, name: `quiet target ${clockTime(quiet)}`, kind: "quiet" });
      fact(bar, "Quiet target", clockTime(quiet));
    }
    const maxWaitMs = conversation?.waits?.maxWaitMs;
    if (maxWaitMs !== undefined) {
      const cap = Date.parse(open.openedAt) + maxWaitMs;
      bar.ticks.push({ at: cap, name: `hard cap ${clockTime(cap)}`, kind: "cap" });
      fact(bar, "Hard cap", clockTime(cap));
    }
    fact(bar, "Inputs", String(open.count));
    bar.label = "hearing the user out";
    bar.title = `Hearing the user out since ${clockTime(bar.start)}, ${counted(open.count, "input")} so far`;
    if (open.holdUntilAt !== null) {
      const hold = Date.parse(open.holdUntilAt);
      const since = open.typingSinceMs ?? Date.parse(open.lastInputAt);
      if (hold > since) {
        typed(bar, since, Math.min(hold, now));
        fact(bar, "Typing holds it until", clockTime(hold));
      }
    }
  }

  return { take, finish };
}

const endings: Record<EntryOf<"ended">["outcome"], [words: string, tone: Tone]> = {
  superseded: ["discarded: newer input came", "warn"],
  failed: ["failed", "bad"],
  expired: ["lost: its process stopped", "bad"],
  "handed-back": ["handed back at shutdown", "warn"],
  "handed-off": ["ended: a human took over", "human"],
  "answered-by-human": ["ended: a human answered", "human"],
  reset: ["ended by a reset", "human"],
};

const settlings: Record<EntryOf<"settled">["outcome"], [words: string, tone: Tone]> = {
  removed: ["taken back by its author", "plain"],
  silent: ["deliberate silence", "plain"],
  human: ["answered by a human", "human"],
  dropped: ["dropped by a command", "warn"],
  context: ["kept as context", "plain"],
  parked: ["parked", "bad"],
};

const receipts: Record<EntryOf<"receipt">["state"], [words: string, tone: Tone]> = {
  queued: ["refused for now", "warn"],
  attempting: ["on its way", "live"],
  sent: ["sent", "good"],
  failed: ["failed for good", "bad"],
  unknown: ["unknown", "bad"],
  cancelled: ["cancelled", "warn"],
};

const closings: Record<EntryOf<"closed">["outcome"], [words: string, tone: Tone]> = {
  delivered: ["delivered", "good"],
  cut: ["cut short", "bad"],
  failed: ["failed", "bad"],
  withdrawn: ["withdrawn", "warn"],
  cancelled: ["cancelled", "warn"],
};

const waits: Record<string, string> = {
  setting: "the setting",
  restarts: "discarded too often to start sooner",
  typing: "held while the user typed",
  incomplete: "held for an incomplete message",
  cap: "the longest wait was over",
  message: "a message asked for it",
  flush: "an answer was wanted at once",
  pace: "this user's pace",
  question: "a question",
  judged: "by completeness",
};

const others: Record<string, [words: string, title: string]> = {
  flushed: ["flushed", "What was there was wanted answered at once"],
};

const backlogs = { answer: "answered", context: "kept as context" };
