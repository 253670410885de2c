/**
 * One try of one part: asks the channel, turns whatever happens into a receipt, and never guesses. Retries,
 * order and doubt are the protocol's.
 *
 * @module
 */
import { enough } from "./clock.ts";
import type { Part, PartReceipt } from "./model.ts";
import type { Channel, Clock, Delivery, Receipt } from "./ports.ts";

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
  clock: Clock,
): Promise<PartReceipt> {
  const stop = new AbortController();
  const timeoutMs = channel.timeoutMs ?? deliverTimeoutMs;
  const late = (): Receipt => ({ status: "unknown", error: `no answer from the channel within ${timeoutMs} ms` });
  const timer = new AbortController();
  try {
    const answer = (async (): Promise<Receipt | void> => {
      const delivery = { ...context, signal: stop.signal };
      const found = doubt && !channel.idempotent ? await channel.find?.(delivery) : null;
      return found ?? (await channel.deliver(part, delivery));
    })();
    const receipt = await Promise.race([answer, clock.sleep(timeoutMs, timer.signal).then(late)]);
    // A late rejection of an abandoned try has no one to hear it.
    answer.catch(() => {});
    return partReceipt(receipt, channel);
  } catch (error) {
    return partReceipt({ status: "unknown", error: messageOf(error) }, channel);
  } finally {
    timer.abort(enough);
    stop.abort();
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
