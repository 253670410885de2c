/**
 * What a platform tells a bot, told to lull: which of it is input, which is an edit, which concerns nobody. One place
 * for the rules that every channel needs: echoes, previews, receipts, reactions, chatter, clients that cut texts.
 *
 * @module
 */
import type { Changed, Incoming, Received } from "../intake.ts";
import type { LogEntry, Part } from "../model.ts";
import type { LogPage } from "../ports.ts";

/** Who wrote a message. `self`: this bot. Leave it out where the platform does not say: the log is asked. */
export type From = "user" | "bot" | "self";

/**
 * One thing that happened in a chat.
 * - `addressed: false`: in a group, and not meant for this bot.
 * - `preview`: the platform added something to a message; nobody changed it.
 * - `status`: one of the bot's own messages was sent, delivered, read or refused.
 */
export type ChannelEvent =
  | {
      type: "message";
      message: Incoming & { id: string };
      from?: From;
      addressed?: boolean;
      album?: string | undefined;
    }
  | { type: "edit"; id: string; change: Omit<Incoming, "address" | "replyTo" | "context">; from?: From }
  | { type: "retraction"; id: string; from?: From }
  | { type: "preview"; id: string }
  | { type: "reaction"; id: string; reaction: string; added: boolean; on: string; author?: string }
  | { type: "status"; id: string; state: "sent" | "delivered" | "read" | "failed" };

export interface HearRules {
  /** Chatter in a group: context of later turns (default), or nothing at all. */
  unaddressed?: "context" | "ignore";
  /** Messages of other bots. Default "ignore": two bots must not talk for ever. */
  bots?: "ignore" | "answer";
  /** Makes a reaction an input; null leaves it alone. Default: all are left alone. */
  reaction?: (event: Extract<ChannelEvent, { type: "reaction" }>) => Incoming | null;
  /** How long a photo of an album holds the window for the next one. Default 1,500. */
  albumMs?: number;
}

/** What became of it. `ignored` has its reason; nothing was written. */
export type Heard =
  | Received
  | Changed
  | { status: "ignored"; id: string; reason: "echo" | "bot" | "not addressed" | "preview" | "reaction" | "status" };

/** The part of `Lull` that hears. */
export interface Hearing {
  receive(conversation: string, message: Incoming): Promise<Received>;
  edit(conversation: string, messageId: string, change: Incoming): Promise<Changed>;
  retract(conversation: string, messageId: string): Promise<Changed>;
  typing(conversation: string, call: { on?: boolean; forMs?: number }): Promise<void>;
  log(conversation: string, page?: LogPage): Promise<LogEntry[]>;
}

/**
 * Tells lull what happened. Resolves once it is durable: answer the webhook 2xx then, and 5xx when this rejects.
 *
 * @throws LullError what `receive`, `edit` and `retract` throw.
 */
export async function hear(
  lull: Hearing,
  conversation: string,
  event: ChannelEvent,
  rules: HearRules = {},
): Promise<Heard> {
  const ignored = (reason: Extract<Heard, { reason: string; status: "ignored" }>["reason"]): Heard => ({
    status: "ignored",
    id: event.type === "message" ? event.message.id : event.id,
    reason,
  });
  switch (event.type) {
    case "status":
    case "preview":
      return ignored(event.type);
    case "reaction": {
      const input = rules.reaction?.(event) ?? null;
      return input === null ? ignored("reaction") : lull.receive(conversation, { id: event.id, ...input });
    }
    case "message": {
      const { message, from, addressed = true, album } = event;
      if (from === "bot" && rules.bots !== "answer") return ignored("bot");
      if (from === "self" || (from === undefined && (await isEcho(lull, conversation, message))))
        return ignored("echo");
      if (!addressed) {
        if (rules.unaddressed === "ignore") return ignored("not addressed");
        const { address: _, quietMs: __, ...chatter } = message;
        return lull.receive(conversation, { ...chatter, context: true });
      }
      const received = await lull.receive(conversation, message);
      if (album !== undefined && received.status === "accepted")
        await lull.typing(conversation, { forMs: rules.albumMs ?? 1_500 });
      return received;
    }
    case "edit": {
      const { id, change, from } = event;
      if (from === "self" || (from === undefined && (await isEcho(lull, conversation, { ...change, id }))))
        return ignored("echo");
      return lull.edit(conversation, id, change);
    }
    case "retraction":
      if (event.from === "self" || (event.from === undefined && (await isEcho(lull, conversation, { id: event.id }))))
        return ignored("echo");
      return lull.retract(conversation, event.id);
  }
}

/**
 * A message of the bot's own, come back: the log knows the platform's id of every part that was sent, for as long as it
 * is kept. An echo that is faster than the receipt is known by its text.
 */
export async function isEcho(
  lull: Pick<Hearing, "log">,
  conversation: string,
  message: { id?: string; text?: string; parts?: (string | Part)[] },
): Promise<boolean> {
  const entries = await lull.log(conversation, { before: Number.MAX_SAFE_INTEGER, limit: 1_000 });
  const settled = new Set<string>();
  for (const entry of entries)
    if (entry.kind === "receipt") {
      if (entry.externalId !== undefined && entry.externalId === message.id) return true;
      if (entry.state !== "attempting") settled.add(`${entry.replyId}:${entry.index}`);
    }
  const text = message.text ?? textOf(message.parts ?? []);
  if (text === "") return false;
  return entries.some((entry) => {
    if (entry.kind !== "reply" && entry.kind !== "part") return false;
    const parts = entry.kind === "reply" ? entry.parts : [entry.part];
    const first = entry.kind === "reply" ? 0 : entry.index;
    return parts.some((part, at) => !settled.has(`${entry.replyId}:${first + at}`) && textOf([part]) === text);
  });
}

function textOf(parts: readonly (string | Part)[]): string {
  return parts
    .flatMap((part) => (typeof part === "string" ? [part] : part.type === "text" ? [part.text] : []))
    .join("\n");
}
