/**
 * The adapter as a handler sees it while its turn is answered: what it posts to the turn's thread is said by the turn,
 * everything else is the adapter's own.
 *
 * @module
 */
import { LullError } from "../errors.ts";
import type { PartLike, Turn } from "../turn.ts";
import { partsOf, textsOf } from "./postable.ts";
import type { ChatAdapter, PostedMessage } from "./shapes.ts";

/** Takes the platform's message of the part that was just said; null when it is still to be sent. */
export type LastPosted = () => PostedMessage | null;

/** Posted, but refused for now: it is sent later, and nobody knows its id yet. */
const notYet = "";

export function speaking(
  adapter: ChatAdapter,
  threadId: string,
  turn: Turn,
  limit: number,
  lastPosted: LastPosted,
): ChatAdapter {
  async function say(parts: readonly PartLike[]): Promise<PostedMessage> {
    let last: PostedMessage | null = null;
    for (const part of parts) {
      await turn.say(part);
      last = lastPosted();
    }
    return last ?? { id: notYet, threadId };
  }
  const voice: Record<string, unknown> = {
    async postMessage(to: string, postable: unknown) {
      if (to !== threadId) return adapter.postMessage(to, postable as never);
      return say(await partsOf(postable, limit));
    },
    /** Shown as drafts while it comes, said as a whole. */
    async stream(to: string, stream: AsyncIterable<unknown>) {
      if (to !== threadId) return null;
      let text = "";
      for await (const delta of textsOf(stream)) {
        turn.signal.throwIfAborted();
        text += delta;
        if (text.trim() !== "") turn.draft(text);
      }
      turn.signal.throwIfAborted();
      return say(await partsOf({ markdown: text }, limit));
    },
  };
  const { postObject, reply, editMessage } = adapter as unknown as Record<
    string,
    ((...given: unknown[]) => Promise<unknown>) | undefined
  >;
  // What the adapter keeps changing on the screen cannot wait in an outbox: it needs a turn that is not discarded.
  for (const [name, method] of Object.entries({ postObject, reply }))
    if (method !== undefined)
      voice[name] = async (to: string, ...given: unknown[]) => {
        if (to === threadId) await turn.seal();
        return method.call(adapter, to, ...given);
      };
  if (editMessage !== undefined)
    voice["editMessage"] = (to: string, id: string, ...given: unknown[]) => {
      if (id === notYet)
        throw new LullError("undeliverable", "The platform refused this message for now: it is sent later, unedited.");
      return editMessage.call(adapter, to, id, ...given);
    };
  return new Proxy(adapter, {
    get(target, name) {
      if (typeof name === "string" && Object.hasOwn(voice, name)) return voice[name];
      const value = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
    has: (target, name) => (typeof name === "string" && Object.hasOwn(voice, name)) || Reflect.has(target, name),
  });
}
