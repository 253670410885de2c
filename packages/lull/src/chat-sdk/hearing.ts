/**
 * From an adapter's call to a stored message: which conversation it belongs to, whether it is the bot's business, what
 * of it is an edit or a deletion. The same for `withLull` and for a server without a `Chat`.
 *
 * @module
 */
import { hear } from "../channels/hear.ts";
import { LullError } from "../errors.ts";
import type { Lull } from "../lull.ts";
import type { Logger } from "../options.ts";
import type { Clock } from "../ports.ts";
import { albumOf, incomingOf } from "./incoming.ts";
import type { ChatAdapter, ChatMessage, MessageDeletion, MessageUpdate, WebhookOptions } from "./shapes.ts";
import type { Writes } from "./writes.ts";

/** Who wrote what where: enough to say which conversation a message belongs to. */
export interface ConversationHint {
  /** The adapter's name. */
  channel: string;
  /** The Chat SDK's id of the thread. */
  thread: string;
  author: string;
  isDM: boolean;
}

/**
 * What makes a conversation. `author`: a direct chat, or one person in a thread of a group, so that people do not
 * interrupt each other. `thread`: everybody in a thread. Or a function: also the place to map two ids of one person to
 * one conversation.
 */
export type Scope = "author" | "thread" | ((hint: ConversationHint) => string);

/** Between the thread and the author in a conversation's id; no platform has it in an id. */
const by = " by ";
/** Where nobody would deliver a message again, storing it is tried so often. */
const mostTries = 6;

export interface HearingPort {
  /** The engine of the moment. */
  lull(): Lull;
  nameOf(adapter: ChatAdapter): string;
  scope: Scope;
  /** The message is meant for the bot. */
  isAddressed(adapter: ChatAdapter, threadId: string, message: ChatMessage, conversation: string): Promise<boolean>;
  isMention(adapter: ChatAdapter, message: ChatMessage): boolean;
  writes: Writes;
  clock: Pick<Clock, "sleep">;
  logger: Pick<Logger, "warn">;
}

export interface AdapterHearing {
  /** A message; resolves when it is stored. */
  take(
    adapter: ChatAdapter,
    threadId: string,
    message: ChatMessage | (() => Promise<ChatMessage>),
    options?: WebhookOptions,
  ): Promise<void>;
  /** An edit; resolves to the message, when it is stored. */
  update(event: MessageUpdate): Promise<ChatMessage>;
  remove(event: MessageDeletion): Promise<void>;
  warn(error: unknown, thread: string): void;
}

export function adapterHearing(port: HearingPort): AdapterHearing {
  const { scope, writes } = port;

  function conversationOf(adapter: ChatAdapter, thread: string, author: string): string {
    const isDM = adapter.isDM?.(thread) ?? false;
    if (typeof scope === "function") return scope({ channel: port.nameOf(adapter), thread, author, isDM });
    return isDM || scope === "thread" ? thread : `${thread}${by}${author}`;
  }

  async function receive(adapter: ChatAdapter, threadId: string, message: ChatMessage): Promise<void> {
    if (message.author.isMe) return;
    const conversation = conversationOf(adapter, threadId, message.author.userId);
    // So that whoever reads it later, in any process, need not find out again.
    message.isMention ??= port.isMention(adapter, message);
    const addressed = await port.isAddressed(adapter, threadId, message, conversation);
    if (!addressed && !(await isWaiting(conversation))) return;
    const incoming = incomingOf(adapter, port.nameOf(adapter), threadId, message);
    const { address: _, replyTo: __, ...change } = incoming;
    const album = albumOf(message.raw);
    const heard = await hear(
      port.lull(),
      conversation,
      message.metadata.edited
        ? { type: "edit", id: message.id, change: { ...change, id: editId(message) }, from: "user" }
        : { type: "message", message: incoming, from: "user", ...(album !== undefined && { album }) },
    );
    if (heard.status === "rejected") throw new LullError("full", "The conversation cannot take more messages now.");
  }

  /** What follows a mention while it waits for its answer belongs to it: "@bot hi", "my order is late", "#1234". */
  async function isWaiting(conversation: string): Promise<boolean> {
    const { record } = await port.lull().store.load(conversation);
    return record !== null && record.version > record.answered;
  }

  async function knows(conversation: string, id: string): Promise<boolean> {
    const entries = await port.lull().log(conversation, { before: Number.MAX_SAFE_INTEGER, limit: 1_000 });
    return entries.some((entry) => entry.kind === "message" && entry.id === id);
  }

  async function change({ adapter, threadId }: MessageUpdate, message: ChatMessage): Promise<void> {
    if (message.author.isMe) return;
    const conversation = conversationOf(adapter, threadId, message.author.userId);
    const edited = Object.assign(message, { metadata: { ...message.metadata, edited: true } });
    const isKnown = await knows(conversation, message.id);
    if (isKnown || (await port.isAddressed(adapter, threadId, message, conversation)))
      await receive(adapter, threadId, edited);
  }

  async function retract({ adapter, threadId, messageId, previousMessage }: MessageDeletion): Promise<void> {
    if (previousMessage?.author.isMe) return;
    const author = previousMessage?.author.userId;
    const certain = author !== undefined || scope === "thread" || (adapter.isDM?.(threadId) ?? false);
    const candidates = certain
      ? [conversationOf(adapter, threadId, author ?? "")]
      : // Deletions may not say who had written: whoever is known in that thread may have.
        (await port.lull().list({ limit: 1_000 }, { prefix: `${threadId}${by}` })).conversations.map(({ id }) => id);
    for (const conversation of candidates)
      if (await knows(conversation, messageId)) await port.lull().retract(conversation, messageId);
  }

  /** Stores; where nobody would deliver it again (a socket, a gateway), tries for a while itself. */
  async function store(write: () => Promise<void>): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        return await write();
      } catch (error) {
        const temporary = LullError.isInstance(error) && error.retryable;
        if (!temporary || writes.repeatable || tries === mostTries) throw error;
        await port.clock.sleep(250 * 2 ** tries);
      }
    }
  }

  function warn(error: unknown, thread: string): void {
    const fields = { thread, error: error instanceof Error ? error.message : String(error) };
    port.logger.warn(fields, "a message could not be stored; the platform is told to deliver it again");
  }

  return {
    warn,
    take(adapter, threadId, given, options) {
      const task = writes.note(
        (async () => {
          const message = typeof given === "function" ? await given() : given;
          await store(() => receive(adapter, threadId, message));
        })(),
      );
      task.catch((error: unknown) => warn(error, threadId));
      options?.waitUntil?.(task);
      return task;
    },
    update(event) {
      return writes.note(
        (async () => {
          const message = typeof event.message === "function" ? await event.message() : event.message;
          await store(() => change(event, message));
          return message;
        })(),
      );
    },
    remove: (event) => writes.note(store(() => retract(event))),
  };
}

/** An edit's own id: the same edit delivered twice is one, two edits are two. */
function editId(message: ChatMessage): string {
  const { editedAt } = message.metadata;
  return editedAt === undefined ? `${message.id} ${message.text.length}` : `${message.id} ${editedAt.getTime()}`;
}
