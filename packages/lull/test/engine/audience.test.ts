// Very many listeners: what each costs, and that none misses anything.
import { describe, expect, it } from "vitest";
import { type ConversationId, Lull, type LullEvent, memory, type Store } from "../../src/index.ts";
import { withoutHints } from "../support/stores.ts";
import { virtualClock } from "../support/virtual.ts";

/** A store that counts who is asked about, and fails once `away` says so. */
function counted(store: Store, away: () => boolean = () => false) {
  const loads = new Map<ConversationId, number>();
  let logs = 0;
  return {
    loads,
    logs: () => logs,
    store: {
      ...store,
      load(id, options) {
        if (away()) return Promise.reject(new Error("the store is away"));
        loads.set(id, (loads.get(id) ?? 0) + 1);
        return store.load(id, options);
      },
      log(id, page) {
        logs += 1;
        return store.log(id, page);
      },
    } satisfies Store,
  };
}

function listeners(lull: Lull, ids: readonly ConversationId[]) {
  const stop = new AbortController();
  const heard = new Map<ConversationId, LullEvent[]>(ids.map((id) => [id, []]));
  const done = ids.map(async (id) => {
    for await (const event of lull.events(id, { after: 0, signal: stop.signal })) heard.get(id)?.push(event);
  });
  return {
    seqs: (id: ConversationId) => heard.get(id)?.flatMap(({ seq }) => (seq === undefined ? [] : [seq])) ?? [],
    done,
    async stop() {
      stop.abort();
      await Promise.all(done);
    },
  };
}

const ids = Array.from({ length: 300 }, (_, n) => `c${n}`);

describe("an audience", () => {
  it("of very many: an event is read by those who listen to its conversation, and by nobody else", async () => {
    const clock = virtualClock();
    const { store, logs } = counted(withoutHints(memory({ now: clock.now })));
    const lull = new Lull({ store, clock });
    const all = listeners(lull, ids);
    await clock.advance(100);
    const before = logs();
    await lull.receive("c7", { id: "m1", text: "hi" });
    await clock.advance(100);
    expect(all.seqs("c7")).toEqual([1]);
    // Once for the news, once to see that there is no more.
    expect(logs() - before).toBeLessThanOrEqual(3);
    await all.stop();
  });

  it("of very many: each conversation is asked about once a second, whoever listens to it, and no log is read", async () => {
    const clock = virtualClock();
    const { store, loads, logs } = counted(withoutHints(memory({ now: clock.now })));
    const lull = new Lull({ store, clock });
    const [all, others] = [listeners(lull, ids), listeners(lull, ids)];
    await clock.advance(100);
    loads.clear();
    const before = logs();
    await clock.advance(10_000);
    for (const id of ids) expect(loads.get(id), id).toBe(10);
    expect(logs()).toBe(before);
    await Promise.all([all.stop(), others.stop()]);
    // And nobody is asked about to whom nobody listens.
    loads.clear();
    await clock.advance(10_000);
    expect(loads.size).toBe(0);
  });

  it("hears within a second what another process wrote, in every conversation", async () => {
    const clock = virtualClock();
    const store = withoutHints(memory({ now: clock.now }));
    const [here, there] = [new Lull({ store, clock }), new Lull({ store, clock })];
    const all = listeners(here, ids);
    await clock.advance(3_333);
    for (const id of ids) await there.receive(id, [{ text: "one" }, { text: "two" }]);
    await clock.advance(1_100);
    for (const id of ids) expect(all.seqs(id), id).toEqual([1, 2]);
    await all.stop();
  });

  it("is told when the store is away: its listeners end with the error, so that they come again", async () => {
    const clock = virtualClock();
    let away = false;
    const { store } = counted(withoutHints(memory({ now: clock.now })), () => away);
    const lull = new Lull({ store, clock });
    const all = listeners(lull, ids.slice(0, 3));
    const ends = Promise.allSettled(all.done);
    await clock.advance(100);
    away = true;
    await clock.advance(1_100);
    expect((await ends).map((end) => end.status === "rejected" && String(end.reason))).toEqual(
      Array.from({ length: 3 }, () => expect.stringContaining("the store is away")),
    );
    away = false;
    const again = listeners(lull, ["c0"]);
    await lull.receive("c0", { text: "hi" });
    await clock.advance(100);
    expect(again.seqs("c0")).toEqual([1]);
    await again.stop();
  });
});
