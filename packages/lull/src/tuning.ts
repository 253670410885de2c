/**
 * A conversation's own wishes, before the bot's: how long to hear this user out, and what newer input does. They are in
 * the record, so every process knows the same ones, and a crash loses none. Pure.
 *
 * @module
 */
import type { ConversationRecord, EventOf, Limits, LogBody, Tuning, WhenBusy } from "./model.ts";

/** What newer input does here. */
export function busyOf(busy: WhenBusy, record: Pick<ConversationRecord, "tuning"> | null): WhenBusy {
  return record?.tuning?.whenBusy ?? busy;
}

/** The limits of this conversation. `limits`, `busy`: the bot's. */
export function tuned(limits: Limits, busy: WhenBusy, record: Pick<ConversationRecord, "tuning"> | null): Limits {
  // Asked for every write, and nearly all conversations have no wishes.
  if (record?.tuning === undefined && busy !== "queue") return limits;
  const { whenBusy: _, ...own } = record?.tuning ?? {};
  const { leadMs, adaptive, ...others } = limits;
  const mine = own.quietMs === undefined ? limits : { ...others, ...own };
  // `queue` never discards, so it waits for the quiet first: the plain debounce.
  return busyOf(busy, record) === "queue" ? { ...mine, startMs: mine.quietMs, leadMs: 0 } : mine;
}

/** Takes down what is wished from now on; null takes a wish back. Changes `r`. */
export function tune(
  r: ConversationRecord,
  { type: _, debounce, whenBusy, ...call }: EventOf<"tune">,
  note: (body: LogBody) => unknown,
): { is: "tuned" | "unchanged" } {
  const { whenBusy: busy, ...times } = r.tuning ?? {};
  const mine = whenBusy === undefined ? busy : whenBusy;
  const next: Tuning = { ...(debounce === undefined ? times : debounce), ...(mine && { whenBusy: mine }) };
  if (JSON.stringify(next) === JSON.stringify(r.tuning ?? {})) return { is: "unchanged" };
  if (Object.keys(next).length > 0) r.tuning = next;
  else delete r.tuning;
  note({ kind: "tuned", ...call, tuning: next });
  return { is: "tuned" };
}
