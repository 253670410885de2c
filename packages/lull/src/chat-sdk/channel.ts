/**
 * Adapters of the Chat SDK as channels of lull: parts are posted by whatever process holds the lease, with the token of
 * the workspace the message came from, and what an adapter throws becomes a receipt.
 *
 * @module
 */
import { platformOf } from "../channels/platforms.ts";
import { receiptOf } from "../channels/receipt.ts";
import type { Json, Part } from "../model.ts";
import type { Channel, Delivery, DraftDelivery, Receipt } from "../ports.ts";
import { postableOf } from "./postable.ts";
import { addressOf, type ChatAdapter, type ManyWorkspaces, type PostedMessage } from "./shapes.ts";

export interface AdapterChannelOptions {
  /** What to do with a part in doubt; the adapters have no idempotency keys. Default "at-least-once". */
  whenInDoubt?: "at-least-once" | "at-most-once";
  /** Show a typing indicator while an attempt runs. Default false: handlers do it themselves. */
  typing?: boolean;
  /** Hears of every message that was posted from here. */
  onPosted?(delivery: Delivery, message: PostedMessage, postable: unknown): void;
  /** Before the first post: a process may deliver what it did not receive. */
  ready?(): Promise<void>;
}

/** The adapter as a channel; `address.channel` names it. */
export function adapterChannel(adapter: ChatAdapter, options: AdapterChannelOptions = {}): Channel {
  return {
    name: adapter.name,
    idempotent: false,
    ...(options.whenInDoubt !== undefined && { whenInDoubt: options.whenInDoubt }),
    async deliver(part, delivery): Promise<Receipt> {
      const to = addressOf(delivery.address);
      if (to === null)
        return { status: "failed", error: "the conversation has no address of a thread: nothing came in through it" };
      const postable = postableOf(part);
      if (postable === null) return { status: "failed", error: `${adapter.name} cannot post a part of type data` };
      try {
        await options.ready?.();
        const shown = delivery.draft?.id;
        const posted = await inWorkspace(adapter, delivery.address, async (): Promise<PostedMessage> => {
          if (shown === undefined || adapter.editMessage === undefined)
            return adapter.postMessage(to.thread, postable as never);
          // The draft becomes the message: nothing is shown twice, however often it is tried.
          await adapter.editMessage(to.thread, shown, postable as never);
          return { id: shown, threadId: to.thread };
        });
        options.onPosted?.(delivery, posted, postable);
        return { status: "sent", ...(posted.id !== "" && { id: posted.id }) };
      } catch (error) {
        return receiptOf(error);
      }
    },
    ...(canDraft(adapter) && {
      async draft(part: Part | null, { id, address }: DraftDelivery): Promise<{ id?: string }> {
        const to = addressOf(address);
        const postable = part === null ? null : postableOf(part);
        if (to === null) return {};
        await options.ready?.();
        return inWorkspace(adapter, address, async () => {
          if (part === null) {
            if (id !== undefined) await adapter.deleteMessage?.(to.thread, id);
            return {};
          }
          if (id === undefined) return { id: (await adapter.postMessage(to.thread, postable as never)).id };
          await adapter.editMessage?.(to.thread, id, postable as never);
          return { id };
        });
      },
    }),
    ...(options.typing && {
      async typing(on: boolean, { address }: { address: Json }) {
        const to = addressOf(address);
        if (!on || to === null) return;
        await options.ready?.();
        await inWorkspace(adapter, address, async () => adapter.startTyping?.(to.thread));
      },
    }),
  };
}

/** Provisional text can be shown where it can be changed and taken back; in other places it would stay. */
function canDraft(adapter: ChatAdapter): boolean {
  const platform = platformOf(adapter.name);
  return platform?.editsOut === true && platform.deletionsOut && adapter.editMessage !== undefined;
}

/** Runs a call with the token of the workspace the address belongs to, where the adapter serves several. */
export async function inWorkspace<T>(adapter: ChatAdapter, address: Json, call: () => Promise<T>): Promise<T> {
  const installation = addressOf(address)?.installation;
  const many = adapter as unknown as ManyWorkspaces;
  if (installation === undefined || many.withBotToken === undefined) return call();
  const installed = await tokenOf(adapter, installation);
  return installed === null ? call() : many.withBotToken(installed, call, { installationId: installation });
}

async function tokenOf(adapter: ChatAdapter, installation: string): Promise<string | null> {
  const slack = adapter as unknown as ManyWorkspaces & {
    resolveTokenForTeam?(id: string): Promise<{ token: string } | null>;
    defaultBotTokenProvider?: unknown;
  };
  // One workspace: the adapter knows its token.
  if (slack.defaultBotTokenProvider !== undefined) return null;
  // Asks an installation provider too, where one is set.
  if (slack.resolveTokenForTeam !== undefined) return (await slack.resolveTokenForTeam(installation))?.token ?? null;
  return (await slack.getInstallation?.(installation))?.botToken ?? null;
}
