/**
 * One try of one part: asks the channel, turns whatever happens into a receipt, and never guesses. Retries,
 * order and doubt are the protocol's.
 *
 * @module
 */
import { enough } from "./clock.ts";
import type { ConversationRecord, Draft, EntryOf, Json, LogEntry, Outbox, Part, PartReceipt, Seq } from "./model.ts";
import type { Naps } from "./naps.ts";
import type { Channel, Delivery, Receipt } from "./ports.ts";
import { newStop } from "./stop.ts";
import { inputsOf } from "./window.ts";

/** One try's time limit where the channel names none. */
export const deliverTimeoutMs = 30_000;

/** What to do with a part that may have been delivered: `give-up` leaves it `unknown`. */
export function whenInDoubt(channel: Channel): "retry" | "give-up" {
  return !channel.idempotent && channel.find === undefined && channel.whenInDoubt === "at-most-once"
    ? "give-up"
    : "retry";
}

/**
 * Tries to deliver one part.
 * @param doubt an earlier try may have been delivered: a channel that can be asked is asked first.
 */
export async function tryPart(
  channel: Channel,
  part: Part,
  context: Omit<Delivery, "signal">,
  doubt: boolean,
  nap: Naps,
): Promise<PartReceipt> {
  const stop = newStop();
  const timeoutMs = channel.timeoutMs ?? deliverTimeoutMs;
  let isOver = false;
  let isLate = false;
  const late = (): Receipt => {
    isLate = !isOver;
    return { status: "unknown", error: `no answer from the channel within ${timeoutMs} ms` };
  };
  const limit = nap(timeoutMs);
  try {
    const answer = (async (): Promise<Receipt | void> => {
      const delivery: Delivery = {
        ...context,
        get signal() {
          return stop.signal;
        },
      };
      const found = doubt && !channel.idempotent ? await channel.find?.(delivery) : null;
      return found ?? (await channel.deliver(part, delivery));
    })();
    const receipt = await Promise.race([answer, limit.over.then(late)]);
    // A late rejection of an abandoned try has no one to hear it.
    answer.catch(() => {});
    return partReceipt(receipt, channel);
  } catch (error) {
    return partReceipt({ status: "unknown", error: messageOf(error) }, channel);
  } finally {
    isOver = true;
    limit.end();
    // Whoever still works for an answer that nobody waits for is told.
    stop.abort(isLate ? undefined : enough);
  }
}

function partReceipt(receipt: Receipt | void, channel: Channel): PartReceipt {
  // A function that sends and returns nothing has sent: taking it for doubt would send again and again.
  if (receipt === undefined || receipt === null) return { state: "sent" };
  switch (receipt.status) {
    case "sent":
      return { state: "sent", ...(receipt.id === undefined ? {} : { externalId: receipt.id }) };
    case "failed":
      if (!receipt.retry) return { state: "failed", error: receipt.error };
      return { state: "refused", error: receipt.error, ...after(receipt) };
    case "unknown":
      if (whenInDoubt(channel) === "give-up") return { state: "unknown", error: receipt.error };
      return { state: "in-doubt", error: receipt.error, ...after(receipt) };
    default:
      // Visible at the first try, and never sent twice.
      return { state: "failed", error: `channel ${channel.name} must resolve to a receipt such as { status: "sent" }` };
  }
}

/** Longest wish of a platform that is honoured. */
const longestWishMs = 30 * 86_400_000;

/** A platform's wish, in whole milliseconds; nonsense is ignored. */
function after({ retryAfterMs }: { retryAfterMs?: number }): { retryAfterMs?: number } {
  if (retryAfterMs === undefined || !Number.isFinite(retryAfterMs) || retryAfterMs < 0) return {};
  return { retryAfterMs: Math.min(Math.ceil(retryAfterMs), longestWishMs) };
}

/** What an error says, without its stack. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The channel, where what is to be done is to take the draft back. */
export function retractingBy(channel: Channel, record: ConversationRecord): Channel {
  const { draft } = record;
  return {
    ...channel,
    // Taking back twice is taking back.
    idempotent: true,
    async deliver(_part, { signal }) {
      if (channel.draft === undefined || draft == null)
        return { status: "failed", error: `channel ${channel.name} cannot take drafts back` };
      await channel.draft(null, {
        ...draftDelivery(record.id, draft),
        inDoubt: draft.externalId === undefined,
        signal,
      });
      return { status: "sent" };
    },
  };
}

/** What a channel is told about a draft. */
export function draftDelivery(conversation: string, { id, externalId, address }: Draft) {
  return { conversation, key: id, address, ...(externalId !== undefined && { id: externalId }) };
}

/** For authors without a channel: a reply is delivered by being in the log, where clients read it. */
export const logChannel: Channel = {
  name: "log",
  idempotent: true,
  deliver: () => Promise.resolve({ status: "sent" }),
};

/** The channels of a bot, and the choice among them: `address.channel`, else the first. */
export function channelsOf(options: { deliver?: Channel["deliver"] | Channel; channels?: Channel[] }): Channel[] {
  if (options.channels !== undefined && options.channels.length > 0) return options.channels;
  if (options.deliver === undefined) return [logChannel];
  if (typeof options.deliver !== "function") return [options.deliver];
  return [{ name: "deliver", idempotent: false, deliver: options.deliver }];
}

export function choose(channels: readonly Channel[], address: unknown): Channel | undefined {
  const wanted =
    typeof address === "object" && address !== null ? (address as { channel?: unknown }).channel : undefined;
  if (typeof wanted !== "string") return channels[0];
  return channels.find(({ name }) => name === wanted) ?? (channels.length === 1 ? channels[0] : undefined);
}

// ---------------------------------------------------------------------------------------------
// What the log says of a reply

/** The entry that holds a reply's address and metadata. */
function headOf(outbox: Outbox, log: ReadonlyMap<Seq, LogEntry>): EntryOf<"reply"> | EntryOf<"send"> | undefined {
  const entry = log.get(outbox.parts[0]?.seq ?? 0);
  return entry?.kind === "reply" || entry?.kind === "send" ? entry : undefined;
}

/** Where the reply in the outbox goes: its own address, else the conversation's newest. */
export function addressOf(record: ConversationRecord | null, log: ReadonlyMap<Seq, LogEntry>): Json {
  const own = record?.outbox ? headOf(record.outbox, log)?.address : undefined;
  return own ?? record?.address ?? null;
}

/** The content of a part of the reply. */
export function contentOf(entry: LogEntry | undefined, index: number): Part | undefined {
  if (entry?.kind === "part") return entry.part;
  return entry?.kind === "reply" || entry?.kind === "send" ? entry.parts[index] : undefined;
}

/** What a channel is told about a part. */
export function deliveryOf(
  record: ConversationRecord,
  outbox: Outbox,
  log: ReadonlyMap<Seq, LogEntry>,
  index: number,
  attempt: number,
): Omit<Delivery, "signal"> {
  const head = headOf(outbox, log);
  // What was taken back or edited since the commit was answered all the same: every part says the same.
  const before = [...log.values()].filter(({ seq }) => head !== undefined && seq < head.seq);
  const inputs =
    outbox.cause === "turn"
      ? inputsOf(
          before.sort((a, b) => a.seq - b.seq),
          outbox.from,
          outbox.to,
        )
      : [];
  // A draft of this very answer is nearer than what it amends.
  const amends = head?.kind === "reply" && index === 0 && outbox.draft === undefined ? head.amends : undefined;
  const traces = inputs.flatMap(({ trace }) => trace ?? []);
  const { draft } = record;
  const replaces = index === 0 && draft != null && draft.id === outbox.draft;
  return {
    conversation: record.id,
    replyId: outbox.replyId,
    idempotencyKey: `${outbox.replyId}:${index}`,
    index,
    count: outbox.parts.length,
    attempt,
    covers: inputs.map(({ id }) => id),
    overtaken: head?.kind === "reply" && head.overtaken,
    cause: outbox.cause === "retract" ? "send" : outbox.cause,
    ...(traces.length > 0 && { traces }),
    ...(replaces && { draft: { key: draft.id, ...(draft.externalId !== undefined && { id: draft.externalId }) } }),
    ...(amends !== undefined && { draft: { key: `${amends.replyId}:0`, id: amends.externalId } }),
    address: addressOf(record, log),
    ...(head?.metadata === undefined ? {} : { metadata: head.metadata }),
  };
}
