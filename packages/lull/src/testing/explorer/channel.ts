/**
 * The channel, and how `delivery.ts` asks it: what it shows to users, and what it says of that.
 *
 * @module
 */
import type { PartReceipt } from "../../model.ts";
import { receive } from "./process.ts";
import { shows } from "./sight.ts";
import type { Process, World } from "./world.ts";

export type Answering = "ok" | "refused" | "failed" | "unknown, delivered" | "unknown, not delivered";

/** One try of the part on its way. */
export function deliver(world: World, process: Process, how: Answering): void {
  const { sending } = process;
  if (sending === null) return;
  const { channel } = world.config;
  const { replyId, index, doubt } = sending;
  const before = world.ledger.replies.find(({ id }) => id === replyId)?.shown[index] ?? 0;
  // Asked first, where it can be; and a second one with the same key is not shown.
  const known = before > 0 && (channel === "idempotent" || (channel === "askable" && doubt));
  const delivered = how === "ok" || how === "unknown, delivered";
  if (delivered && !known) shows(world, replyId, index, isLate(world, process));
  receive(world, process, receiptOf(how, channel === "at-most-once"));
}

function receiptOf(how: Answering, giveUp: boolean): PartReceipt {
  if (how === "ok") return { state: "sent" };
  if (how === "refused") return { state: "refused", error: "429" };
  if (how === "failed") return { state: "failed", error: "400" };
  return { state: giveUp ? "unknown" : "in-doubt", error: "502" };
}

/** Its sender has lost its lease since it was allowed to send. */
function isLate(world: World, { sending }: Process): boolean {
  return sending === null || world.record?.lease?.fence !== sending.fence;
}
