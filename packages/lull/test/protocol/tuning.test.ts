// Wishes of a conversation, and answers given elsewhere, as the protocol takes them.
import { describe, expect, it } from "vitest";
import { limits, text, World } from "./world.ts";

describe("an answer given elsewhere", () => {
  it("is on nobody's way: queued, under a lease that begins anew", () => {
    const w = new World();
    w.say("hi", { quietMs: 0 });
    const { held } = w.toWake().claim("w", { claimId: "c" });
    w.now += 5_000;
    const outcome = w.do("commit", { replyId: "r", parts: [text("x")], open: false, elsewhere: true, ...held });
    expect(outcome).toEqual({ is: "committed", replyId: "r", sends: false });
    expect(w.r.outbox?.parts).toMatchObject([{ state: "queued", tries: 0, doubt: false }]);
    expect(w.r.lease).toMatchObject({ purpose: "deliver", expiresAtMs: w.now + limits.leaseMs });
    // Whoever comes after the holder sends it, and nothing of it is in doubt.
    w.now = w.r.lease?.expiresAtMs ?? 0;
    expect(w.claim("v", { claimId: "d" }).is).toBe("deliver");
    expect(w.r.outbox?.parts).toMatchObject([{ state: "queued", doubt: false }]);
  });
});

describe("wishes", () => {
  it("are in the record and the log, until they are taken back", () => {
    const w = new World();
    const times = { quietMs: 1, startMs: 1, maxWaitMs: 9 };
    expect(w.do("tune", { id: "t1", debounce: times, whenBusy: "queue" })).toEqual({ is: "tuned" });
    expect(w.r.tuning).toEqual({ ...times, whenBusy: "queue" });
    expect(w.do("tune", { id: "t2", whenBusy: "queue" })).toEqual({ is: "unchanged" });
    expect(w.do("tune", { id: "t3", debounce: null })).toEqual({ is: "tuned" });
    expect(w.r.tuning).toEqual({ whenBusy: "queue" });
    expect(w.do("tune", { id: "t4", whenBusy: null, by: "ops" })).toEqual({ is: "tuned" });
    expect("tuning" in w.r).toBe(false);
    expect(w.do("tune", { id: "t5", debounce: null, whenBusy: null })).toEqual({ is: "unchanged" });
    expect(w.log.filter(({ kind }) => kind === "tuned")).toMatchObject([
      { id: "t1" },
      { id: "t3", tuning: { whenBusy: "queue" } },
      { id: "t4", tuning: {}, by: "ops" },
    ]);
  });
});
