/**
 * The way out to visitors. What is said to them is delivered once it is in the log, where their streams read it; what is
 * provisional passes through here, from the attempt to the streams of the same process, and is kept nowhere else.
 *
 * @module
 */
import { type Channel, type Part, textOf } from "lull";

/** `address` of whatever a visitor writes: replies to it go nowhere but into the log. */
export const visitorAddress = { channel: "lull-chat" } as const;

/** Least time between two changes of a draft: fast enough to read along, slow enough for the store. */
const draftMs = 250;
/** Drafts remembered for streams that open later; each attempt that ends forgets its own. */
const mostDrafts = 10_000;

export function isVisitors(address: unknown): boolean {
  return (
    typeof address === "object" &&
    address !== null &&
    (address as { channel?: unknown }).channel === visitorAddress.channel
  );
}

export type DraftListener = (text: string | null) => void;

export interface Drafts {
  /** The provisional text on the screen, as far as this process knows; null: none. By the engine's id. */
  of(conversation: string): string | null;
  /**
   * Calls `listener` with each change; null: taken back. That a part took its place is no change: the part says so.
   * Returns what ends it.
   */
  on(conversation: string, listener: DraftListener): () => void;
  /** The same channel; what goes to visitors stays here. */
  with(main: Channel): Channel;
}

export function createDrafts(): Drafts {
  const shown = new Map<string, string>();
  const listeners = new Map<string, Set<DraftListener>>();

  function show(conversation: string, text: string | null): void {
    if (text === null) shown.delete(conversation);
    else {
      shown.delete(conversation);
      shown.set(conversation, text);
      for (const oldest of shown.keys()) {
        if (shown.size <= mostDrafts) break;
        shown.delete(oldest);
      }
    }
    for (const listener of listeners.get(conversation) ?? []) listener(text);
  }

  return {
    of: (conversation) => shown.get(conversation) ?? null,
    on(conversation, listener) {
      const all = listeners.get(conversation) ?? new Set<DraftListener>();
      listeners.set(conversation, all.add(listener));
      return () => {
        all.delete(listener);
        if (all.size === 0) listeners.delete(conversation);
      };
    },
    with: (main) => ({
      ...main,
      async deliver(part, delivery) {
        if (!isVisitors(delivery.address)) return main.deliver(part, delivery);
        // The first part takes the draft's place; of a reply without one, nothing is on the screen.
        shown.delete(delivery.conversation);
        return { status: "sent", id: `${delivery.replyId}:${delivery.index}` };
      },
      async draft(part, context) {
        if (!isVisitors(context.address)) return main.draft?.(part, context);
        show(context.conversation, part === null ? null : shownText(part));
      },
      draftMs,
      typing: (on, context) => (isVisitors(context.address) ? undefined : main.typing?.(on, context)),
    }),
  };
}

function shownText(part: Part): string | null {
  return textOf([part]) || null;
}
