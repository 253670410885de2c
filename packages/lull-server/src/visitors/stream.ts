/**
 * A conversation as it happens, for its visitor: what is in the log, resumable by `seq`, and between that how things
 * stand and what is provisional, which has no `seq`: it is told anew to every stream that opens.
 *
 * @module
 */
import type { LullEvent } from "lull";
import type { Frame } from "../app/stream.ts";
import { instant } from "../app/view.ts";
import type { DraftListener } from "./drafts.ts";
import type { Seen, Sight } from "./sight.ts";
import { after, type Standing, stateOf, type VisitorState } from "./standing.ts";

export interface VisitorStream {
  /** Of the conversation, behind `from`. */
  events: AsyncIterable<LullEvent>;
  sight: Sight;
  /** How things stood when the stream was opened. */
  standing: Standing;
  /** The log up to here is known to the page. */
  from: number;
  /** The page asked for a place that is not there: what it knows was erased. */
  isNew: boolean;
  draft: { now: string | null; on(listener: DraftListener): () => void };
}

export function seenView({ atMs, ...seen }: Seen): Record<string, unknown> {
  return { ...seen, at: instant(atMs) };
}

export async function* visitorFrames(of: VisitorStream): AsyncGenerator<Frame> {
  let { standing } = of;
  let state: VisitorState = stateOf(standing);
  let last = of.from;
  // Only the newest text counts, so a reader that is slow costs one.
  let draft: { text: string | null } | null = { text: of.draft.now };
  let ring = () => {};
  let rung = new Promise<void>((resolve) => {
    ring = resolve;
  });
  const off = of.draft.on((text) => {
    draft = { text };
    ring();
  });
  const iterator = of.events[Symbol.asyncIterator]();
  try {
    yield { id: last };
    if (of.isNew) yield { data: { type: "cleared" } };
    yield { data: { type: "state", state } };
    let next = iterator.next();
    for (;;) {
      if (draft !== null) {
        const { text } = draft;
        draft = null;
        yield { data: { type: "draft", text } };
        continue;
      }
      const result = await Promise.race([next, rung]);
      if (result === undefined) {
        rung = new Promise((resolve) => {
          ring = resolve;
        });
        continue;
      }
      if (result.done) return;
      next = iterator.next();
      const { entry } = result.value;
      if (entry === undefined) continue;
      if (entry.seq <= last) yield { data: { type: "cleared" } };
      last = entry.seq;
      const seen = await of.sight.see(entry);
      // Only the last of an entry's frames may be resumed from.
      for (const [index, one] of seen.entries())
        yield { ...(index === seen.length - 1 ? { id: entry.seq } : {}), data: seenView(one) };
      standing = after(standing, entry);
      if (stateOf(standing) === state) continue;
      state = stateOf(standing);
      yield { data: { type: "state", state } };
    }
  } finally {
    off();
    void iterator.return?.(undefined);
  }
}
