// Drafts and costs in the record: what each event does, and what it leaves alone.
import { describe, expect, it } from "vitest";
import { inputsOf, wakeAt } from "../../src/window.ts";
import { text, World } from "./world.ts";

/** A conversation whose attempt has shown a draft. */
function drafting(most: ConstructorParameters<typeof World>[0] = {}) {
  const w = new World(most);
  w.do("receive", { id: "m1", parts: [text("hi")], address: { chat: 1 } });
  w.now += 6_000;
  const { fence } = w.do("claim", { owner: "a", claimId: "k1", random: 0 }) as { fence: number };
  const held = { fence, claimId: "k1" };
  const shown = w.do("draft", { draftId: "d1", ...held });
  return { w, held, shown };
}

const states = (w: World) =>
  w.log.flatMap((entry) => (entry.kind === "draft" ? [`${entry.draftId} ${entry.state}`] : []));
const commit = { open: false, parts: [text("hello")] };

describe("draft", () => {
  it("is in the record before it is shown, with where it stands", () => {
    const { w, held, shown } = drafting();
    expect(shown).toMatchObject({
      is: "drafted",
      draft: { id: "d1", version: 1, address: { chat: 1 }, fence: held.fence },
    });
    expect(states(w)).toEqual(["d1 shown"]);
    expect(w.do("draft", { draftId: "other", externalId: "77", ...held })).toMatchObject({
      draft: { id: "d1", externalId: "77" },
    });
    // Asked again, nothing changes.
    expect(w.do("draft", { draftId: "other", ...held })).toMatchObject({ draft: { id: "d1", externalId: "77" } });
    expect(states(w)).toEqual(["d1 shown"]);
  });

  it("waits for quiet, and is for the holder of a fresh attempt without a reply", () => {
    const w = new World();
    w.do("receive", { id: "m1", parts: [text("hi")] });
    w.now += 1_000;
    const { fence } = w.do("claim", { owner: "a", claimId: "k1", random: 0 }) as { fence: number };
    const held = { fence, claimId: "k1" };
    expect(w.do("draft", { draftId: "d1", ...held })).toEqual({ is: "early", atMs: w.now + 5_000 });
    expect(w.do("draft", { draftId: "d1", fence, claimId: "k2" })).toEqual({ is: "lost" });
    w.do("receive", { id: "m2", parts: [text("wait")] });
    w.now += 6_000;
    expect(w.do("draft", { draftId: "d1", ...held })).toEqual({ is: "superseded" });
    const { w: other, held: mine } = drafting();
    other.do("commit", { replyId: "r1", ...commit, open: true, ...mine });
    expect(other.do("draft", { draftId: "d2", ...mine })).toEqual({ is: "lost" });
  });

  it("gives its place to the reply for the same inputs", () => {
    const { w, held } = drafting();
    w.do("commit", { replyId: "r1", ...commit, ...held });
    expect(w.r.outbox?.draft).toBe("d1");
    w.do("settle", { replyId: "r1", index: 0, receipt: { state: "sent" }, random: 0, ...held });
    expect(states(w)).toEqual(["d1 shown", "d1 replaced"]);
    expect(w.r.draft).toBeNull();
    expect(wakeAt(w.r, w.limits)).toBeNull();
  });

  it("does not give its place to a reply that covers more, or goes elsewhere", () => {
    const more = drafting();
    more.w.do("receive", { id: "m2", parts: [text("wait")] });
    more.w.do("absorb", more.held);
    more.w.now += 6_000;
    more.w.do("commit", { replyId: "r1", ...commit, ...more.held });
    expect(more.w.r.outbox?.draft).toBeUndefined();
    const elsewhere = drafting();
    elsewhere.w.do("seal", elsewhere.held);
    elsewhere.w.do("receive", { id: "m2", parts: [text("here")], address: { chat: 2 } });
    elsewhere.w.do("commit", { replyId: "r1", ...commit, ...elsewhere.held });
    expect(elsewhere.w.r.outbox?.draft).toBeUndefined();
  });

  it("is gone on with after a crash, and must be taken back first after newer input", () => {
    const { w } = drafting();
    w.now += 31_000;
    const { fence } = w.do("claim", { owner: "b", claimId: "k2", random: 0 }) as { fence: number };
    const next = { fence, claimId: "k2" };
    expect(w.do("draft", { draftId: "d2", ...next })).toMatchObject({ is: "drafted", draft: { id: "d1", fence } });
    w.do("receive", { id: "m2", parts: [text("wait")] });
    w.do("discard", { reason: "superseded", ...next });
    w.now += 6_000;
    const third = {
      fence: (w.do("claim", { owner: "b", claimId: "k3", random: 0 }) as { fence: number }).fence,
      claimId: "k3",
    };
    expect(w.do("draft", { draftId: "d3", ...third })).toMatchObject({ is: "stale", draft: { id: "d1" } });
    expect(w.do("undraft", { draftId: "d1", ending: "retracted" })).toEqual({ is: "ended" });
    expect(w.do("undraft", { draftId: "d1", ending: "retracted" })).toEqual({ is: "nothing" });
    expect(w.do("draft", { draftId: "d3", ...third })).toMatchObject({ is: "drafted", draft: { id: "d3" } });
    expect(states(w)).toEqual(["d1 shown", "d1 retracted", "d3 shown"]);
  });

  it("that no reply follows is taken back like a part: at once, with retries, in a hand-off too", () => {
    const { w, held } = drafting();
    w.do("commit", { replyId: "r1", parts: null, open: false, ...held });
    expect(wakeAt(w.r, w.limits)).toBe(w.r.draft?.atMs);
    const { fence } = w.do("claim", { owner: "b", claimId: "k2", random: 0 }) as { fence: number };
    expect(w.r.outbox).toMatchObject({ cause: "retract", replyId: "d1", from: 1, to: 1 });
    const next = { fence, claimId: "k2", replyId: "d1", index: 0 };
    w.do("attempt", { inDoubt: "retry", ...next });
    w.do("settle", { receipt: { state: "sent" }, random: 0, ...next });
    expect(states(w)).toEqual(["d1 shown", "d1 retracted"]);
    expect(w.log.some(({ kind }) => kind === "closed")).toBe(false);

    const other = drafting();
    other.w.do("handoff", { id: "h1", forMs: 60_000, backlog: "answer" });
    const claim = other.w.do("claim", { owner: "b", claimId: "k2", random: 0 }) as { is: string; fence: number };
    expect(claim.is).toBe("deliver");
    // An operator comes between: it is still owed.
    other.w.do("reset", { id: "x1", forget: false });
    expect(other.w.r.outbox).toBeNull();
    expect(other.w.r.draft?.id).toBe("d1");
    const last = other.w.do("claim", { owner: "b", claimId: "k3", random: 0 }) as { fence: number };
    const mine = { fence: last.fence, claimId: "k3", replyId: "d1", index: 0 };
    other.w.do("attempt", { inDoubt: "retry", ...mine });
    other.w.do("settle", { receipt: { state: "failed", error: "too old" }, random: 0, ...mine });
    expect(states(other.w)).toEqual(["d1 shown", "d1 left"]);
  });
});

describe("a trace context", () => {
  it("stays with its input, and no other field is touched", () => {
    const w = new World();
    w.do("receive", { id: "m1", parts: [text("hi")], trace: "00-1-2-01" });
    w.do("receive", { id: "m2", parts: [text("ho")] });
    expect(inputsOf(w.log, 0).map(({ trace }) => trace)).toEqual(["00-1-2-01", undefined]);
  });
});

describe("a reply given through another process", () => {
  it("is sent by whoever holds the lease: its first part waits", () => {
    const { w, held } = drafting();
    expect(w.do("commit", { replyId: "r1", ...commit, elsewhere: true, ...held })).toEqual({
      is: "committed",
      replyId: "r1",
      sends: false,
    });
    expect(w.r.outbox?.parts[0]).toMatchObject({ state: "queued", tries: 0 });
    expect(w.r.lease?.fence).toBe(held.fence);
  });
});

describe("spend", () => {
  it("sums a period with fixed bounds, needs no lease, and asks with nothing", () => {
    const w = new World();
    w.do("receive", { id: "m1", parts: [text("hi")] });
    const day = 86_400_000;
    const spend = (tokens: number) => w.do("spend", { fence: 7, tokens, everyMs: day });
    const sinceMs = w.now - (w.now % day);
    expect(spend(0)).toEqual({ is: "spent", sinceMs, tokens: 0 });
    expect(w.r.spent).toBeUndefined();
    spend(10);
    expect(spend(5)).toEqual({ is: "spent", sinceMs, tokens: 15 });
    w.now = sinceMs + day;
    expect(spend(0).tokens).toBe(0);
    expect(spend(3)).toEqual({ is: "spent", sinceMs: sinceMs + day, tokens: 3 });
    expect(w.log.filter(({ kind }) => kind === "usage")).toHaveLength(3);
  });
});
