/**
 * What a bot can know of a person's pace, pure: was the message that just came being typed when our reply appeared,
 * how long does this person want to be heard out, does a text end with a question, how long does the model take.
 *
 * No averages of gaps between messages, no lists of greetings or words: measured on real chats they guess worse than a
 * fixed window (docs/windows.md has the figures).
 *
 * @module
 */
import type { ConversationRecord, Crossing, Limits, Outbox, OutboxPart, Pace, Part } from "./model.ts";

/** Typing speed that decides whether a message had been begun before our reply appeared: 5 characters a second. */
const msPerCharacter = 200;
/** By then even who had not begun can have read the reply and written a long message. */
const longestTypingMs = 8_000;
/** From the keyboard to here. */
const transportMs = 500;

/**
 * Adaptive windows. After each reply that an input followed the factor moves by `step · (crossed ? 1 − share : −share)`,
 * so that it rests where `share` of the replies is crossed. A question mark shortens the wait by `question`.
 */
export const adaptive = { step: 0.4, least: 0.5, most: 1.7, question: 0.6, crossed: 0.08 } as const;

/** A message that comes this soon after a reply was being typed when the reply appeared. */
export function typingTimeMs(parts: readonly Part[]): number {
  let characters = 0;
  for (const part of parts) if (part.type === "text") characters += part.text.length;
  return Math.min(characters * msPerCharacter, longestTypingMs) + transportMs;
}

/** Question marks of the world's scripts. The Greek one looks like a semicolon, so it counts behind Greek letters only. */
const questions =
  /(?:[?\u055e\u061f\u1367\u1945\u2047-\u2049\u203d\u2753\u2754\u2cfa\u2cfb\u2e2e\u2e54\ua60f\ua6f7\ufe56\uff1f\u{11143}\u{1e95f}]|\p{Script=Greek}[;\u037e])(?:[\p{P}\p{Z}\p{Extended_Pictographic}\p{Emoji_Modifier}]|\ufe0f|\u200d)*$/u;
/** Longest tail that is looked at: what comes behind the question mark is a few quotes, brackets or emoji. */
const tail = 40;

/** The text ends with a question, in any script. */
export function asks(parts: readonly Part[]): boolean {
  const last = parts.at(-1);
  return last?.type === "text" && questions.test(last.text.trimEnd().slice(-tail));
}

/** The quiet target this user has taught us; the setting's where nothing adapts. */
export function ownQuietMs({ pace }: ConversationRecord, { quietMs, adaptive: adapts, maxWaitMs }: Limits): number {
  return adapts === undefined || pace === undefined ? quietMs : Math.min(Math.round(quietMs * pace.factor), maxWaitMs);
}

/** The wait a question asks for, not below what adaptive windows may come to. */
export function questionQuietMs(baseMs: number, { quietMs }: Limits): number {
  return Math.min(baseMs, Math.max(Math.round(baseMs * adaptive.question), Math.round(quietMs * adaptive.least)));
}

/** Half the target for an input that is surely complete, double for one that surely is not. */
export function judgedQuietMs(baseMs: number, completeness: number, { maxWaitMs }: Limits): number {
  return Math.min(Math.round(baseMs * 2 ** (1 - 2 * completeness)), maxWaitMs);
}

const unknown: Pace = { shown: null, replies: 0, crossed: 0, factor: 1 };

/** One more reply that an input came after. */
function learned({ replies, crossed, factor }: Pace, isCrossed: boolean, limits: Limits): Pace {
  const counts = { shown: null, replies: replies + 1, crossed: crossed + (isCrossed ? 1 : 0) };
  if (limits.adaptive === undefined) return { ...counts, factor };
  const moved = factor + adaptive.step * ((isCrossed ? 1 : 0) - limits.adaptive.crossed);
  return { ...counts, factor: Math.round(Math.min(adaptive.most, Math.max(adaptive.least, moved)) * 1_000) / 1_000 };
}

/** A message came: had it crossed the newest reply? Changes `r`. */
export function met(
  r: ConversationRecord,
  parts: readonly Part[] | undefined,
  nowMs: number,
  limits: Limits,
): Crossing | null {
  const shown = r.pace?.shown;
  if (r.pace === undefined || shown == null || parts === undefined) return null;
  const isCrossed = nowMs - shown.atMs < typingTimeMs(parts);
  r.pace = learned(r.pace, isCrossed, limits);
  return isCrossed ? { replyId: shown.replyId, seq: shown.seq } : null;
}

/** Something of a reply was shown. What had come meanwhile has crossed it. Changes `r`. */
export function showed(
  r: ConversationRecord,
  { replyId, cause, parts }: Outbox,
  part: OutboxPart,
  nowMs: number,
  limits: Limits,
): void {
  if (cause !== "turn" || part !== parts[0]) return;
  const pace = r.pace ?? unknown;
  const reply = { replyId, seq: part.seq };
  // What came meanwhile may have been taken back: then nothing crossed.
  if (!r.window?.count) r.pace = { ...pace, shown: { ...reply, atMs: nowMs } };
  else {
    r.pace = learned(pace, true, limits);
    r.window.crossed = reply;
  }
}

/** Share of model runs that are to be ready by the time they may be sent, for `startMs: "frugal"`. */
const ready = 0.75;
/** How far one run moves the estimate: by a fifth up or a fifteenth down. */
const gain = 0.25;

/**
 * A running estimate of how long the model takes, such that `ready` of its runs take no longer: one number, that
 * follows a model that becomes faster or slower within some ten runs.
 */
export function modelMs(estimate: number | null, tookMs: number): number {
  if (estimate === null) return Math.max(1, tookMs);
  return Math.max(1, estimate * Math.exp(gain * (tookMs > estimate ? ready : ready - 1)));
}
