/**
 * What people waited for: from the newest message that an answer covers to its first part on their screen, divided into
 * what took the time. Pure but for its own memory.
 *
 * @module
 */
import type { LogEntry, LullEvent } from "lull";

/**
 * Milliseconds; they add up to `total`.
 * - `window`: the quiet the user was given, or the longest wait.
 * - `queue`: after that, until the model was started: processes were busy, away, or backing off after a failure.
 * - `model`: after that, until the answer was committed. Time that the model spent within the window costs nobody anything.
 * - `delivery`: from there to the first part sent, or perhaps sent.
 */
export interface Waited {
  window: number;
  queue: number;
  model: number;
  delivery: number;
  total: number;
}

type Of<K extends LogEntry["kind"]> = Extract<LogEntry, { kind: K }>;

interface Conversation {
  /** The newest inputs. */
  inputs: { version: number; atMs: number; quietAtMs: number | null }[];
  attempt: Of<"attempt"> | null;
  /** Committed, and nothing of it shown yet. */
  answer: { replyId: string; atMs: number; committedAtMs: number; quietAtMs: number; startedAtMs: number } | null;
}

/** Conversations remembered; an answer to a forgotten one is not measured. */
const mostRemembered = 10_000;
/** Inputs of one conversation: an answer rarely covers others than the newest. */
const mostInputs = 20;

/** Takes in this process's events. What another process received or attempted is not known here, and not measured. */
export function waitWatcher(tell: (waited: Waited) => void): (event: LullEvent) => void {
  const known = new Map<string, Conversation>();

  const remember = (id: string): Conversation => {
    const conversation = known.get(id) ?? { inputs: [], attempt: null, answer: null };
    known.delete(id);
    known.set(id, conversation);
    if (known.size > mostRemembered) known.delete(known.keys().next().value as string);
    return conversation;
  };

  return ({ type, conversation: id, atMs, entry, quietAtMs }) => {
    if (type === "window.armed") {
      const input = known.get(id)?.inputs.at(-1);
      if (input !== undefined) input.quietAtMs = quietAtMs ?? null;
      return;
    }
    switch (entry?.kind) {
      case "message":
      case "edit": {
        if (entry.aside !== undefined) return;
        const { inputs } = remember(id);
        inputs.push({ version: entry.version, atMs, quietAtMs: null });
        if (inputs.length > mostInputs) inputs.shift();
        return;
      }
      case "attempt":
        remember(id).attempt = entry;
        return;
      case "reply": {
        const conversation = known.get(id);
        const input = conversation?.inputs.findLast(({ version }) => version <= entry.to);
        const attempt = conversation?.attempt;
        if (conversation === undefined || entry.cause !== "turn") return;
        conversation.answer = null;
        if (input === undefined || attempt?.fence !== entry.fence) return;
        conversation.answer = {
          replyId: entry.replyId,
          atMs: input.atMs,
          committedAtMs: atMs,
          quietAtMs: quietOf(entry, input, attempt.atMs),
          startedAtMs: attempt.atMs,
        };
        return;
      }
      case "receipt": {
        const conversation = known.get(id);
        const answer = conversation?.answer;
        if (conversation === undefined || answer?.replyId !== entry.replyId) return;
        if (entry.state !== "sent" && entry.state !== "unknown") return;
        conversation.answer = null;
        tell(divided(answer, atMs));
        return;
      }
      case "closed": {
        const conversation = known.get(id);
        if (conversation?.answer?.replyId === entry.replyId) conversation.answer = null;
        return;
      }
      default:
    }
  };
}

/** When the user had been heard out. */
function quietOf({ wait }: Of<"reply">, input: Conversation["inputs"][number], startedAtMs: number): number {
  const quietAtMs = input.atMs + (wait?.targetMs ?? 0);
  switch (wait?.reason) {
    case undefined:
    case "flush":
      return startedAtMs;
    case "typing":
    case "incomplete":
      return Math.max(quietAtMs, startedAtMs);
    case "cap":
      return Math.min(quietAtMs, input.quietAtMs ?? quietAtMs);
    default:
      return quietAtMs;
  }
}

function divided(answer: NonNullable<Conversation["answer"]>, shownAtMs: number): Waited {
  const { atMs, committedAtMs } = answer;
  const within = (ms: number, fromMs: number) => Math.min(Math.max(ms, fromMs), committedAtMs);
  const heardMs = within(answer.quietAtMs, atMs);
  const startMs = within(answer.startedAtMs, heardMs);
  return {
    window: heardMs - atMs,
    queue: startMs - heardMs,
    model: committedAtMs - startMs,
    delivery: Math.max(0, shownAtMs - committedAtMs),
    total: Math.max(committedAtMs, shownAtMs) - atMs,
  };
}
