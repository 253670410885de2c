import { describe, expect, it } from "vitest";
import { createQueue, type Queue, type Tried } from "../../../src/widget/queue.ts";
import { type Backing, storageOn } from "../../../src/widget/storage.ts";
import type { Unsent } from "../../../src/widget/talk.ts";

/** A browser's storage, shared by its tabs. */
function backing(): Backing & { entries: Map<string, string>; full: boolean } {
  const entries = new Map<string, string>();
  const made = {
    entries,
    full: false,
    get length() {
      return entries.size;
    },
    getItem: (key: string) => entries.get(key) ?? null,
    setItem(key: string, value: string) {
      if (made.full) throw new DOMException("full", "QuotaExceededError");
      entries.set(key, value);
    },
    removeItem: (key: string) => void entries.delete(key),
    key: (at: number) => [...entries.keys()][at] ?? null,
  };
  return made;
}

/** As Web Locks: one at a time, in order. */
function locks() {
  let last: Promise<unknown> = Promise.resolve();
  return (work: () => Promise<void>, signal: AbortSignal): Promise<void> => {
    const mine = last.then(() => (signal.aborted ? undefined : work()));
    last = mine.catch(() => {});
    return mine as Promise<void>;
  };
}

const message = (id: string, at: number): Unsent => ({ id, text: `text of ${id}`, at });

/** Tabs of one visitor on one browser, and what the server was sent. */
function browser(answer: (message: Unsent, tries: number) => Tried | Promise<Tried>) {
  const shared = backing();
  const alone = locks();
  const sent: string[] = [];
  const waits: number[] = [];
  let settled = () => {};
  const tab = (): Queue =>
    createQueue({
      storage: storageOn(() => shared),
      prefix: "q|",
      alone,
      async send(one) {
        sent.push(one.id);
        return answer(one, sent.filter((id) => id === one.id).length);
      },
      async pause(ms) {
        waits.push(ms);
      },
      onChange: () => settled(),
    });
  const until = async (look: () => boolean) => {
    for (let turns = 0; !look(); turns++) {
      if (turns > 1_000) throw new Error(`never so: ${sent}`);
      await new Promise<void>((resolve) => {
        settled = resolve;
        setTimeout(resolve, 5);
      });
    }
  };
  return { shared, sent, waits, tab, until };
}

describe("the queue", () => {
  it("sends in order, one after the other, and keeps what is on its way until the server has it", async () => {
    let open = 0;
    let most = 0;
    const { tab, sent, shared, until } = browser(async () => {
      open += 1;
      most = Math.max(most, open);
      expect(shared.entries.size).toBeGreaterThan(0);
      await new Promise((resolve) => setTimeout(resolve, 2));
      open -= 1;
      return { is: "accepted" };
    });
    const queue = tab();
    for (const [at, id] of ["c", "a", "b"].entries()) queue.add(message(id, at));
    await until(() => queue.list().length === 0);
    expect([sent, most]).toEqual([["c", "a", "b"], 1]);
  });

  it("tries again under the same id, later and later, as long as nothing is known", async () => {
    const { tab, sent, waits, until } = browser((_, tries) =>
      tries < 4 ? { is: "later", retryMs: tries === 2 ? 9_000 : null } : { is: "accepted" },
    );
    const queue = tab();
    queue.add(message("a", 1));
    await until(() => queue.list().length === 0);
    expect(sent).toEqual(["a", "a", "a", "a"]);
    expect(waits[0]).toBeGreaterThanOrEqual(750);
    // What the server says counts.
    expect(waits[1]).toBe(9_000);
    expect(waits[2]).toBeGreaterThan(waits[0] as number);
  });

  it("sets what is refused aside, and goes on with the next; tried again it is sent, discarded it is gone", async () => {
    let verdict: Tried = { is: "refused", why: "too-large" };
    const { tab, sent, until } = browser(({ id }) => (id === "b" ? { is: "accepted" } : verdict));
    const queue = tab();
    queue.add(message("a", 1));
    queue.add(message("b", 2));
    queue.add(message("c", 3));
    await until(() => queue.list().length === 2 && queue.list().every(({ refused }) => refused !== undefined));
    expect(queue.list()).toMatchObject([
      { id: "a", refused: "too-large" },
      { id: "c", refused: "too-large" },
    ]);
    verdict = { is: "accepted" };
    queue.remove("c");
    queue.retry("a");
    await until(() => queue.list().length === 0);
    expect(sent).toEqual(["a", "b", "c", "a"]);
  });

  it("has one sender in all tabs, and another one when that is closed", async () => {
    let release = () => {};
    const stuck = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { tab, sent, until } = browser(async (_, tries) => {
      if (tries === 1) await stuck;
      return { is: "accepted" };
    });
    const [one, two] = [tab(), tab()];
    one.add(message("a", 1));
    two.add(message("b", 2));
    two.work();
    await until(() => sent.length === 1);
    expect(sent).toEqual(["a"]);
    // Closed in the middle of a request: whether it arrived is not known.
    one.stop();
    release();
    await until(() => two.list().length === 0);
    expect(sent).toEqual(["a", "a", "b"]);
  });

  it("takes up what an earlier page has left, and passes over what is none of its own", async () => {
    const { tab, shared, sent, until } = browser(() => ({ is: "accepted" }));
    shared.entries.set("q|a", JSON.stringify(message("a", 1)));
    for (const [key, value] of [
      ["q|x", "{"],
      ["q|y", "null"],
      ["q|z", '{"id":7}'],
      ["other", JSON.stringify(message("o", 1))],
    ] as const)
      shared.entries.set(key, value);
    const queue = tab();
    queue.work();
    await until(() => queue.list().length === 0);
    expect(sent).toEqual(["a"]);
  });

  it("sends also where nothing can be stored", async () => {
    const { tab, shared, sent, until } = browser(() => ({ is: "accepted" }));
    shared.full = true;
    const queue = tab();
    queue.add(message("a", 1));
    await until(() => sent.length === 1 && queue.list().length === 0);
    const refusing = storageOn(() => {
      throw new DOMException("denied", "SecurityError");
    });
    refusing.set("k", "v");
    expect([refusing.get("k"), refusing.keys("")]).toEqual(["v", ["k"]]);
    refusing.remove("k");
    expect(refusing.get("k")).toBeNull();
  });
});
